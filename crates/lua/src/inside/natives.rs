//! The functions of the program that the Lua side of the interpreter is built on.

use std::cell::RefCell;
use std::rc::Rc;

use jm_types::text::suggest;
use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLua, Lua, Table, Value as Lvalue, Variadic};
use serde_json::Value;

use super::calls::Calls;
use super::convert::{from_lua, mend_schema, to_lua};
use super::link::SharedLink;
use super::script_error::{OUT_OF_MEMORY, plain_error};
use crate::protocol::{
    Ask, Failure, FromChild, JobOrder, LogLevel, MessageId, ModuleSource, ScriptTool, Start,
};

/// A longer message is cut.
const MOST_LOGGED: usize = 4 * 1024;

/// The table that every part of the runtime gets.
pub(super) fn table(
    lua: &Lua,
    start: &Start,
    link: &SharedLink,
    calls: &Rc<RefCell<Calls>>,
) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    natives.set("default_timeout", start.default_timeout_seconds)?;
    natives.set("default_auto_approve", start.default_auto_approve.clone())?;
    natives.set("null", Lvalue::NULL)?;
    add_text(lua, &natives)?;
    add_json(lua, &natives)?;
    add_messages(lua, &natives, link)?;
    add_questions(lua, &natives, link)?;
    add_jobs(lua, &natives, link)?;
    add_results(lua, &natives, link, calls)?;
    natives.set("load", lua.create_function(load)?)?;
    lua.globals().raw_set("load", lua.create_function(load_by_script)?)?;
    Ok(natives)
}

fn add_text(lua: &Lua, natives: &Table) -> mlua::Result<()> {
    let error_text = |_: &Lua, error: Lvalue| Ok(describe(&error));
    natives.set("error_text", lua.create_function(error_text)?)?;
    let near = |_: &Lua, (name, names): (String, Vec<String>)| {
        Ok(suggest(&name, names.iter().map(String::as_str), 1).into_iter().next())
    };
    natives.set("suggest", lua.create_function(near)?)?;
    let place = |_: &Lua, function: Function| {
        let info = function.info();
        let (source, line) = (info.short_src.unwrap_or_default(), info.line_defined);
        Ok(format!("{source}:{}", line.unwrap_or_default()))
    };
    natives.set("where", lua.create_function(place)?)
}

/// An error's own words, whatever was thrown.
fn describe(error: &Lvalue) -> String {
    match error {
        Lvalue::Error(error) => plain_error(error),
        Lvalue::Table(table) => match table.raw_get::<Lvalue>("message") {
            Ok(Lvalue::String(message)) => message.to_string_lossy(),
            _ => error.to_string().unwrap_or_else(|_| "a table".to_owned()),
        },
        other => match other.to_string() {
            Ok(text) if text == "not enough memory" => OUT_OF_MEMORY.to_owned(),
            Ok(text) => text,
            Err(_) => format!("a {}", other.type_name()),
        },
    }
}

fn add_json(lua: &Lua, natives: &Table) -> mlua::Result<()> {
    let list = |lua: &Lua, items: Table| {
        // An empty list made in Lua is told from an empty table by its metatable.
        let mark = to_lua(lua, &Value::Array(Vec::new()))?;
        items.set_metatable(mark.as_table().and_then(Table::metatable))?;
        Ok(items)
    };
    natives.set("list", lua.create_function(list)?)?;
    let encode = |lua: &Lua, value: Lvalue| {
        from_lua(lua, &value).map(|value| value.to_string()).map_err(mlua::Error::runtime)
    };
    natives.set("json_encode", lua.create_function(encode)?)?;
    let decode = |lua: &Lua, text: String| {
        let value: Value = serde_json::from_str(&text).map_err(mlua::Error::runtime)?;
        to_lua(lua, &value)
    };
    natives.set("json_decode", lua.create_function(decode)?)
}

fn send(link: &SharedLink, message: &FromChild) -> mlua::Result<()> {
    link.borrow_mut().send(message).map_err(mlua::Error::runtime)
}

fn add_messages(lua: &Lua, natives: &Table, link: &SharedLink) -> mlua::Result<()> {
    let own = Rc::clone(link);
    let log = lua.create_function(move |_, (level, text): (String, mlua::LuaString)| {
        let level = match level.as_str() {
            "debug" => LogLevel::Debug,
            "warn" => LogLevel::Warn,
            "error" => LogLevel::Error,
            _ => LogLevel::Info,
        };
        let mut text = text.to_string_lossy();
        text.truncate(text.floor_char_boundary(MOST_LOGGED));
        send(&own, &FromChild::Log { level, text })
    })?;
    natives.set("log", log)?;
    let own = Rc::clone(link);
    let tool = lua.create_function(move |lua, definition: Lvalue| {
        let definition = from_lua(lua, &definition).and_then(|value| {
            serde_json::from_value::<ScriptTool>(value).map_err(|e| e.to_string())
        });
        let mut tool = definition.map_err(mlua::Error::runtime)?;
        mend_schema(&mut tool.input_schema);
        send(&own, &FromChild::Tool(Box::new(tool)))
    })?;
    natives.set("tool", tool)?;
    let own = Rc::clone(link);
    let began =
        lua.create_function(move |_, name: String| send(&own, &FromChild::SourceBegan { name }))?;
    natives.set("source_began", began)?;
    let own = Rc::clone(link);
    let ended = lua.create_function(move |_, (name, error): (String, Option<String>)| {
        send(&own, &FromChild::SourceEnded { name, error })
    })?;
    natives.set("source_ended", ended)
}

