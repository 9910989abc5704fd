"""`CypherType`: a type as signature and codec speak of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CypherType:
    """A Cypher type as the bridge checks it.

    Attributes:
        name: `INTEGER`, `LIST`, `MAP`, ...
        item: Type of a LIST's items or a MAP's values; None for scalars and ANY.
        nullable: Whether null belongs to the type.
        allowed: The only values of a STRING or INTEGER, if it is not open to all.

    Example:
        >>> str(CypherType("LIST", CypherType("STRING")))
        'LIST<STRING>'
    """

    name: str
    item: "CypherType | None" = None
    nullable: bool = False
    allowed: tuple[str | int, ...] = ()

    @property
    def choices(self) -> str:
        """The allowed values as texts for people show them, such as `` `a`, `b` ``."""
        return ", ".join(f"`{value}`" if value != "" else "`''`" for value in self.allowed)

    def __str__(self) -> str:
        """Return the type as Cypher writes it, such as `LIST<STRING>`."""
        if self.name == "LIST" and self.item is not None:
            return f"LIST<{self.item}>"
        return self.name
