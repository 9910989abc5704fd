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
    """An option names a procedure that is not there."""

    code = "SC-937"
    default_hint = "`sidecypher procedures` lists all."
