"""Sample statements that call a procedure or function, to paste and change."""

from sidecypher.protocol.catalogue import FunctionEntry, ParameterEntry, ProcedureEntry
from sidecypher.values.kinds import KINDS


def sample_call(entry: ProcedureEntry | FunctionEntry) -> str:
    """Return a statement that passes the required arguments only.

    Example:
        >>> from sidecypher.protocol.catalogue import ColumnEntry
        >>> owner, number = ParameterEntry("owner", "STRING"), ParameterEntry("number", "INTEGER")
        >>> title = ColumnEntry("title", "STRING")
        >>> sample_call(ProcedureEntry("kg.issue", "READ", "", 1000, "", (owner, number), (title,)))
        "CALL kg.issue('owner', 1) YIELD title"
    """
    needed = [each for each in entry.parameters if each.default is None]
    found = [
        pattern.replace("<name>", _variable(each)) for each in needed if (pattern := _pattern(each))
    ]
    match = f"MATCH {', '.join(found)} WITH * LIMIT 1 " if found else ""
    call = f"{entry.name}({', '.join(map(_argument, needed))})"
    if isinstance(entry, FunctionEntry):
        return f"{match}RETURN {call} AS value"
    columns = ", ".join(column.name for column in entry.columns)
    # A statement that begins with `MATCH` needs a `RETURN`.
    returned = f" RETURN {columns}" if match and columns else ""
    return f"{match}CALL {call}{f' YIELD {columns}' if columns else ''}{returned}"


def _variable(parameter: ParameterEntry) -> str:
    """Return the variable of a parameter, prefixed since a column may have the parameter's name."""
    return f"the{parameter.name[:1].upper()}{parameter.name[1:]}"


def _pattern(parameter: ParameterEntry) -> str:
    return "" if parameter.type.startswith("LIST<") else KINDS[parameter.type].pattern


def _argument(parameter: ParameterEntry) -> str:
    if _pattern(parameter):
        return _variable(parameter)
    if parameter.type.startswith("LIST<"):
        return "[]"
    return KINDS[parameter.type].sample.replace("<name>", parameter.name)
