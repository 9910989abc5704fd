"""`generate` steps: a model's answer, as text or as JSON that a schema describes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from sidecypher_procedures.session.answers import checked_schema, response_key, schema_problem
from sidecypher_procedures.session.api_calls import read_body, refusal
from sidecypher_procedures.session.errors import SessionSettingsError
from sidecypher_procedures.session.functions import required
from sidecypher_procedures.session.outcomes import Done, Failed, Message, Outcome
from sidecypher_procedures.session.references import from_json, inserted, to_json
from sidecypher_procedures.session.settings import PREFIX, SessionSettings

MOST_BYTES: Final = 4 * 1024 * 1024
"""The largest answer of a model's API."""

_WHO: Final = "The model's API"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked.

    Attributes:
        messages: Maps with `role` and `content`, the oldest first.
        schema: The JSON Schema of the answer; None for a text.
        model: The model's name; None for the usual one.
        options: `temperature` and `max_tokens`, if they are given.
    """

    messages: Sequence[Mapping[str, Any]] = field(repr=False)
    schema: Mapping[str, Any] | None = None
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class Generator(Protocol):
    """What answers prompts."""

    async def generate(self, prompt: Prompt) -> str | Failed:
        """Return the answer to a prompt, JSON if it has a schema, or why there is none."""


class Generation:
    """Runs `generate` steps."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def run(self, given: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> Outcome:
        """Return what a step of this input comes to.

        An answer that does not fit the schema is asked for once more.

        Raises:
            StepFailed: The input cannot be used.
        """
        prompt = _prompt(given, history)
        answer = await self._generator.generate(prompt)
        if isinstance(answer, Failed):
            return answer
        value, problem = _read(prompt, answer)
        if problem is not None:
            repair = f"This answer cannot be used: {problem}. Answer again, by JSON of the schema."
            again = [
                *prompt.messages,
                {"role": "assistant", "content": answer},
                {"role": "user", "content": repair},
            ]
            answer = await self._generator.generate(replace(prompt, messages=again))
            if isinstance(answer, Failed):
                return answer
            value, problem = _read(prompt, answer)
        if problem is not None:
            return Failed(f"The model's answer cannot be used: {problem}")
        is_named = prompt.schema is None or given.get("response_key") is not None
        output = {response_key(given): value} if is_named else value
        says = given.get("directly_set_reply") is True
        return Done(output, (Message("assistant", _said(output, given)),) if says else ())


def _said(output: Any, given: Mapping[str, Any]) -> str:
    key = response_key(given)
    return inserted(output[key] if isinstance(output, dict) and key in output else output)


