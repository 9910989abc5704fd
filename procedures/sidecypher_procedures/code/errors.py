"""Every error of the `code` procedures.

No source text and no path of the machine is ever in an error.
"""

from sidecypher import ProcedureError


class CodeError(ProcedureError):
    """Base of all errors of the `code` procedures.

    Example:
        >>> raise UnknownRepository("There is no repository `shop`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.code.errors.UnknownRepository: There is no repository `shop`
    """

    code = "SC-970"


class UnknownRepository(CodeError):
    """No repository with this id is indexed."""

    code = "SC-971"
    default_hint = "Index it with `code.index` or `sidecypher code index`."


class PathNotAllowed(CodeError):
    """A folder is not below a folder that may be read."""

    code = "SC-972"


class ResolverFailed(CodeError):
    """A program that resolves calls did not run."""

    code = "SC-973"


class TooManyFiles(CodeError):
    """A folder has more source files than can be indexed."""

    code = "SC-974"
    default_hint = "Index its parts one by one."


class CodeSettingsError(CodeError):
    """A setting of the `code` procedures is unknown or cannot be used."""

    code = "SC-975"


class AnalysisFailed(CodeError):
    """The process that reads the source files has failed."""

    code = "SC-976"


class NotInstalled(CodeError):
    """The libraries that read source files are not installed."""

    code = "SC-977"
    default_hint = "Run `pip install 'sidecypher[code]'` in the environment of the sidecar."


class UnknownEntity(CodeError):
    """No entity of the repository has this name or id."""

    code = "SC-978"
    default_hint = "Give a name such as `add`, `Cart.add` or `shop.cart.Cart.add`, or an id."


class BadQuery(CodeError):
    """A query or a text has no word or is too long, or a change names nothing."""

    code = "SC-979"


class UnknownChunk(CodeError):
    """The repository has no chunk with this id."""

    code = "SC-980"
    default_hint = "Take ids from the column `chunkId` of `code.search` on the same repository."


class BadDiff(CodeError):
    """A text is not a unified diff."""

    code = "SC-981"
    default_hint = "Give what `git diff` prints."


class InvalidId(CodeError):
    """A new repository cannot have this id."""

    code = "SC-983"


class BadIndex(CodeError):
    """A SCIP index is not below the root of the repository, is too large, or is damaged."""

    code = "SC-984"
    default_hint = "Give the path, from the root, of a file that a SCIP indexer has written."


class EmbeddingFailed(CodeError):
    """No vector could be made of a text."""

    code = "SC-982"
    default_hint = "Check `SIDECYPHER_CODE_EMBEDDINGS_URL` and the API behind it."


class UnknownProgram(CodeError):
    """There is no such program to trace."""

    code = "SC-986"
    default_hint = (
        "Give a script, a program that is installed with this Python, such as `pytest`, "
        "or `-m` and a module."
    )


class NotTraced(CodeError):
    """A program was not traced: nothing that it did can be compared with the graph."""

    code = "SC-987"


class RepositoryBusy(CodeError):
    """Another indexing writes the repository, or has written it meanwhile."""

    code = "SC-993"
    default_hint = (
        "Call again when it has ended. One that was broken off keeps the repository for 2 minutes."
    )


class NotConnected(CodeError):
    """A client is used before it is connected, or after it was closed."""

    code = "SC-990"
    default_hint = "Call `await client.connect()` first, or use `async with client`."


class ForeignId(CodeError):
    """An id is already that of an entity or a chunk of another repository."""

    code = "SC-991"
    default_hint = "Begin ids with the repository's id."
