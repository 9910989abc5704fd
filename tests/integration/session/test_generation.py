"""`generate` steps against a real host that speaks as OpenAI's API does."""

import asyncio
import json
import logging

import pytest
from fix_hosts import Answer

from sidecypher_procedures.session.errors import SessionSettingsError, StepFailed
from sidecypher_procedures.session.generation import (
    MOST_BYTES,
    Generation,
    OpenAiGenerator,
    RecordedGenerator,
    make_generator,
)
from sidecypher_procedures.session.outcomes import Done, Failed, Message
from sidecypher_procedures.session.settings import SessionSettings

KEY = "sk-a-secret"
HISTORY = [{"role": "assistant", "content": "Who?"}, {"role": "user", "content": "Ann"}]
SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
    "additionalProperties": False,
}
UNFIT = "The model's answer cannot be used: "


def completion(content):
    """Return the answer of an API that has generated a text."""
    message = {"role": "assistant", "content": content}
    return Answer.of({"id": "1", "choices": [{"index": 0, "message": message}]})


def generate(host, history=(), path="/v1", **given):
    """Return what a step comes to."""

    async def run():
        settings = SessionSettings(
            generate_url=f"{host.url}{path}/", generate_model="small", generate_key=KEY
        )
        generator = make_generator(settings)
        try:
            return await Generation(generator).run({"user": "Hi", **given}, history)
        finally:
            await generator.stop()

    return asyncio.run(run())


def recorded(answers, given):
    return asyncio.run(Generation(RecordedGenerator(answers)).run(given, HISTORY))


def test_what_a_model_is_asked(host):
    """The request is that of `POST /chat/completions`; the answer is the text of its message."""
    host.says(completion("Hello."))
    found = generate(host, system="Be kind", temperature=0.5, max_tokens=10, other=1)
    [request] = host.requests

    assert found == Done({"response": "Hello."})
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.json == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be kind"},
            {"role": "user", "content": "Hi"},
        ],
        "temperature": 0.5,
        "max_tokens": 10,
    }


def test_without_more_a_prompt_is_the_text_of_the_user(host):
    """No history unless it is asked for; what is no text is sent as JSON."""
    host.says(completion("Hello."))
    generate(host, HISTORY, user={"a": 1}, model="large", include_history=False, system="")

    assert host.requests[0].json == {
        "model": "large",
        "messages": [{"role": "user", "content": '{"a":1}'}],
    }


def test_the_conversation_so_far_is_sent_if_it_is_asked_for(host):
    """Between what the system says and the text of the user, the oldest first."""
    host.says(completion("Hello."))
    generate(host, HISTORY, system="Be kind", include_history=True)

    assert host.requests[0].json["messages"] == [
        {"role": "system", "content": "Be kind"},
        *HISTORY,
        {"role": "user", "content": "Hi"},
    ]


def test_a_key_is_not_needed(host):
    """An API of one's own may have none."""
    host.says(completion("Hello."))

    async def run():
        generator = OpenAiGenerator(f"{host.url}/v1", "small", None)
        try:
            return await Generation(generator).run({"user": "Hi"}, ())
        finally:
            await generator.stop()

    assert asyncio.run(run()) == Done({"response": "Hello."})
    assert "authorization" not in host.requests[0].headers


def test_without_a_model_nothing_is_asked(host):
    """Neither the step nor the settings name one."""

    async def run():
        generator = make_generator(SessionSettings(generate_url=host.url))
        try:
            return await Generation(generator).run({"user": "Hi"}, ())
        finally:
            await generator.stop()

    outcome = asyncio.run(run())
    assert outcome.is_final
    assert "SIDECYPHER_SESSION_GENERATE_MODEL is not set" in outcome.reason
    assert host.requests == []


# Outputs


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ({}, {"response": "text"}),
        ({"response_key": "followup"}, {"followup": "text"}),
    ],
)
def test_a_text_is_under_its_key(given, output, host):
    """`response`, or what the step names."""
    host.says(completion("text"))

    assert generate(host, **given) == Done(output)


