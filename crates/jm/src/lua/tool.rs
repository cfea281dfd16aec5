//! Tools that a script brings, as a source like any other (FL-REG, FL-ASYNC).
//!
//! Law: what a script does is unknown, so its tools count as commands: asked about, journaled as started,
//! the workspace looked at around them. What it starts ends with the call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use jm_lua::{CallFailure, ScriptContext, ScriptTool, Scripts, SourceFailure};
use jm_policy::ResolverSource;
use jm_system::programs;
use jm_tools::{
    CallContext, Intent, Listed, Origin, Output, Prepared, Preview, Registered, Scope, ToolEffect,
    ToolExecutor, ToolFut, ToolSource, ToolSpec,
};
use jm_types::text::one_line::{SUMMARY_CHARACTERS, folded};
use jm_types::{Digest, ErrorKind, Limits, RiskLevel, ToolError};
use serde_json::{Map, Value};

use super::approval::LuaResolvers;
use super::{Owner, SCRIPT_NAME, Script, ScriptGround};
use crate::faces::print;

/// A script with more bytes is not one.
const MOST_HASHED: u64 = 4 * 1024 * 1024;
/// Every source has a time of its own, which is less.
const SOURCES: Duration = Duration::from_secs(600);
/// Shown while sources of tools are at work.
const WAITING: &str = "Waiting for tool definitions to load...";

#[derive(Debug)]
pub(crate) struct LuaTools {
    init: Arc<Path>,
    owner: Owner,
    /// The facts that every call has in common.
    context: ScriptContext,
    /// `None` for the script of a project that is not trusted.
    scripts: Option<Arc<Scripts>>,
}

impl LuaTools {
    pub(super) fn new(scripts: Scripts, script: &Script, ground: ScriptGround<'_>) -> Self {
        let text = |path: &Path| path.display().to_string();
        let context = ScriptContext {
            cwd: text(ground.workspace.sandbox.working_root().path()),
            timeout: ground.config.tools.timeouts.default_seconds,
            dirname: ground.document.and_then(Path::parent).map(text),
            filename: ground.document.map(text),
            ..ScriptContext::default()
        };
        let (init, owner) = (script.init.as_path().into(), script.owner);
        Self { init, owner, context, scripts: Some(Arc::new(scripts)) }
    }

    pub(super) fn untrusted(init: PathBuf) -> Self {
        let (owner, context) = (Owner::Project, ScriptContext::default());
        Self { init: init.into(), owner, context, scripts: None }
    }

    /// The presets that it defines; none where it does not run.
    pub(crate) fn presets(&self) -> Map<String, Value> {
        let own = self.scripts.as_ref().filter(|_| self.owner == Owner::User);
        own.and_then(|scripts| scripts.presets().ok()).unwrap_or_default()
    }

    /// Its resolvers; `None` for a script that does not run.
    pub(crate) fn resolvers(&self) -> Option<Arc<dyn ResolverSource>> {
        let (scripts, owner) = (Arc::clone(self.scripts.as_ref()?), self.owner);
        let init = self.init.display().to_string();
        Some(Arc::new(LuaResolvers { scripts, owner, init }))
    }

    /// The tools, once all sources have ended, and the sources that failed.
    fn tools(&self) -> Result<(Vec<ScriptTool>, Vec<SourceFailure>), CallFailure> {
        let Some(scripts) = &self.scripts else { return Ok(Default::default()) };
        if scripts.has_open_sources()? {
            print::note(WAITING);
        }
        let failed = scripts.wait_for_sources(SOURCES)?;
        Ok((scripts.tools()?, failed))
    }

    fn registered(&self, tool: ScriptTool) -> Option<Result<Arc<Registered>, ToolError>> {
        let name = tool.name.clone();
        let spec = ToolSpec {
            name: tool.name,
            description: tool.description,
            effect: ToolEffect::Runs,
            risk: RiskLevel::High,
            needs_person: false,
            timeout: None,
        };
        let (scripts, init) = (Arc::clone(self.scripts.as_ref()?), Arc::clone(&self.init));
        let (owner, strict, context) = (self.owner, tool.strict, self.context.clone());
        let schema = tool.input_schema;
        let tool = LuaTool { spec, schema, scripts, init, owner, strict, context };
        let tool = Registered::new(Box::new(tool));
        Some(match tool.check() {
            Ok(()) => Ok(Arc::new(tool)),
            Err(error) => Err(self.not_ready(&name, &format!("its schema: {}", error.message))),
        })
    }

    fn not_ready(&self, name: &str, why: &str) -> ToolError {
        let kind = ErrorKind::NotReady { tool: name.to_owned(), message: self.located(why) };
        ToolError::new(kind).hint("list the tools with `jm tools`")
    }