/// A function that asks the program; it gives the answer, or nil and the reason.
fn question<A: mlua::FromLuaMulti + 'static>(
    lua: &Lua,
    link: &SharedLink,
    ask: impl Fn(A) -> Ask + 'static,
) -> mlua::Result<Function> {
    let link = Rc::clone(link);
    lua.create_function(move |lua, args: A| {
        let answer = link.borrow_mut().ask(ask(args)).map_err(mlua::Error::runtime)?;
        match answer {
            Ok(value) => Ok((to_lua(lua, &value)?, Lvalue::Nil)),
            Err(reason) => Ok((Lvalue::Nil, reason.into_lua(lua)?)),
        }
    })
}

fn add_questions(lua: &Lua, natives: &Table, link: &SharedLink) -> mlua::Result<()> {
    natives.set("module", question(lua, link, Ask::Module)?)?;
    natives.set("is_path_writable", question(lua, link, Ask::IsPathWritable)?)?;
    natives.set("wrap_command", question(lua, link, Ask::WrapCommand)?)?;
    natives.set("read_file", question(lua, link, Ask::ReadFile)?)?;
    let write = |(path, text): (String, mlua::LuaString)| {
        let text = text.to_string_lossy();
        Ask::WriteFile { path, text }
    };
    natives.set("write_file", question(lua, link, write)?)
}

fn add_jobs(lua: &Lua, natives: &Table, link: &SharedLink) -> mlua::Result<()> {
    let own = Rc::clone(link);
    type Order = (Vec<String>, Option<String>, Table, Option<MessageId>);
    let start = lua.create_function(move |_, (argv, cwd, env, call): Order| {
        let env = env.pairs::<String, String>().collect::<mlua::Result<Vec<_>>>()?;
        let mut link = own.borrow_mut();
        let job = link.fresh_id();
        let order = JobOrder { argv, cwd, env };
        link.send(&FromChild::StartJob { job, call, order }).map_err(mlua::Error::runtime)?;
        Ok(job)
    })?;
    natives.set("start_job", start)?;
    let own = Rc::clone(link);
    let stop =
        lua.create_function(move |_, job: MessageId| send(&own, &FromChild::StopJob { job }))?;
    natives.set("stop_job", stop)
}

/// `finish` and `fail` end a call that has not ended; `false` for one that has.
fn add_results(
    lua: &Lua,
    natives: &Table,
    link: &SharedLink,
    calls: &Rc<RefCell<Calls>>,
) -> mlua::Result<()> {
    let (own, open) = (Rc::clone(link), Rc::clone(calls));
    let finish = lua.create_function(move |lua, (id, answer): (MessageId, Lvalue)| {
        let outcome = from_lua(lua, &answer);
        let outcome = outcome.map_err(|why| Failure::Error(format!("its result: {why}")));
        open.borrow_mut().end(&own, id, outcome)
    })?;
    natives.set("finish", finish)?;
    let (own, open) = (Rc::clone(link), Rc::clone(calls));
    let fail = lua.create_function(move |_, (id, reason): (MessageId, String)| {
        open.borrow_mut().end(&own, id, Err(Failure::Error(reason)))
    })?;
    natives.set("fail", fail)
}

/// A chunk of text under a name; nil and the reason for one that is no Lua.
fn load(
    lua: &Lua,
    (text, name, environment): (mlua::LuaString, String, Option<Table>),
) -> mlua::Result<(Option<Function>, Option<String>)> {
    let bytes = text.as_bytes();
    let chunk = lua.load(&*bytes).set_name(format!("@{name}")).set_mode(ChunkMode::Text);
    let chunk = match environment {
        Some(environment) => chunk.set_environment(environment),
        None => chunk,
    };
    match chunk.into_function() {
        Ok(function) => Ok((Some(function), None)),
        Err(error) => Ok((None, Some(plain_error(&error)))),
    }
}

/// `load` as scripts have it: strings only, since a function that gives pieces could hide an error.
fn load_by_script(
    lua: &Lua,
    (text, name, _mode, rest): (Lvalue, Option<String>, Lvalue, Variadic<Table>),
) -> mlua::Result<(Option<Function>, Option<String>)> {
    let Lvalue::String(text) = text else {
        return Ok((None, Some("load: only strings can be loaded".to_owned())));
    };
    let name = name.unwrap_or_else(|| "string".to_owned());
    let name = name.trim_start_matches(['@', '=']).to_owned();
    load(lua, (text, name, rest.first().cloned()))
}

/// A source as the runtime takes it.
pub(super) fn source(lua: &Lua, source: &ModuleSource) -> mlua::Result<Table> {
    lua.create_table_from([("name", source.name.as_str()), ("text", source.text.as_str())])
}
