"""Do the vendors' own clients understand our server?

Arguments: WIRE BASE_URL REQUEST_FILE. Sends the request and prints what the client understood:
{"text", "thinking", "calls": [[name, arguments]], "stop", "input", "output"}.
"""

import json
import sys


def anthropic(url, body):
    from anthropic import Anthropic

    client = Anthropic(api_key="test", base_url=url, max_retries=0)
    body.pop("stream")
    with client.messages.stream(**body) as stream:
        for _ in stream:
            pass
        message = stream.get_final_message()
    blocks = message.content
    return {
        "text": "".join(block.text for block in blocks if block.type == "text"),
        "thinking": "".join(block.thinking for block in blocks if block.type == "thinking"),
        "calls": [[block.name, block.input] for block in blocks if block.type == "tool_use"],
        "stop": message.stop_reason,
        "input": message.usage.input_tokens,
        "output": message.usage.output_tokens,
    }


def openai_responses(url, body):
    from openai import OpenAI

    client = OpenAI(api_key="test", base_url=url, max_retries=0)
    body.pop("stream")
    with client.responses.stream(**body) as stream:
        for _ in stream:
            pass
        response = stream.get_final_response()
    calls = [item for item in response.output if item.type == "function_call"]
    thoughts = [item for item in response.output if item.type == "reasoning"]
    return {
        "text": response.output_text,
        "thinking": "".join(part.text for item in thoughts for part in item.summary),
        "calls": [[item.name, json.loads(item.arguments)] for item in calls],
        "stop": response.status,
        "input": response.usage.input_tokens,
        "output": response.usage.output_tokens,
    }


def openai_chat(url, body):
    from openai import OpenAI

    client = OpenAI(api_key="test", base_url=url, max_retries=0)
    body.pop("stream")
    with client.chat.completions.stream(**body) as stream:
        for _ in stream:
            pass
        completion = stream.get_final_completion()
    choice = completion.choices[0]
    calls = choice.message.tool_calls or []
    return {
        "text": choice.message.content,
        "thinking": getattr(choice.message, "reasoning_content", ""),
        "calls": [[call.function.name, json.loads(call.function.arguments)] for call in calls],
        "stop": choice.finish_reason,
        "input": completion.usage.prompt_tokens,
        "output": completion.usage.completion_tokens,
    }


def gemini(url, body):
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=url.removesuffix("/v1beta"))
    client = genai.Client(api_key="test", http_options=options)
    config = types.GenerateContentConfig.model_validate(
        {
            "systemInstruction": body["systemInstruction"],
            "tools": body["tools"],
            **body["generationConfig"],
        }
    )
    config.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    text, thinking, calls, stop, usage = "", "", [], None, None
    stream = client.models.generate_content_stream(model="script", contents=contents, config=config)
    for chunk in stream:
        candidate = chunk.candidates[0]
        for part in candidate.content.parts:
            if part.function_call:
                calls.append([part.function_call.name, part.function_call.args])
            elif part.thought:
                thinking += part.text
            else:
                text += part.text or ""
        stop = candidate.finish_reason.value if candidate.finish_reason else stop
        usage = chunk.usage_metadata or usage
    return {
        "text": text,
        "thinking": thinking,
        "calls": calls,
        "stop": stop,
        "input": usage.prompt_token_count,
        "output": usage.candidates_token_count,
    }


READERS = {
    "anthropic": anthropic,
    "openai-responses": openai_responses,
    "openai-chat": openai_chat,
    "gemini": gemini,
}

if __name__ == "__main__":
    wire, url, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        print(json.dumps(READERS[wire](url, json.load(file)), sort_keys=True))