def test_json_is_the_output_itself(host):
    """With a schema the answer is a value, under a key only if the step names one."""
    host.says(completion('{"age": 5}'))

    assert generate(host, schema=SCHEMA) == Done({"age": 5})
    assert generate(host, schema=SCHEMA, response_key="person") == Done({"person": {"age": 5}})
    assert host.requests[0].json["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": SCHEMA},
    }


def test_an_answer_may_be_said(host):
    """`directly_set_reply` adds it to the conversation: its `response`, or all of it as JSON."""
    host.says(completion("text"))
    assert generate(host, directly_set_reply=True).messages == (Message("assistant", "text"),)
    assert generate(host, directly_set_reply=True, response_key="x").messages == (
        Message("assistant", "text"),
    )

    host.says(completion('{"age": 5}'))
    assert generate(host, directly_set_reply=True, schema=SCHEMA).messages == (
        Message("assistant", '{"age":5}'),
    )
    host.says(completion('{"response": "hi"}'))
    assert generate(host, directly_set_reply=True, schema={}).messages == (
        Message("assistant", "hi"),
    )


# Repair


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("five", "it is not JSON at line 1, column 1: Expecting value"),
        ('```json\n{"age": 5}\n```', "it is not JSON at line 1, column 1: Expecting value"),
        ("", "it is not JSON at line 1, column 1: Expecting value"),
        ("[" * 100_000, "it is nested deeper than 100 maps and lists"),
        ('{"age": NaN}', "it has a number that is too large, or none"),
        ('{"age": 5, "age": 6}', "it has the key `age` twice in one map"),
        ('{"age": "a-secret"}', '`$.age` does not satisfy `type`: "integer"'),
        ('{"age": 5, "a-secret": 1}', "`$` does not satisfy `additionalProperties`: false"),
        ("{}", '`$` does not satisfy `required`: ["age"]'),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_once_more(wrong, problem, host):
    """The model is told what is wrong; a second answer of that kind is an error without it."""
    host.says(completion(wrong), completion('{"age": 5}'))
    assert generate(host, schema=SCHEMA, temperature=0) == Done({"age": 5})
    first, second = (each.json for each in host.requests)
    assert second == {
        **first,
        "messages": [
            *first["messages"],
            {"role": "assistant", "content": wrong},
            {
                "role": "user",
                "content": f"This answer cannot be used: {problem}. Answer again, by JSON of the "
                "schema.",
            },
        ],
    }

    host.says(completion(wrong))
    assert generate(host, schema=SCHEMA) == Failed(UNFIT + problem)
    assert len(host.requests) == 4
    assert "a-secret" not in problem


def test_an_error_of_the_second_answer_is_told(host):
    """What fails while an answer is repaired is told as it would be at first."""
    host.says(completion("five"), Answer(503))

    assert generate(host, schema=SCHEMA) == Failed("The model's API answered with the status 503")


# What goes wrong


