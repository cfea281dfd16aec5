"""Are our requests what the vendors' own packages say a request is?

Arguments: files `WIRE.N.json`. Prints a line for each, `WIRE ok` or `WIRE refused: why`.
"""

import json
import sys
import typing

# The packages declare lists as Iterable, which would be checked only when somebody iterates.
typing.Iterable = typing.List

from pydantic import TypeAdapter  # noqa: E402


def complete(given, understood, where="request"):
    """Everything given was understood: an unknown key is dropped by validation, and found here."""
    if isinstance(given, dict):
        assert isinstance(understood, dict), f"{where}: {given!r} became {understood!r}"
        for key, value in given.items():
            assert key in understood, f"{where}: unknown key {key!r}"
            complete(value, understood[key], f"{where}.{key}")
    elif isinstance(given, list):
        assert len(given) == len(understood), f"{where}: {given!r} became {understood!r}"
        for place, (one, other) in enumerate(zip(given, understood)):
            complete(one, other, f"{where}[{place}]")
    else:
        assert given == understood, f"{where}: {given!r} became {understood!r}"


def by_type(kind, body):
    adapter = TypeAdapter(kind)
    complete(body, adapter.dump_python(adapter.validate_python(body)))


def anthropic(body):
    from anthropic.types import message_create_params

    by_type(message_create_params.MessageCreateParamsStreaming, body)


def openai_responses(body):
    from openai.types.responses import response_create_params

    by_type(response_create_params.ResponseCreateParamsStreaming, body)


def openai_chat(body):
    from openai.types.chat import completion_create_params

    # A compatible server's own field, which the vendor's package does not know.
    for message in body["messages"]:
        message.pop("reasoning_content", None)
    by_type(completion_create_params.CompletionCreateParamsStreaming, body)


def gemini(body):
    from google.genai import types

    known = {"systemInstruction", "tools", "contents", "generationConfig"}
    assert set(body) <= known, set(body) - known
    # These models forbid what they do not know.
    types.Content.model_validate(body["systemInstruction"])
    for content in body["contents"]:
        types.Content.model_validate(content)
    for tool in body.get("tools", []):
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))


CHECKS = {
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "openai-chat": openai_chat,
    "gemini": gemini,
}

if __name__ == "__main__":
    for path in sys.argv[1:]:
        name = path.rsplit("/", 1)[-1].split(".")[0]
        with open(path, encoding="utf-8") as file:
            body = json.load(file)
        try:
            CHECKS[name](body)
            print(name, "ok")
        except (AssertionError, ValueError) as error:
            print(name, "refused:", " ".join(str(error).split())[:300])
