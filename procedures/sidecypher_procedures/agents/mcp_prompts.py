"""The prompts of the MCP server: how to use the memory, and how to answer questions about code."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

_MEMORY: Final = """\
You have a memory of what the user with the id `{user}` wants. Use it in each answer.

1. Before you answer, call `rules_context` with
   `{{"input": {{"userId": "{user}", "prompt": "<what the user has just said>"}}}}`.
   Follow each rule in `styleRules`; prohibitions come first. `relations` are facts.
2. If you follow a rule, you can name its source: `citations` has the sentence and its date for
   each of its `extractionIds`."""

_REMEMBER: Final = """\
3. After you have answered, call `rules_remember` if the user has said how things should be done,
   has corrected you, or has taken something back. Pass
   `{{"input": {{"userId": "{user}", "userMessage": "<the sentence, word for word>"}}}}`.
   Never remember passwords, keys, or your own guesses. If a rule in the answer has ids in
   `contradicts`, ask the user which rule holds."""

_CODE: Final = """\
Answer this question about code from the graph, not from memory:

{question}

1. `code_list` lists the indexed repositories. Use the `repoId` of the one in question.
2. `code_search` finds parts of files by names, relationships and words. Begin with the names in
   the question.
3. `code_callers` and `code_callees` follow calls, `code_path` shows how one definition reaches
   another, and `code_impact` lists what a change affects.
4. Answer with file and line for each statement. If the graph does not have the answer, say so."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt.

    Attributes:
        procedures: It is offered if all of these may be called.
        texts: Its parts, each with the procedure that it needs.
    """

    title: str
    description: str
    argument: types.PromptArgument
    procedures: frozenset[str]
    texts: tuple[tuple[str, str], ...]


_PROMPTS: Final = {
    "memory": _Prompt(
        "Use the memory",
        "Read what a user wants before each answer, and remember what the user says.",
        types.PromptArgument(name="user", description="Id of the user.", required=True),
        frozenset({"rules.context"}),
        (("rules.context", _MEMORY), ("rules.remember", _REMEMBER)),
    ),
    "code": _Prompt(
        "Answer a question about code",
        "Answer from the graph of code, with file and line.",
        types.PromptArgument(name="question", description="The question.", required=True),
        frozenset(
            {
                "code.list",
                "code.search",
                "code.callers",
                "code.callees",
                "code.path",
                "code.impact",
            }
        ),
        (("code.search", _CODE),),
    ),
}


class Prompts:
    """The prompts of one server.

    Args:
        names: Names of the procedures that may be called.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)

    async def list(self, _context: Any, _params: Any) -> types.ListPromptsResult:
        """Answer `prompts/list`."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=name,
                    title=each.title,
                    description=each.description,
                    arguments=[each.argument],
                )
                for name, each in _PROMPTS.items()
                if each.procedures <= self._names
            ]
        )

    async def get(
        self, _context: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Answer `prompts/get`."""
        prompt = _PROMPTS.get(params.name)
        if prompt is None or not prompt.procedures <= self._names:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt `{params.name}`")
        value = (params.arguments or {}).get(prompt.argument.name, "").strip()
        if not value:
            raise MCPError(
                types.INVALID_PARAMS,
                f"The prompt `{params.name}` needs the argument `{prompt.argument.name}`",
            )
        parts = [text for name, text in prompt.texts if name in self._names]
        text = "\n".join(parts).format_map({prompt.argument.name: value})
        return types.GetPromptResult(
            description=prompt.description,
            messages=[
                types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
            ],
        )
