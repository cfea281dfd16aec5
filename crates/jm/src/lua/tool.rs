//! Tools that a script brings, as a source like any other (FL-REG, FL-ASYNC).
//!
//! Law: what a script does is unknown, so its tools count as commands: asked about, journaled as started,
//! the workspace looked at around them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_lua::{CallFailure, ScriptContext, ScriptTool, Scripts};
use jm_system::programs;
use jm_tools::{
    CallContext, Intent, Listed, Origin, Output, Prepared, Preview, Registered, Scope, ToolEffect,
    ToolExecutor, ToolFut, ToolSource, ToolSpec,
};
use jm_types::text::one_line;
use jm_types::{Digest, ErrorKind, Limits, RiskLevel, ToolError};
use serde_json::Value;

use super::Owner;

/// A script with more bytes is not one.
const MOST_HASHED: u64 = 4 * 1024 * 1024;
/// Every source has a time of its own, which is less.
const SOURCES: Duration = Duration::from_secs(600);
/// More than a summary shows.
const MOST_SUMMARY: usize = 400;

#[derive(Debug)]
pub(crate) struct LuaTools {
    init: Arc<Path>,
    owner: Owner,
    /// `None` for the script of a project that is not trusted.
    scripts: Option<Arc<Scripts>>,
}

impl LuaTools {
    pub(super) fn new(scripts: Scripts, init: PathBuf, owner: Owner) -> Self {
        Self { init: init.into(), owner, scripts: Some(Arc::new(scripts)) }
    }

    pub(super) fn untrusted(init: PathBuf) -> Self {
        Self { init: init.into(), owner: Owner::Project, scripts: None }
    }

    /// The tools, once all sources have ended.
    fn tools(&self) -> Result<Vec<ScriptTool>, CallFailure> {
        let Some(scripts) = &self.scripts else { return Ok(Vec::new()) };
        scripts.wait_for_sources(SOURCES)?;
        scripts.tools()
    }

    fn registered(&self, tool: ScriptTool) -> Option<Result<Arc<Registered>, ToolError>> {
        let name = tool.name.clone();
        let spec = ToolSpec {
            name: tool.name,
            description: tool.description,
            schema: tool.input_schema,
            effect: ToolEffect::Runs,
            risk: RiskLevel::High,
            needs_person: false,
            timeout: None,
        };
        let (scripts, init) = (Arc::clone(self.scripts.as_ref()?), Arc::clone(&self.init));
        let tool = Registered::new(Box::new(LuaTool { spec, scripts, init }));
        Some(match tool.check() {
            Ok(()) => Ok(Arc::new(tool)),
            Err(error) => Err(self.not_ready(&name, &format!("its schema: {}", error.message))),
        })
    }

    fn not_ready(&self, name: &str, why: &str) -> ToolError {
        let message = format!("{}: {why}", self.init.display());
        let kind = ErrorKind::NotReady { tool: name.to_owned(), message };
        ToolError::new(kind).hint("`jm tools` lists what is there now")
    }

    fn listed(&self, name: &str, tool: Result<Arc<Registered>, ToolError>) -> Listed {
        let origin = Origin::File { place: self.owner.word(), path: self.init.to_path_buf() };
        Listed { name: name.to_owned(), origin, tool }
    }

    /// A complaint about the script itself, in the list of tools.
    fn complaint(&self, why: &str) -> Listed {
        self.listed("init.lua", Err(self.not_ready("init.lua", why)))
    }
}

impl ToolSource for LuaTools {
    fn names(&self) -> Vec<String> {
        self.tools().unwrap_or_default().into_iter().map(|tool| tool.name).collect()
    }

    fn ready_names(&self) -> Vec<String> {
        self.names()
    }

    fn unasked_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn in_own_words(&self, _: &str, refusal: ToolError) -> ToolError {
        refusal
    }

    /// A script that cannot be loaded may have had any tool.
    fn find(&self, name: &str) -> Option<Result<Arc<Registered>, ToolError>> {
        match self.tools() {
            Ok(tools) => self.registered(tools.into_iter().find(|tool| tool.name == name)?),
            Err(failure) => Some(Err(self.not_ready(name, &failure.to_string()))),
        }
    }

