//! The interpreter's state: which libraries a script finds, and how much memory it may use.
//!
//! Law: tables are changed before the first script runs, and there is one of each, so no script reaches
//! an unchanged one. Chunks are text: bytecode is never loaded.

use mlua::{Lua, LuaOptions, StdLib, Value};

use crate::protocol::{Library, Start};

/// Functions of the base library that read files or load bytecode; `load` is replaced.
const BASE_WITHOUT: &[&str] = &["dofile", "loadfile", "collectgarbage"];
/// Functions of `os` that only a person opens; clocks and dates are left.
const OS_WITHOUT: &[&str] =
    &["execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname"];

pub(super) fn open(start: &Start) -> mlua::Result<Lua> {
    let plain = StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::UTF8 | StdLib::MATH;
    let mut libraries = plain | StdLib::OS;
    if start.allow.contains(&Library::Io) {
        libraries |= StdLib::IO;
    }
    let lua = Lua::new_with(libraries, LuaOptions::default())?;
    lua.set_memory_limit(start.limits.memory_bytes)?;
    let globals = lua.globals();
    for name in BASE_WITHOUT {
        globals.raw_set(*name, Value::Nil)?;
    }
    let strings: mlua::Table = globals.raw_get("string")?;
    strings.raw_set("dump", Value::Nil)?;
    let os: mlua::Table = globals.raw_get("os")?;
    // Ending the process is never a script's decision.
    os.raw_set("exit", Value::Nil)?;
    if !start.allow.contains(&Library::Os) {
        for name in OS_WITHOUT {
            os.raw_set(*name, Value::Nil)?;
        }
    }
    Ok(lua)
}

/// Bytes beside the interpreter's own: this program, its stacks, and messages under way.
const BESIDE_LUA: u64 = 768 * 1024 * 1024;

/// Limits of the whole process (setrlimit), for what the interpreter's own limit does not count.
pub(super) fn limit_process(start: &Start) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let most = BESIDE_LUA + start.limits.memory_bytes as u64;
    for (resource, most) in [(Resource::As, most), (Resource::Core, 0)] {
        // A lower limit than ours is in force where this is refused.
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .unwrap_or_default();
    }
}
