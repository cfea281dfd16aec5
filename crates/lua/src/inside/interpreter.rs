//! The interpreter at work: it runs `init.lua`, answers calls, and runs what was put off.

use std::cell::RefCell;
use std::io::Result;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, Table, Value as Lvalue};
use serde_json::Value;

use super::calls::Calls;
use super::link::{Link, SharedLink};
use super::script_error::plain_error;
use super::watch::Watch;
use super::{convert, natives, state};
use crate::preview;
use crate::protocol::{Call, Failure, FromChild, MessageId, ScriptContext, Start, ToChild};

/// The Lua side, in the order in which its parts build on each other.
const RUNTIME: &[(&str, &str)] = &[
    ("core", include_str!("runtime/core.lua")),
    ("truncate", include_str!("runtime/truncate.lua")),
    ("context", include_str!("runtime/context.lua")),
    ("tools", include_str!("runtime/tools.lua")),
    ("approval", include_str!("runtime/approval.lua")),
    ("setup", include_str!("runtime/setup.lua")),
    ("options", include_str!("runtime/options.lua")),
    ("vim", include_str!("runtime/vim.lua")),
    ("main", include_str!("runtime/main.lua")),
];

pub(super) struct Interpreter {
    lua: Lua,
    entry: Table,
    start: Start,
    link: SharedLink,
    watch: Rc<Watch>,
    calls: Rc<RefCell<Calls>>,
    /// Calls that wait for the sources of tools.
    awaiting_sources: Vec<MessageId>,
    began: Instant,
}

/// The next thing that will be due by itself.
struct Due {
    next: Option<Instant>,
    can_call_back: bool,
    has_sources: bool,
}

impl Interpreter {
    pub(super) fn new(link: Link, start: Start) -> mlua::Result<Self> {
        let lua = state::open(&start)?;
        convert::prepare(&lua)?;
        let link = Rc::new(RefCell::new(link));
        let watch = Watch::new();
        let calls = Rc::new(RefCell::new(Calls::new(Rc::clone(&watch))));
        let began = Instant::now();
        let natives = natives::table(&lua, &start, &link, &calls)?;
        natives.set("now", lua.create_function(move |_, ()| Ok(began.elapsed().as_secs_f64()))?)?;
        let shared = lua.create_table()?;
        let mut entry = Lvalue::Nil;
        for (name, text) in RUNTIME {
            let chunk = lua.load(*text).set_name(format!("=[{name}]")).set_mode(ChunkMode::Text);
            entry = chunk.call((natives.clone(), shared.clone()))?;
        }
        let Lvalue::Table(entry) = entry else {
            return Err(mlua::Error::runtime("the runtime has no entries"));
        };
        watch.install(&lua, &link)?;
        let awaiting_sources = Vec::new();
        Ok(Self { lua, entry, start, link, watch, calls, awaiting_sources, began })
    }

    pub(super) fn tell(&self, message: &FromChild) -> Result<()> {
        self.link.borrow_mut().send(message)
    }

    /// Runs `init.lua`.
    pub(super) fn start(&mut self) -> std::result::Result<(), String> {
        let deadline = self.background_deadline();
        let init = natives::source(&self.lua, &self.start.init).map_err(|e| plain_error(&e))?;
        let ran = self.run::<()>("start", None, deadline, init);
        ran.map_err(|error| match self.watch.stopped() {
            Some(_) => format!(
                "{} did not end within {:.1} s",
                self.start.init.name,
                Duration::from_millis(self.start.limits.start_ms).as_secs_f64()
            ),
            None => plain_error(&error),
        })
    }

    /// Until the program is gone.
    pub(super) fn serve(&mut self) -> Result<()> {
        loop {
            let due = self.run_due();
            self.end_late_calls();
            if !due.has_sources {
                for id in std::mem::take(&mut self.awaiting_sources) {
                    self.end(id, Ok(Value::Null));
                }
            }
            if !due.can_call_back && !self.calls.borrow().is_empty() {
                self.give_up();
            }
            let next = [due.next, self.calls.borrow().next_deadline()].into_iter().flatten().min();
            let most = next.map(|next| next.saturating_duration_since(Instant::now()));
            let message = self.link.borrow_mut().next(most)?;
            if let Some(message) = message {
                self.hear(message);
            }
        }
    }

    fn hear(&mut self, message: ToChild) {
        match message {
            ToChild::Call { id, timeout_ms, call } => self.call(id, timeout_ms, &call),
            ToChild::Cancel { id } => self.stop(id, Failure::Cancelled),
            ToChild::JobEnded { job, end } => {
                let deadline = self.background_deadline();
                let ended = serde_json::to_value(end).unwrap_or_default();
                let ran = convert::to_lua(&self.lua, &ended)
                    .and_then(|ended| self.run::<()>("job_ended", None, deadline, (job, ended)));
                self.log_failure(ran);
            }
            // An answer to a question that nobody waits for, or a second start.
            ToChild::Answer { .. } | ToChild::Start(_) => {}
        }
    }

