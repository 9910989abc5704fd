"""`CypherType`: a Cypher type in signatures and in the codec."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CypherType:
    """A Cypher type as the bridge checks it.

    Attributes:
        name: `INTEGER`, `LIST`, `MAP`, ...
        item: Type of a LIST's items or a MAP's values; None for scalars and ANY.
        nullable: Whether null belongs to the type.
        allowed: The only valid values of a STRING or INTEGER; empty if all are valid.

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
        """The allowed values as shown to people, such as `` `a`, `b` ``."""
        return ", ".join(f"`{value}`" if value != "" else "`''`" for value in self.allowed)

    def __str__(self) -> str:
        """Return the type in Cypher, such as `LIST<STRING>`."""
        if self.name == "LIST" and self.item is not None:
            return f"LIST<{self.item}>"
        return self.name
