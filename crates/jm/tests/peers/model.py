"""A model of OpenAI's Responses API with a fixed script, for agents that are run against `jm mcp serve`:
reads a.txt with our tool, edits it with our tool, and is done.

usage: model.py PORT
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = "mcp__journeyman"
CALLS = [
    ("read_file", {"path": "a.txt"}),
    ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "changed"}),
]
turns = iter(range(1_000_000))


def item(turn, tools):
    if turn >= len(CALLS):
        text = {"type": "output_text", "text": "done", "annotations": []}
        return {"type": "message", "id": f"m{turn}", "role": "assistant", "status": "completed",
                "content": [text]}
    name, arguments = CALLS[turn]
    call = {"type": "function_call", "id": f"fc{turn}", "call_id": f"call{turn}",
            "arguments": json.dumps(arguments), "status": "completed"}
    # Newer agents put a server's tools into a namespace, older ones into the name.
    spaces = [tool["name"] for tool in tools
              if tool.get("type") == "namespace" and tool["name"].startswith(SERVER)]
    if spaces:
        return {**call, "name": name, "namespace": spaces[0]}
    return {**call, "name": f"{SERVER}__{name}"}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer("application/json", b'{"data": [], "models": []}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        turn = next(turns)
        said = item(turn, body.get("tools") or [])
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        begun = {"id": f"r{turn}", "status": "in_progress", "output": []}
        ended = {"id": f"r{turn}", "status": "completed", "output": [said], "usage": usage}
        events = [
            {"type": "response.created", "response": begun},
            {"type": "response.output_item.added", "output_index": 0, "item": said},
            {"type": "response.output_item.done", "output_index": 0, "item": said},
            {"type": "response.completed", "response": ended},
        ]
        lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events]
        self.answer("text/event-stream", "".join(lines).encode())


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