    /// An error with the script's path, which takes the place of the short name in Lua's own position.
    fn located(&self, why: &str) -> String {
        let path = self.init.display();
        match why.strip_prefix(SCRIPT_NAME).filter(|rest| rest.starts_with(':')) {
            Some(position) => format!("{path}{position}"),
            None => format!("{path}: {why}"),
        }
    }

    fn listed(&self, name: &str, tool: Result<Arc<Registered>, ToolError>) -> Listed {
        let origin = Origin::File { place: self.owner.word(), path: self.init.to_path_buf() };
        Listed { name: name.to_owned(), origin, tool }
    }

    /// A complaint about the script itself, in the list of tools.
    fn complaint(&self, why: &str) -> Listed {
        let kind = ErrorKind::SourceNotReady { message: self.located(why) };
        self.listed(SCRIPT_NAME, Err(ToolError::new(kind)))
    }
}

impl ToolSource for LuaTools {
    fn names(&self) -> Vec<String> {
        let (tools, _) = self.tools().unwrap_or_default();
        tools.into_iter().map(|tool| tool.name).collect()
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
            Ok((tools, _)) => self.registered(tools.into_iter().find(|tool| tool.name == name)?),
            Err(failure) => Some(Err(self.not_ready(name, &failure.to_string()))),
        }
    }

    fn listing(&self) -> Vec<Listed> {
        if self.scripts.is_none() {
            return vec![self.complaint("the project is not trusted; read it, then `jm trust`")];
        }
        let (tools, failures) = match self.tools() {
            Ok(found) => found,
            Err(failure) => return vec![self.complaint(&failure.to_string())],
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
    schema: Value,
    scripts: Arc<Scripts>,
    init: Arc<Path>,
    owner: Owner,
    strict: bool,
    context: ScriptContext,
}

impl ToolExecutor for LuaTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, args: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        if !args.is_object() {
            return Err(ToolError::bad_args("the arguments are not a JSON object"));
        }
        Ok(Box::new(LuaCall {
            tool: self.spec.name.clone(),
            scripts: Arc::clone(&self.scripts),
            init: Arc::clone(&self.init),
            context: self.context.clone(),
            args,
            line: OnceLock::new(),
        }))
    }

    fn is_brought_by_project(&self) -> bool {
        self.owner == Owner::Project
    }

    /// Its author shapes the schema.
    fn strict(&self) -> Option<bool> {
        Some(self.strict)
    }
}

#[derive(Debug)]
struct LuaCall {
    tool: String,
    scripts: Arc<Scripts>,
    init: Arc<Path>,
    context: ScriptContext,
    args: Value,
    /// Its one-line preview, made once.
    line: OnceLock<String>,
}

impl LuaCall {
    /// The call in one line, in the words of its `format_preview` (FL-PREVIEW). A formatter that fails has
    /// the generic form.
    fn line(&self) -> &str {
        self.line.get_or_init(|| {
            let width = SUMMARY_CHARACTERS.saturating_sub(self.tool.chars().count() + 2);
            let line = self.scripts.preview(&self.tool, self.args.clone(), width);
            let line = line.unwrap_or_else(|_| jm_lua::preview::generic(&self.args, width));
            // A formatter has folded line ends; the summary folds them again.
            format!("{}: {}", self.tool, line.replace('⤶', "\n")).trim_end().to_owned()
        })
    }
}

impl Prepared for LuaCall {
    fn intent(&self) -> Intent {
        Intent {
            summary: self.line().to_owned(),
            effect: ToolEffect::Runs,
            risk: RiskLevel::High,
            needs_person: false,
            paths: Vec::new(),
            stands_for: None,
            command: None,
            publishes: Vec::new(),
            pinned: None,
        }
    }

    /// An approval is for the script as it is now.
    fn preview(&self, _: &Scope) -> Result<Option<Preview>, ToolError> {
        let init = &self.init;
        let digest: Option<Digest> = programs::digest_program(init, MOST_HASHED)
            .map_err(|error| ToolError::io(init.to_path_buf(), error))?;
        let (line, tool) = (folded(self.line()), &self.tool);
        let text = format!("{line}\nruns {tool} of {}\n{:#}\n", init.display(), self.args);
        Ok(Some(Preview { text, files: vec![(init.to_path_buf(), digest)], ..Preview::default() }))
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let timeout = ctx.deadline.saturating_duration_since(Instant::now());
            let context =
                ScriptContext { tool_id: ctx.tool_call_id.clone(), ..self.context.clone() };
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
