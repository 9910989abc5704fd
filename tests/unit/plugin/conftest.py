"""What the plugin's unit tests are made of."""

from collections.abc import Callable

import pytest

from sidecypher.protocol.catalogue import (
    ColumnEntry,
    FunctionEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)


@pytest.fixture(scope="session")
def entry() -> Callable[..., ProcedureEntry]:
    """Makes a procedure's entry with the signature that belongs to it."""

    def make(
        name: str = "kg.score",
        *,
        mode: Mode = "READ",
        description: str = "",
        timeout_ms: int = 30_000,
        parameters: tuple[ParameterEntry, ...] = (),
        columns: tuple[ColumnEntry, ...] = (ColumnEntry("value", "STRING"),),
        **marks: object,
    ) -> ProcedureEntry:
        signature = signature_of(name, mode, parameters, columns)
        return ProcedureEntry(
            name, mode, description, timeout_ms, signature, parameters, columns, **marks
        )

    return make


@pytest.fixture(scope="session")
def function() -> Callable[..., FunctionEntry]:
    """Makes a function's entry with the signature that belongs to it."""

    def make(
        name: str = "kg.score",
        *,
        description: str = "",
        timeout_ms: int = 30_000,
        parameters: tuple[ParameterEntry, ...] = (),
        result: str = "STRING",
        **marks: object,
    ) -> FunctionEntry:
        signature = signature_of(name, "FUNCTION", parameters, [ColumnEntry("value", result)])
        return FunctionEntry(name, description, timeout_ms, signature, parameters, result, **marks)

    return make
