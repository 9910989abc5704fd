"""Every error of the doors for agents."""

from sidecypher import SidecypherError


class McpError(SidecypherError):
    """Base of all errors of `sidecypher mcp`.

    Example:
        >>> raise UnknownTool("There is no procedure `kg.score`")
        Traceback (most recent call last):
        ...
        sidecypher_procedures.agents.errors.UnknownTool: There is no procedure `kg.score`
    """

    code = "SC-935"


class McpNotInstalled(McpError):
    """The MCP SDK is not installed."""

    code = "SC-936"
    default_hint = "Run `pip install 'sidecypher[mcp]'`."


class UnknownTool(McpError):
    """An option names a procedure that is not there, or a pattern where it takes names only."""

    code = "SC-937"
    default_hint = "`sidecypher procedures` lists all."


class RowTooLarge(McpError):
    """An answer cannot hold the first row of a call, which was rolled back."""

    code = "SC-963"
    default_hint = "Use narrower arguments, or return fewer columns."


class McpCannotListen(McpError):
    """The MCP server cannot listen on its port."""

    code = "SC-934"
    default_hint = "Choose another port with `--port`; 0 picks a free one."


class TokenFileRefused(McpError):
    """The file of `--token-file` cannot be used."""

    code = "SC-938"
    default_hint = "Put the token into a file of your own, and run `chmod 600` on it."