@pytest.mark.parametrize(
    ("status", "is_final"),
    [(301, True), (400, True), (401, True), (404, True), (408, False), (429, False), (500, False)],
)
def test_an_error_of_the_api_is_told_by_its_status(status, is_final, host):
    """Its body, which may quote the prompt or the key, is not; what may pass is tried again."""
    host.says(Answer.of({"error": KEY}, status, Location=f"{host.url}/other"))

    assert generate(host) == Failed(
        f"The model's API answered with the status {status}", is_final=is_final
    )
    assert len(host.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"\xff",
        b"[]",
        b"{}",
        b"null",
        b'"text"',
        b'{"choices": []}',
        b'{"choices": {"0": 1}}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": [{"message": {"content": [1]}}]}',
        b'{"choices": [{"message": {"content": "\\ud83d"}}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_without_a_message_is_an_error(body, host):
    """Whatever comes, nothing else is raised; it may be better next time."""
    host.says(Answer(200, {"Content-Type": "application/json"}, body))

    assert generate(host) == Failed("The model's API answered without a message")


def test_an_answer_that_is_too_large_is_cut_off_while_it_is_read(host):
    """An endless answer fills no memory."""
    host.says(Answer(200, {"Content-Type": "application/json"}, b" " * 65536, is_endless=True))

    assert generate(host) == Failed(
        f"The model's API answered with over {MOST_BYTES} bytes", is_final=True
    )
    assert host.hung_up.wait(10)
    assert host.sent < MOST_BYTES + 32 * 2**20


def test_a_compressed_answer_is_refused(host):
    """It was not asked for, and a small one may become a large one."""
    host.says(Answer(200, {"Content-Encoding": "gzip"}, b""))

    assert "an encoding that was not asked for" in generate(host).reason
    assert host.requests[0].headers["accept-encoding"] == "identity"


def test_an_api_that_hangs_up_may_be_asked_again(host):
    """Before an answer, and within one."""
    host.says(Answer(200, {}, b"{", is_cut_off=True))
    assert generate(host) == Failed("The model's API cannot be reached: RemoteProtocolError")

    host.server_close()
    host.shutdown()
    assert generate(host) == Failed("The model's API cannot be reached: ConnectError")


def test_the_key_is_in_no_error_and_no_log(host, caplog):
    """Nor is the prompt."""
    caplog.set_level(logging.NOTSET)
    told = []
    for answer in (completion("text"), Answer(401, {}, KEY.encode()), Answer(302, {}, b"")):
        host.says(answer)
        told.append(generate(host, user="a-prompt"))

    assert KEY not in f"{caplog.text}{told}"
    assert "a-prompt" not in f"{caplog.text}{told}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"user": None}, "The input of a `generate` step has no `user`"),
        ({"schema": "text"}, "The `schema` of a step is no map"),
        ({"schema": {"type": "x"}}, "The `schema` of a step is no JSON Schema"),
    ],
)
def test_an_input_that_cannot_be_used_is_refused(given, told, host):
    """Before anything is asked."""
    with pytest.raises(StepFailed, match=told):
        generate(host, **given)

    assert host.requests == []


# Recordings


def test_a_recording_answers_by_what_is_in_the_last_message():
    """The first answer whose text is there, or that has none."""
    answers = [
        {"contains": "France", "answer": "Paris"},
        {"contains": "number", "answer": {"age": 5}},
        {"answer": "something"},
    ]

    assert recorded(answers, {"user": "The capital of France?"}) == Done({"response": "Paris"})
    assert recorded(answers, {"user": "a number", "schema": SCHEMA}) == Done({"age": 5})
    assert recorded(answers, {"user": "Ann", "include_history": True}) == Done(
        {"response": "something"}
    )


def test_a_recording_may_have_no_answer():
    """Then the step has failed, and another try is useless."""
    assert recorded([{"contains": "x", "answer": "y"}], {"user": "a-prompt"}) == Failed(
        "The recording has no answer to this prompt", is_final=True
    )


def test_a_recording_is_read_from_a_file(tmp_path):
    """A JSON list of MAPs with an answer, of which the first that fits is given."""
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([{"contains": "x", "answer": "ü"}]), encoding="utf-8")
    generator = make_generator(SessionSettings(generate_recording=file))
    outcome = asyncio.run(Generation(generator).run({"user": "x"}, ()))

    assert outcome == Done({"response": "ü"})


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "5",
        "null",
        '{"answer": 1}',
        "[5]",
        '["a"]',
        '[["answer"]]',
        "[{}]",
        '[{"contains": 5, "answer": "x"}]',
        "\udcff",
    ],
)
def test_a_recording_that_cannot_be_read_is_refused(text, tmp_path):
    """The error names the setting, and neither the path nor what is in the file."""
    file = tmp_path / "answers.json"
    if text is not None:
        file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SessionSettingsError, match="GENERATE_RECORDING cannot be read") as told:
        make_generator(SessionSettings(generate_recording=file))

    assert str(tmp_path) not in str(told.value)
    assert told.value.__cause__ is None


def test_without_a_generator_a_step_fails():
    """The error names the setting that is missing."""
    outcome = asyncio.run(Generation(make_generator(SessionSettings())).run({"user": "x"}, ()))

    assert outcome.is_final
    assert "SIDECYPHER_SESSION_GENERATE_URL is not set" in outcome.reason
