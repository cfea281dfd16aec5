"""A whole session of `jm acp`, driven by the Python SDK of the protocol: approval, denial, diff, cancel, a crash with
recovery, resume.

usage: acp_session.py JM HOME, where HOME/w is the workspace
"""

import asyncio
import os
import sys
from pathlib import Path

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
)

JM, HOME = sys.argv[1], Path(sys.argv[2])
WORK = HOME / "w"
EDIT = """
[[turn]]
steps = [{ text = "I look." }, { call = "read_file", args = { path = "app.conf" } }]
[[turn]]
steps = [{ call = "edit_file", args = { path = "app.conf", old_string = "port = 8080", new_string = "port = 9090" } }]
[[turn]]
steps = [{ text = "Done." }]
[[turn]]
steps = [{ call = "write_file", args = { path = "evil.sh", content = "x" } }]
[[turn]]
expect = { results_contain = ["denied"] }
steps = [{ text = "As you wish." }]
[[turn]]
steps = [{ call = "run_command", args = { command = "bash -c 'echo once >> ran; exec -a acp-peer-once sleep 600'" } }]
[[turn]]
steps = [{ text = "Stopped." }]
[[turn]]
steps = [{ call = "run_command", args = { command = "bash -c 'echo again >> ran; exec -a acp-peer-again sleep 600'" } }]
"""
AFTER = """
[[turn]]
steps = [{ text = "I see." }]
"""
WRITES = """
[[turn]]
steps = [{ call = "write_file", args = { path = "one.txt", content = "1" } }]
[[turn]]
steps = [{ call = "write_file", args = { path = "two.txt", content = "2" } }]
[[turn]]
steps = [{ text = "Written." }]
"""
passed = 0


def check(is_true, what):
    global passed
    if not is_true:
        sys.exit(f"FAILED: {what}")
    passed += 1


class Editor(acp.Client):
    """Answers questions from a list, and remembers what it was told."""

    def __init__(self):
        self.answers, self.updates, self.asked, self.running = [], [], [], asyncio.Event()
        self.kinds = []

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append(tool_call)
        answer = self.answers.pop(0)
        known = [option.option_id for option in options]
        self.kinds.append([option.kind for option in options])
        check(answer is None or answer in known, f"{answer} is offered: {known}")
        if answer is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)
        if getattr(update, "status", None) == "in_progress":
            self.running.set()

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        return ReadTextFileResponse(content=Path(path).read_text())

    def words(self):
        chunks = [one for one in self.updates if one.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)


def agent(editor, script, *more):
    path = HOME / f"script-{len(script)}.toml"
    path.write_text(script)
    env = dict(os.environ, HOME=str(HOME), JM_STATE_DIR=str(HOME / "state"))
    words = ["acp", "--model", f"script:{path}", "--allow", "run_command", *more]
    return acp.spawn_agent_process(editor, JM, *words, env=env, cwd=str(HOME))


async def begin(connection):
    capabilities = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))
    answer = await connection.initialize(protocol_version=1, client_capabilities=capabilities)
    check(answer.protocol_version == 1, "version 1")
    check(answer.agent_capabilities.load_session, "sessions can be loaded")


def runs(mark):
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.read_bytes().startswith(mark.encode()):
                return True
        except OSError:
            pass
    return False


async def until(is_so, what):
    for _ in range(600):
        if is_so():
            return
        await asyncio.sleep(0.1)
    check(False, what)


async def until_running(editor, mark):
    await asyncio.wait_for(editor.running.wait(), 60)
    await until(lambda: runs(mark), "the command runs")


async def first(editor):
    async with agent(editor, EDIT) as (connection, process):
        await begin(connection)
        session = (await connection.new_session(cwd=str(WORK), mcp_servers=[])).session_id

        async def prompt(text):
            return await connection.prompt(session_id=session, prompt=[acp.text_block(text)])

        editor.answers = ["allow"]
        check((await prompt("change the port")).stop_reason == "end_turn", "the turn ends")
        check((WORK / "app.conf").read_text() == "port = 9090\n", "the approved edit was made")
        diffs = [part for part in editor.asked[0].content if part.type == "diff"]
        check(diffs[0].new_text == "port = 9090\n", "the question has the diff")
        editor.answers = ["reject"]
        await prompt("write a file")
        check(not (WORK / "evil.sh").exists(), "the rejected write was not made")
        editor.answers = ["allow"]
        editor.running.clear()
        running = asyncio.create_task(prompt("run it"))
        await until_running(editor, "acp-peer-once")
        await connection.cancel(session_id=session)
        check((await running).stop_reason == "cancelled", "the turn is cancelled")
        await until(lambda: not runs("acp-peer-once"), "the command is stopped")
        await prompt("go on")
        (WORK / "ran").unlink(missing_ok=True)
        editor.answers = ["allow"]
        editor.running.clear()
        running = asyncio.create_task(prompt("run it again"))
        await until_running(editor, "acp-peer-again")
        process.kill()
        await process.wait()
        await until(lambda: not runs("acp-peer-again"), "the command ends with the agent")
        running.cancel()
        return session


async def second(editor, session):
    async with agent(editor, AFTER) as (connection, _):
        await begin(connection)
        listed = await connection.list_sessions(cwd=str(WORK))
        check([one.session_id for one in listed.sessions] == [session], "the session is listed")
        await connection.load_session(cwd=str(WORK), session_id=session, mcp_servers=[])
        kinds = {one.session_update for one in editor.updates}
        check({"user_message_chunk", "agent_message_chunk", "tool_call"} <= kinds, f"it is told: {kinds}")
        check("I look." in editor.words(), "with its words")
        editor.updates.clear()
        editor.answers = ["keep"]
        answer = await connection.prompt(session_id=session, prompt=[acp.text_block("what now?")])
        check(answer.stop_reason == "end_turn", "it goes on after recovery")
        check(editor.words() == "I see.", editor.words())
        # It ran on a layer, which is set aside; run once more it would have been kept.
        check(not (WORK / "ran").exists(), "nothing ran twice")
        await connection.close_session(session_id=session)


async def third(editor, session):
    async with agent(editor, AFTER) as (connection, _):
        await begin(connection)
        await connection.resume_session(cwd=str(WORK), session_id=session)
        told = [one for one in editor.updates if one.session_update == "user_message_chunk"]
        check(told == [], "resume tells nothing")
        await connection.prompt(session_id=session, prompt=[acp.text_block("sure?")])
        check(editor.words() == "I see.", editor.words())


async def fourth(editor):
    async with agent(editor, WRITES, "--remember", "session") as (connection, _):
        await begin(connection)
        session = (await connection.new_session(cwd=str(WORK), mcp_servers=[])).session_id
        editor.answers = ["always_session"]
        await connection.prompt(session_id=session, prompt=[acp.text_block("write two files")])
        kinds = ["allow_once", "allow_always", "reject_once"]
        check(editor.kinds == [kinds], f"one question, with its scopes: {editor.kinds}")
        check((WORK / "two.txt").read_text() == "2", "the second write was not asked about")


async def main():
    (WORK / "app.conf").write_text("port = 8080\n")
    session = await first(Editor())
    await second(Editor(), session)
    await third(Editor(), session)
    await fourth(Editor())
    print(f"{passed} checks of the Python SDK passed")


asyncio.run(main())
