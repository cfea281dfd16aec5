//! Scripts that misbehave: the call has its one result, and the client goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_lua::{CallFailure, ScriptLimits, Scripts, ToolAnswer};
use jm_types::Cancel;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::world::{World, context};

/// The state of the child afterwards.
#[derive(Clone, Copy, PartialEq)]
enum Child {
    Stays,
    IsReplaced,
}

/// A name, the body of a tool's `execute`, a part of the message, and what becomes of the child.
const CASES: &[(&str, &str, &str, Child)] = &[
    ("endless loop", "while true do end", "timed out after 0.3 s", Child::Stays),
    (
        "a loop that catches its end",
        "while true do pcall(function() while true do end end) end",
        "did not stop after 0.3 s; the Lua process was ended",
        Child::IsReplaced,
    ),
    (
        "a loop in a coroutine",
        "coroutine.wrap(function() while true do end end)()",
        "timed out after 0.3 s",
        Child::Stays,
    ),
    ("a string of 1 GB", "local s = ('x'):rep(1000000000)", "out of memory", Child::Stays),
    (
        "a string that doubles",
        "local s = 'x' while true do s = s .. s end",
        "out of memory",
        Child::Stays,
    ),
    (
        "a table without end",
        "local t = {} while true do t[#t + 1] = {} end",
        "out of memory",
        Child::Stays,
    ),
    (
        "a pattern bomb",
        "('a'):rep(60):find(('a?'):rep(60) .. ('a'):rep(60))",
        "did not stop after 0.3 s; the Lua process was ended",
        Child::IsReplaced,
    ),
    (
        "deep recursion",
        "local function f(n) return 1 + f(n + 1) end f(0)",
        "stack overflow",
        Child::Stays,
    ),
    (
        "recursion through C",
        "local function f() return (('x'):gsub('x', f)) end f()",
        "stack overflow",
        Child::Stays,
    ),
    (
        "recursion through a metamethod",
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(s, k) return s[k .. 1] end return t.x",
        "stack overflow",
        Child::Stays,
    ),
    ("an error", "error('boom')", "init.lua:2: boom", Child::Stays),
    ("an error that is a table", "error({ message = 'boom' })", "boom", Child::Stays),
    ("an error that is nil", "error(nil)", "nil", Child::Stays),
    (
        "an error whose text fails",
        "error(setmetatable({}, { __tostring = function() error('no') end }))",
        "a table",
        Child::Stays,
    ),
    ("no result", "return nil", "neither returned a result", Child::Stays),
    ("a wrong result", "return 42", "returned no result: expected a table", Child::Stays),
    (
        "a result that is no JSON",
        "return { success = true, output = print }",
        "a function cannot be written as JSON",
        Child::Stays,
    ),
    (
        "a result that contains itself",
        "local t = {} t.t = t return { success = true, output = t }",
        "nested more than 100",
        Child::Stays,
    ),
    (
        "a result of 40 MB",
        "return { success = true, output = ('x'):rep(40000000) }",
        "a message of",
        Child::Stays,
    ),
    ("bytecode", "return assert(load('\\27Lua'))()", "attempt to load", Child::Stays),
    (
        "a finaliser without end",
        "setmetatable({}, { __gc = function() while true do end end }) local t = {} for i = 1, 1e7 do t = {} end error('over')",
        "did not stop after 0.3 s",
        Child::IsReplaced,
    ),
    (
        "a callback that never comes",
        "vim.fn.jobstart({ 'sleep', '20' }) return function() error('in cancel') end",
        "timed out after 0.3 s",
        Child::Stays,
    ),
    (
        "an endless loop in a scheduled function",
        "vim.schedule(function() while true do end end) return function() end",
        "did not stop after 0.3 s",
        Child::IsReplaced,
    ),
];

/// For scripts that shall be stopped; all others have time, also on a busy machine.
const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> Vec<Trial> {
    let table = CASES.iter().map(|(name, body, message, child)| {
        Trial::test(format!("hostile::{name}"), || {
            check(body, message, *child);
            Ok(())
        })
    });
    let own: [(&str, fn()); 8] = [
        ("a child killed in a call", killed_in_a_call),
        ("two calls at once when the child dies", both_are_told),
        ("a call that is cancelled", cancelled),
        ("a callback that is cancelled", cancelled_callback),
        ("a hanging call that is cancelled", cancelled_hanging),
        ("an init.lua that never ends", endless_init),
        ("an init.lua that hangs in C", hanging_init),
        ("an init.lua that is no Lua", broken_init),
    ];
    let own = own.into_iter().map(|(name, check)| {
        Trial::test(format!("hostile::{name}"), move || {
            check();
            Ok(())
        })
    });
    table.chain(own).collect()
}

fn with_tool(body: &str) -> String {
    format!(
        "local tools = require('flemma.tools') local function execute(input, ctx, callback)\n{body}\nend
        tools.register('bad', {{ description = '', input_schema = {{}}, execute = execute }})
        tools.register('good', {{ description = '', input_schema = {{}},
          execute = function(input) return {{ success = true, output = input.text }} end }})"
    )
}