    fn listing(&self) -> Vec<Listed> {
        let Some(scripts) = &self.scripts else {
            return vec![self.complaint("the project is not trusted; read it, then `jm trust`")];
        };
        let (failures, tools) = match (scripts.wait_for_sources(SOURCES), self.tools()) {
            (Ok(failures), Ok(tools)) => (failures, tools),
            (Err(failure), _) | (_, Err(failure)) => {
                return vec![self.complaint(&failure.to_string())];
            }
        };
        let failed = failures
            .iter()
            .map(|failed| self.complaint(&format!("source {}: {}", failed.source, failed.error)));
        let tools = tools.into_iter().filter(|tool| tool.enabled).filter_map(|tool| {
            let name = tool.name.clone();
            Some(self.listed(&name, self.registered(tool)?))
        });
        tools.chain(failed).collect()
    }

    fn forget(&self) -> Result<(), ToolError> {
        if let Some(scripts) = &self.scripts {
            scripts.restart();
        }
        Ok(())
    }
}

struct LuaTool {
    spec: ToolSpec,
    scripts: Arc<Scripts>,
    init: Arc<Path>,
}

impl ToolExecutor for LuaTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, args: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        if !args.is_object() {
            return Err(ToolError::bad_args("the arguments are no JSON object"));
        }
        Ok(Box::new(LuaCall {
            tool: self.spec.name.clone(),
            scripts: Arc::clone(&self.scripts),
            init: Arc::clone(&self.init),
            args,
        }))
    }
}

#[derive(Debug)]
struct LuaCall {
    tool: String,
    scripts: Arc<Scripts>,
    init: Arc<Path>,
    args: Value,
}

impl Prepared for LuaCall {
    fn intent(&self) -> Intent {
        let args = match jm_lua::preview::generic(&self.args, MOST_SUMMARY) {
            args if args.is_empty() => args,
            args => format!(" with {args}"),
        };
        Intent {
            summary: one_line(&format!("Run tool {}{args}", self.tool)),
            effect: ToolEffect::Runs,
            risk: RiskLevel::High,
            needs_person: false,
            paths: Vec::new(),
            stands_for: None,
            command: None,
        }
    }

    /// An approval is for the script as it is now.
    fn preview(&self, _: &Scope) -> Result<Option<Preview>, ToolError> {
        let init = &self.init;
        let digest: Option<Digest> = programs::digest_program(init, MOST_HASHED)
            .map_err(|error| ToolError::io(init.to_path_buf(), error))?;
        // A formatter that fails has the generic form, so this is only missing with the child.
        let line = self.scripts.preview(&self.tool, self.args.clone(), MOST_SUMMARY);
        let line = line.map(|line| format!("{}: {line}\n", self.tool)).unwrap_or_default();
        let text = format!("{line}runs {} of {}\n{:#}\n", self.tool, init.display(), self.args);
        Ok(Some(Preview { text, files: vec![(init.to_path_buf(), digest)], warnings: Vec::new() }))
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let timeout = ctx.deadline.saturating_duration_since(Instant::now());
            let context = ScriptContext {
                tool_id: ctx.tool_call_id.clone(),
                cwd: ctx.workspace.sandbox.working_root().path().display().to_string(),
                timeout: timeout.as_secs(),
                ..ScriptContext::default()
            };
            let cancel = ctx.cancel.clone();
            ctx.blocking(move || {
                let Self { tool, scripts, args, .. } = *self;
                let answer = scripts.execute(&tool, args, context, timeout, &cancel);
                judge(&tool, answer)
            })
            .await
        })
    }
}

fn judge(tool: &str, answer: Result<jm_lua::ToolAnswer, CallFailure>) -> Result<Output, ToolError> {
    let answer = answer.map_err(|failure| match failure {
        CallFailure::TimedOut(elapsed) => {
            ToolError::new(ErrorKind::Timeout { tool: tool.to_owned(), elapsed })
        }
        CallFailure::Cancelled => ToolError::cancelled(),
        CallFailure::Script(_)
        | CallFailure::Hung(_)
        | CallFailure::Died(_)
        | CallFailure::NotStarted(_) => ToolError::failed(tool, failure.to_string()),
    })?;
    let text = match answer.output {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    if answer.success {
        return Ok(Output::Text(text));
    }
    let reason = answer.error.unwrap_or_else(|| "it gave no reason".to_owned());
    let failed = ToolError::failed(tool, reason);
    Err(if text.is_empty() { failed } else { failed.with_output(text) })
}
