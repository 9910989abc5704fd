"""The classes whose instances are rows: `Row`, dataclasses and pydantic models."""

import dataclasses
from typing import Any

from sidecypher.sdk.signature._annotations import VALUE_CLASSES
from sidecypher.values.rows import Row


def is_row(annotation: object) -> bool:
    """Return whether an annotation is a class of rows."""
    return (
        isinstance(annotation, type)
        and annotation is not Row
        and annotation not in VALUE_CLASSES
        and (
            issubclass(annotation, Row)
            or dataclasses.is_dataclass(annotation)
            or _is_model(annotation)
        )
    )


def attributes_of(row: type[Any]) -> dict[str, str]:
    """Return the attributes of a class of rows that are columns, with their descriptions."""
    if _is_model(row):
        return {name: each.description or "" for name, each in row.model_fields.items()}
    if issubclass(row, Row):
        return dict.fromkeys(row.__struct_fields__, "")
    return {each.name: "" for each in dataclasses.fields(row)}


def _is_model(row: type[Any]) -> bool:
    # Not with `issubclass`: pydantic is slow to import, and few functions need it.
    return hasattr(row, "model_fields") and hasattr(row, "__pydantic_validator__")
