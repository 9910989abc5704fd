"""Finding entities, relations and rules by a model of the agent's own."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from sidecypher_procedures.rules.errors import InvalidInput

TEXTS: Final = ("text", "userMessage", "assistantMessage", "artifactDelta")
_FOUND: Final = ("entities", "relations", "rules", "extraction")


class Extractor(Protocol):
    """What finds things in texts, usually by asking a language model.

    It is called outside of any transaction, so it may take its time.

    Example:
        >>> def find(texts):
        ...     return {"entities": [{"name": "Apollo"}], "extraction": {"model": "some-model"}}
    """

    def __call__(self, texts: Mapping[str, str], /) -> Mapping[str, Any]:
        """Return what is in some texts.

        Args:
            texts: The texts of the input by their keys, such as ``userMessage``.

        Returns:
            `entities`, `relations` and `rules` as in the input of `rules.remember`, and
            `extraction`, whose method is ``llm`` unless it says ``hybrid``.
        """


def extracted(values: Mapping[str, Any], extractor: Extractor) -> dict[str, Any]:
    """Return an input of `rules.remember` with what an extractor finds in its texts.

    Raises:
        InvalidInput: The extractor gives what is no finding.
        Exception: Whatever the extractor raises.
    """
    found = dict(extractor({name: values[name] for name in TEXTS if values.get(name)}))
    if set(found) - set(_FOUND):
        raise InvalidInput(
            "The extractor gave what is no entity, relation or rule",
            hint=f"Return {', '.join(_FOUND)}.",
        )
    told = {**(values.get("extraction") or {}), **found.get("extraction", {})}
    if told.setdefault("method", "llm") == "rule":
        raise InvalidInput(
            "An extractor of the agent has the method `rule`", hint="Give `llm` or `hybrid`."
        )
    # With a list, even an empty one, nothing else is looked for.
    return {**values, "entities": [], **found, "extraction": told}