fn execute(
    scripts: &Scripts,
    tool: &str,
    input: Value,
    timeout: Duration,
) -> Result<ToolAnswer, CallFailure> {
    scripts.execute(tool, input, context(), timeout, &Cancel::new())
}

fn goes_on(scripts: &Scripts) {
    let answer = execute(scripts, "good", json!({"text": "on"}), LONG).unwrap();
    assert_eq!((answer.success, answer.output), (true, json!("on")));
}

fn small() -> ScriptLimits {
    ScriptLimits { memory_bytes: 128 * 1024 * 1024, start_ms: 2_000 }
}

fn check(body: &str, message: &str, child: Child) {
    let world = Arc::new(World::default());
    let scripts = world.scripts(&with_tool(body), small());
    goes_on(&scripts);
    let began = Instant::now();
    let timeout = if message.contains("0.3 s") { SHORT } else { LONG };
    let failure = execute(&scripts, "bad", json!({}), timeout).unwrap_err().to_string();
    assert!(failure.contains(message), "{failure}");
    assert!(began.elapsed() < LONG, "it took {:?}", began.elapsed());
    goes_on(&scripts);
    let started = world.children.lock().unwrap().len();
    let expected = if child == Child::Stays { 1 } else { 2 };
    assert_eq!(started, expected, "children started; log: {:?}", world.log.lock().unwrap());
}

fn kill(world: &World) {
    let pid = *world.children.lock().unwrap().last().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

fn killed_in_a_call() {
    let world = Arc::new(World::default());
    let scripts = world.scripts(&with_tool("while true do end"), small());
    goes_on(&scripts);
    let failure = std::thread::scope(|scope| {
        let call =
            scope.spawn(|| scripts.execute("bad", json!({}), context(), LONG, &Cancel::new()));
        std::thread::sleep(Duration::from_millis(100));
        kill(&world);
        call.join().unwrap().unwrap_err()
    });
    let expected =
        "the Lua process ended during the call (signal 9); it restarts with the next call";
    assert_eq!(failure.to_string(), expected);
    goes_on(&scripts);
}

fn both_are_told() {
    let world = Arc::new(World::default());
    let body = "vim.fn.jobstart({ 'sleep', '20' }) return function() end";
    let scripts = world.scripts(&with_tool(body), small());
    goes_on(&scripts);
    let failures = std::thread::scope(|scope| {
        let call = || scripts.execute("bad", json!({}), context(), LONG, &Cancel::new());
        let calls = [scope.spawn(call), scope.spawn(call)];
        std::thread::sleep(Duration::from_millis(100));
        kill(&world);
        calls.map(|call| call.join().unwrap().unwrap_err())
    });
    assert_eq!(failures, [(); 2].map(|()| CallFailure::Died("signal 9".to_owned())));
    goes_on(&scripts);
}

/// The failure of a call that is cancelled after a moment, and the children that were started.
fn cancel_soon(body: &str) -> (CallFailure, usize, Vec<String>) {
    let world = Arc::new(World::default());
    let scripts = world.scripts(&with_tool(body), small());
    goes_on(&scripts);
    let cancel = Cancel::new();
    let began = Instant::now();
    let failure = std::thread::scope(|scope| {
        let call = scope.spawn(|| scripts.execute("bad", json!({}), context(), 10 * LONG, &cancel));
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        call.join().unwrap().unwrap_err()
    });
    assert!(began.elapsed() < LONG);
    goes_on(&scripts);
    let log = world.log.lock().unwrap().clone();
    (failure, world.children.lock().unwrap().len(), log)
}

fn cancelled() {
    let (failure, children, _) = cancel_soon("while true do end");
    assert_eq!((failure, children), (CallFailure::Cancelled, 1));
}

fn cancelled_callback() {
    let body = "vim.fn.jobstart({ 'sleep', '20' }) return function() print('told') end";
    let (failure, children, log) = cancel_soon(body);
    assert_eq!(
        (failure, children, log),
        (CallFailure::Cancelled, 1, vec!["info: told".to_owned()])
    );
}

fn cancelled_hanging() {
    let body = "('a'):rep(60):find(('a?'):rep(60) .. ('a'):rep(60))";
    let (failure, children, _) = cancel_soon(body);
    assert_eq!((failure, children), (CallFailure::Cancelled, 2));
}

/// The error of each of two calls; the second one does not start another child.
fn failed_start(init: &str) -> String {
    let world = Arc::new(World::default());
    let limits = ScriptLimits { start_ms: 300, ..small() };
    let scripts = world.scripts(init, limits);
    let first = execute(&scripts, "good", json!({}), LONG).unwrap_err();
    let second = execute(&scripts, "good", json!({}), LONG).unwrap_err();
    assert_eq!(first, second);
    assert_eq!(world.children.lock().unwrap().len(), 1);
    first.to_string()
}

fn endless_init() {
    assert_eq!(failed_start("while true do end"), "init.lua did not end within 0.3 s");
}

fn hanging_init() {
    let init = "('a'):rep(60):find(('a?'):rep(60) .. ('a'):rep(60))";
    assert_eq!(failed_start(init), "init.lua: did not end within 0.3 s and was stopped");
}

fn broken_init() {
    assert_eq!(failed_start("x ="), "init.lua:1: unexpected symbol near <eof>");
}