def _prompt(given: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> Prompt:
    messages = [{"role": "user", "content": inserted(required("generate", given))}]
    if given.get("include_history") is True:
        # The prompt is often the latest answer, which the history ends with.
        earlier = history[:-1] if [*history[-1:]] == messages else history
        messages[:0] = [dict(each) for each in earlier]
    if given.get("system"):
        messages.insert(0, {"role": "system", "content": inserted(given["system"])})
    schema = given.get("schema")
    return Prompt(
        messages,
        None if schema is None else checked_schema(schema),
        inserted(given["model"]) if given.get("model") else None,
        {
            name: given[name]
            for name in ("temperature", "max_tokens")
            if given.get(name) is not None
        },
    )


def _read(prompt: Prompt, answer: str) -> tuple[Any, str | None]:
    """Return the value of an answer, and what is wrong with it or None."""
    if prompt.schema is None:
        return answer, None
    try:
        value = from_json(answer)
    except ValueError as error:
        return None, f"it {error}"
    return value, schema_problem(prompt.schema, value)


class OpenAiGenerator:
    """A client of an OpenAI-compatible API: `POST /chat/completions`.

    Args:
        url: The base URL.
        model: The model of prompts that name none.
        key: The API's key; None sends none.
    """

    def __init__(self, url: str, model: str | None, key: str | None) -> None:
        self._url = f"{url}/chat/completions"
        self._model = model
        headers = {"Accept-Encoding": "identity"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._http = httpx.AsyncClient(headers=headers, timeout=None)  # noqa: S113 - steps have one

    async def generate(self, prompt: Prompt) -> str | Failed:
        """Return the answer to a prompt, or why there is none: the status, and not the body."""
        model = prompt.model or self._model
        if model is None:
            reason = f"The step names no `model`, and {PREFIX}GENERATE_MODEL is not set"
            return Failed(reason, is_final=True)
        body: dict[str, Any] = {"model": model, "messages": list(prompt.messages), **prompt.options}
        if prompt.schema is not None:
            schema = {"name": "output", "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        try:
            async with self._http.stream("POST", self._url, json=body) as response:
                refused = refusal(response, _WHO)
                found = refused or await read_body(response, MOST_BYTES, _WHO)
        except httpx.HTTPError as error:
            return Failed(f"{_WHO} cannot be reached: {type(error).__name__}")
        return found if isinstance(found, Failed) else _content(found)

    async def stop(self) -> None:
        """Close its connections."""
        await self._http.aclose()


def _content(body: bytes) -> str | Failed:
    """Return the text of the message in an answer."""
    try:
        content = from_json(body.decode())["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        content = None
    return content if isinstance(content, str) else Failed(f"{_WHO} answered without a message")


class RecordedGenerator:
    """Answers from a recording: for tests, and for trying a workflow without a model.

    Args:
        answers: Maps with `answer` and `contains`: the first whose text is in the prompt's last
            message, or that has none, gives the answer.

    Example:
        >>> generator = RecordedGenerator([{"contains": "capital", "answer": "Paris"}])
        >>> prompt = Prompt([{"role": "user", "content": "The capital of France?"}])
        >>> import asyncio
        >>> asyncio.run(generator.generate(prompt))
        'Paris'
    """

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self._answers = answers

    @classmethod
    def read(cls, file: Path) -> "RecordedGenerator":
        """Read a JSON list of answers.

        Raises:
            SessionSettingsError: The file cannot be read.
        """
        try:
            answers = from_json(file.read_text(encoding="utf-8"))
            return cls([_recorded(each) for each in answers])
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            raise SessionSettingsError(
                f"The file of {PREFIX}GENERATE_RECORDING cannot be read",
                hint='Write a JSON list of maps {"contains": TEXT, "answer": VALUE}.',
            ) from None

    async def generate(self, prompt: Prompt) -> str | Failed:
        """Return the recorded answer to a prompt, or that there is none."""
        asked = str(prompt.messages[-1]["content"])
        for each in self._answers:
            if each.get("contains", "") in asked:
                answer = each["answer"]
                return answer if isinstance(answer, str) else to_json(answer)
        return Failed("The recording has no answer to this prompt", is_final=True)


def _recorded(given: Any) -> dict[str, Any]:
    """Return an answer of a recording.

    Raises:
        TypeError, AttributeError, LookupError: It is none.
    """
    if not isinstance(given.get("contains", ""), str):
        raise TypeError
    return {"answer": given["answer"], "contains": given.get("contains", "")}


class _NoGenerator:
    async def generate(self, prompt: Prompt) -> str | Failed:  # noqa: ARG002
        reason = f"The sidecar knows no model: {PREFIX}GENERATE_URL is not set at the sidecar"
        return Failed(reason, is_final=True)


def make_generator(settings: SessionSettings) -> Generator:
    """Return what the settings name.

    Raises:
        SessionSettingsError: A recording cannot be read.
    """
    if settings.generate_recording is not None:
        return RecordedGenerator.read(settings.generate_recording)
    if settings.generate_url is None:
        return _NoGenerator()
    key = settings.generate_key
    secret = None if key is None else key.get_secret_value()
    return OpenAiGenerator(settings.generate_url, settings.generate_model, secret)