    fn call(&mut self, id: MessageId, timeout_ms: u64, call: &Call) {
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        self.calls.borrow_mut().begin(id, deadline);
        if matches!(call, Call::Ready) {
            return self.awaiting_sources.push(id);
        }
        let outcome = self.answer(id, deadline, call);
        // A script that caught the error which was to stop it is stopped all the same.
        if let Some(stop) = self.watch.stopped() {
            return self.stop(id, stop.failure());
        }
        match outcome {
            Ok(Some(value)) => self.end(id, Ok(value)),
            // It has ended, or waits for a callback.
            Ok(None) => {}
            Err(error) => self.end(id, Err(Failure::Error(plain_error(&error)))),
        }
    }

    /// The value of a call; `None` for one that the runtime ends.
    fn answer(&self, id: MessageId, deadline: Instant, call: &Call) -> mlua::Result<Option<Value>> {
        let (lua, own) = (&self.lua, Some(id));
        let value: Lvalue = match call {
            Call::Execute { tool, input, context } => {
                let args = (id, tool.as_str(), convert::to_lua(lua, input)?, self.facts(context)?);
                return self.run::<()>("execute", own, deadline, args).map(|()| None);
            }
            Call::Preview { tool, input, max_length } => {
                let args = (tool.as_str(), convert::to_lua(lua, input)?, *max_length);
                let text: Option<String> = self.run("preview", own, deadline, args)?;
                let text = text.map(|text| preview::fit(&text, *max_length));
                return Ok(Some(Value::from(
                    text.unwrap_or_else(|| preview::generic(input, *max_length)),
                )));
            }
            Call::Resolve { resolver, tool, input, context } => {
                let args = (
                    resolver.as_deref(),
                    tool.as_str(),
                    convert::to_lua(lua, input)?,
                    self.facts(context)?,
                );
                self.run("resolve", own, deadline, args)?
            }
            Call::Resolvers => self.run("resolvers", own, deadline, ())?,
            Call::Presets => self.run("presets", own, deadline, ())?,
            Call::Document { document, chunk, known_tools, enabled_tools } => {
                let chunk = natives::source(lua, chunk)?;
                let args = (document.as_str(), chunk, known_tools.clone(), enabled_tools.clone());
                self.run("evaluate", own, deadline, args)?
            }
            Call::ResolveDocument { document, tool, input, context } => {
                let args = (
                    document.as_str(),
                    tool.as_str(),
                    convert::to_lua(lua, input)?,
                    self.facts(context)?,
                );
                self.run("resolve_document", own, deadline, args)?
            }
            Call::Ready => Lvalue::Nil,
        };
        convert::from_lua(lua, &value).map(Some).map_err(mlua::Error::runtime)
    }

    fn facts(&self, context: &ScriptContext) -> mlua::Result<Lvalue> {
        let facts = serde_json::to_value(context).map_err(mlua::Error::external)?;
        convert::to_lua(&self.lua, &facts)
    }

    /// One entry of the runtime, under a limit of time.
    fn run<R: mlua::FromLuaMulti>(
        &self,
        entry: &str,
        call: Option<MessageId>,
        deadline: Instant,
        args: impl IntoLuaMulti,
    ) -> mlua::Result<R> {
        let function: Function = self.entry.raw_get(entry)?;
        self.watch.begin(call, deadline);
        function.call(args)
    }

    /// For work that no call waits for.
    fn background_deadline(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.start.limits.start_ms)
    }

    fn run_due(&self) -> Due {
        let now = self.began.elapsed().as_secs_f64();
        let ran = self.run("tick", None, self.background_deadline(), now);
        let (next, can_call_back, has_sources): (Option<f64>, bool, bool) = match ran {
            Ok(due) => due,
            Err(error) => {
                self.log_failure(Err(error));
                // What was due has failed; what is left is looked at anew.
                (Some(now), true, true)
            }
        };
        // Times come from a script, so any number may be among them.
        let wait = next.map(|at| (at - now).clamp(0.0, 3600.0));
        let next = wait.and_then(|wait| Duration::try_from_secs_f64(wait).ok());
        Due { next: next.map(|wait| Instant::now() + wait), can_call_back, has_sources }
    }

    fn end_late_calls(&mut self) {
        let late = self.calls.borrow().late(Instant::now());
        late.into_iter().for_each(|id| self.stop(id, Failure::TimedOut));
    }

    /// Ends a call that has no result, and tells its tool.
    fn stop(&mut self, id: MessageId, failure: Failure) {
        if !self.calls.borrow().is_open(id) {
            return;
        }
        self.awaiting_sources.retain(|waiting| *waiting != id);
        self.end(id, Err(failure));
        let ran = self.run::<()>("cancel", None, self.background_deadline(), id);
        self.log_failure(ran);
    }

    fn give_up(&self) {
        let ran = self.run::<()>("give_up", None, self.background_deadline(), ());
        self.log_failure(ran);
    }

    fn end(&self, id: MessageId, outcome: std::result::Result<Value, Failure>) {
        let ended = self.calls.borrow_mut().end(&self.link, id, outcome);
        self.log_failure(ended.map(|_| ()));
    }

    fn log_failure(&self, ran: mlua::Result<()>) {
        let Err(error) = ran else { return };
        let (level, text) = (crate::LogLevel::Error, plain_error(&error));
        // Without the program there is nobody to tell.
        self.tell(&FromChild::Log { level, text }).unwrap_or_default();
    }
}
