"""A statement that calls a procedure or function, to be pasted and changed."""

from typing import Final

from sidecypher.catalogue import FunctionEntry, ParameterEntry, ProcedureEntry

_VALUES: Final = {
    "BOOLEAN": "true",
    "INTEGER": "1",
    "FLOAT": "1.0",
    "MAP": "{}",
    "DATE": "date()",
    "LOCAL TIME": "localtime()",
    "ZONED TIME": "time()",
    "LOCAL DATETIME": "localdatetime()",
    "ZONED DATETIME": "datetime()",
    "DURATION": "duration('PT1H')",
    "POINT": "point({x: 0, y: 0})",
}
"""A literal of each type that has one."""

_PATTERNS: Final = {
    "NODE": "({0})",
    "RELATIONSHIP": "()-[{0}]->()",
    "PATH": "{0} = ()-->()",
}
"""What finds a value of each type that has none."""


def sample_call(entry: ProcedureEntry | FunctionEntry) -> str:
    """Return a statement that gives what must be given, and nothing else.

    Example:
        >>> from sidecypher.catalogue import ColumnEntry
        >>> owner, number = ParameterEntry("owner", "STRING"), ParameterEntry("number", "INTEGER")
        >>> title = ColumnEntry("title", "STRING")
        >>> sample_call(ProcedureEntry("kg.issue", "READ", "", 1000, "", (owner, number), (title,)))
        "CALL kg.issue('owner', 1) YIELD title"
    """
    needed = [each for each in entry.parameters if each.default is None]
    found = [
        _PATTERNS[each.type].format(_variable(each)) for each in needed if each.type in _PATTERNS
    ]
    match = f"MATCH {', '.join(found)} WITH * LIMIT 1 " if found else ""
    call = f"{entry.name}({', '.join(map(_argument, needed))})"
    if isinstance(entry, FunctionEntry):
        return f"{match}RETURN {call} AS value"
    columns = ", ".join(column.name for column in entry.columns)
    # A statement that begins with something else has to say what it returns.
    returned = f" RETURN {columns}" if match and columns else ""
    return f"{match}CALL {call}{f' YIELD {columns}' if columns else ''}{returned}"


def _variable(parameter: ParameterEntry) -> str:
    """Name what is found for a parameter; a column may well be called as the parameter is."""
    return f"the{parameter.name[:1].upper()}{parameter.name[1:]}"


def _argument(parameter: ParameterEntry) -> str:
    if parameter.type in _PATTERNS:
        return _variable(parameter)
    if parameter.type.startswith("LIST<"):
        return "[]"
    if parameter.type == "BYTES":
        # Cypher cannot write them: drivers send them.
        return f"${parameter.name}"
    return _VALUES.get(parameter.type, f"'{parameter.name}'")
