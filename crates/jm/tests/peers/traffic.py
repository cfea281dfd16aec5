"""Compares the traffic of a client with what was recorded: `traffic.py NAME FILE HOME`.

With RECORD_TRAFFIC=1 it is recorded anew. Updates that come by chance are left out, and what differs from run to run is
replaced.
"""

import json
import os
import sys
from pathlib import Path

name, file, home = sys.argv[1:]
golden = Path(__file__).parent / "traffic" / name
lines = []
session = None
for line in Path(file).read_text().splitlines():
    message = json.loads(line)
    result = message.get("result") or {}
    session = session or result.get("sessionId")
    update = message.get("params", {}).get("update", {})
    if update.get("status") == "in_progress":
        continue
    if "fs/read_text_file" == message.get("method") or set(result) == {"content"}:
        continue
    if "configOptions" in result:
        result["configOptions"] = ["…"]
    if "updatedAt" in update:
        update["updatedAt"] = "TIME"
    for place in (update, message.get("params", {}).get("toolCall", {})):
        for part in place.get("content") or []:
            if isinstance(part, dict) and part.get("type") == "content":
                text = part["content"].get("text", "")
                if text.startswith("Needs approval: "):
                    part["content"]["text"] = "Needs approval: REASON"
    # Questions about buffers take numbers too.
    if message.get("method") == "session/request_permission" or "outcome" in result:
        message["id"] = "QUESTION"
    text = json.dumps(message, ensure_ascii=False).replace(home, "/HOME")
    lines.append(text.replace(session or "\0", "SESSION"))
found = "\n".join(lines) + "\n"
if os.environ.get("RECORD_TRAFFIC"):
    golden.parent.mkdir(exist_ok=True)
    golden.write_text(found)
expected = golden.read_text()
for number, (one, other) in enumerate(zip(found.splitlines(), expected.splitlines()), 1):
    if one != other:
        sys.exit(f"{name}, line {number}\nexpected: {other}\nfound: {one}")
if len(found) != len(expected):
    sys.exit(f"{name}: {len(lines)} messages")
print(f"{len(lines)} messages as recorded")
