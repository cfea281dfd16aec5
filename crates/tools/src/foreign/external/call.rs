//! One external tool, and one call of it: arguments in, one JSON object out (IK-PROTO).
//!
//! Law: what it does is unknown, so it counts as a command: asked about, journaled as started, the
//! workspace looked at around it. A program whose bytes were trusted runs with no others.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use jm_process::command::{CommandEnding, CommandInput, CommandProgram, FinishedCommand};
use jm_process::confine::{Access, ConfinementRules};
use jm_process::output_reader::{ChunkAnswer, CommandStream, OutputListener};
use jm_system::programs;
use jm_types::text::truncate::head_and_tail;
use jm_types::{Digest, ErrorKind as Failure, Limits, RiskLevel, ToolEffect, ToolError};
use serde_json::Value;

use super::discover::{Candidate, ToolPlace};
use super::envelope::{self, Code};
use super::probe::DeclaredSchema;
use crate::context::{CallContext, Scope};
use crate::events::Events;
use crate::holder::NotKept;
use crate::ops::command_output::{Manner, share_output};
use crate::ops::refused::with_refusals;
use crate::ops::run::{Ground, Invocation, Invoked};
use crate::tool::{Intent, Output, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec};

/// A program with more bytes than this is not read to see whether it is still the same.
pub(super) const MOST_HASHED: u64 = 64 * 1024 * 1024;

/// More than a summary ever shows, and little enough to look through.
const MOST_SUMMARY: usize = 4 * 1024;

/// The effect of a tool as a person declares it; the tool itself is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    /// Asked about like everything that changes something.
    Nothing,
    ReadOnly,
}

#[derive(Debug)]
pub(super) struct ExternalTool {
    spec: ToolSpec,
    schema: Value,
    program: TrustedProgram,
    declared: Declared,
}

/// A program that may be started, with the bytes that it must have for that.
#[derive(Debug, Clone)]
pub(super) struct TrustedProgram {
    place: ToolPlace,
    path: PathBuf,
    bytes: Option<Digest>,
}

impl TrustedProgram {
    pub(super) fn of(candidate: &Candidate) -> Self {
        let Candidate { place, path, bytes, .. } = candidate.clone();
        Self { place, path, bytes }
    }

    /// Trust was given to bytes; others must not run in their place.
    pub(super) fn check_bytes(&self, tool: &str) -> Result<(), ToolError> {
        let Some(trusted) = self.bytes else { return Ok(()) };
        let digest = programs::digest_program(&self.path, u64::MAX - 1);
        match digest.map_err(|error| self.missing(tool, &error))? {
            Some(digest) if digest == trusted => Ok(()),
            Some(_) | None => {
                let why = format!("{} changed since it was trusted", self.path.display());
                Err(envelope::not_ready(tool, &why, "read it, then `jm trust`"))
            }
        }
    }

    fn missing(&self, tool: &str, error: &std::io::Error) -> ToolError {
        let why = format!("{}: {error}", self.path.display());
        envelope::not_ready(tool, &why, "list the tools with `jm tools`")
    }
}

impl ExternalTool {
    pub(super) fn new(
        name: &str,
        candidate: &Candidate,
        schema: DeclaredSchema,
        declared: Declared,
    ) -> Self {
        let spec = ToolSpec {
            name: name.to_owned(),
            description: schema.description,
            effect: ToolEffect::Runs,
            risk: RiskLevel::High,
            needs_person: false,
            timeout: None,
        };
        Self { spec, schema: schema.parameters, program: TrustedProgram::of(candidate), declared }
    }
}

impl ToolExecutor for ExternalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn prepare(&self, args: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        if !args.is_object() {
            return Err(
                self.in_own_words(ToolError::bad_args("the arguments are not a JSON object"))
            );
        }
        Ok(Box::new(ExternalCall {
            tool: self.spec.name.clone(),
            program: self.program.clone(),
            declared: self.declared,
            args,
        }))
    }

    fn is_brought_by_project(&self) -> bool {
        self.program.place == ToolPlace::Project
    }

    fn speaks_for_itself(&self) -> bool {
        true
    }

    fn in_own_words(&self, refusal: ToolError) -> ToolError {
        in_envelope(refusal, Code::InvalidParams)
    }
}

/// A refusal in the wrapper that external tools answer in.
pub(super) fn in_envelope(refusal: ToolError, code: Code) -> ToolError {
    let hints = refusal.hints.iter().map(|hint| format!("; {hint}"));
    let error = format!("{refusal}{}", hints.collect::<String>());
    refusal.in_words(envelope::refusal(&error, code))
}

#[derive(Debug)]
struct ExternalCall {
    tool: String,
    program: TrustedProgram,
    declared: Declared,
    args: Value,
}

impl Prepared for ExternalCall {
    fn intent(&self) -> Intent {
        Intent {
            summary: format!("Run tool {} with {}", self.tool, self.brief_args()),
            effect: match self.declared {
                Declared::Nothing => ToolEffect::Runs,
                Declared::ReadOnly => ToolEffect::Reads,
            },
            risk: RiskLevel::High,
            needs_person: false,
            paths: Vec::new(),
            stands_for: None,
            command: None,
            publishes: Vec::new(),
            pinned: None,
        }
    }

    fn is_command(&self) -> bool {
        true
    }

    /// An approval is for the program as it is now.
    fn preview(&self, _: &Scope) -> Result<Option<Preview>, ToolError> {
        let TrustedProgram { place, path, .. } = &self.program;
        let digest = match programs::digest_program(path, MOST_HASHED) {
            // It may still be run, as programs that only root can read are.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
            digest => digest.map_err(|error| self.program.missing(&self.tool, &error))?,
        };
        let text = format!("runs {} ({})\n{:#}\n", path.display(), place.word(), self.args);
        Ok(Some(Preview { text, files: vec![(path.clone(), digest)], ..Preview::default() }))
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let (scope, progress) = (ctx.clone(), Progress(Events::of(ctx)));
            let variables = variables(ctx);
            ctx.blocking(move || self.run(&scope, variables, progress)).await
        })
    }
}

/// The variables that a tool is given besides its arguments. The key is never given twice, also not after
/// a crash,
/// so a tool that must not act twice can remember it.
fn variables(ctx: &CallContext) -> Vec<(OsString, OsString)> {
    let variables = [
        ("JM_CALL_ID", ctx.tool_call_id.as_str()),
        ("JM_IDEMPOTENCY_KEY", ctx.call_key.as_str()),
        ("IKIGAI_AGENT_ID", ctx.session_id.as_str()),
        // Trust is in the files of a directory, so a tool must not leave others there.
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    // An id comes from the model and may hold what no variable can.
    let can_be_passed = |(_, value): &(&str, &str)| !value.contains('\0');
    variables.into_iter().filter(can_be_passed).map(|(k, v)| (k.into(), v.into())).collect()
}

impl ExternalCall {
    /// Both ends of the arguments; the preview has them whole.
    fn brief_args(&self) -> String {
        let text = self.args.to_string();
        let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
        head_and_tail(head, tail, 0, MOST_SUMMARY)
    }

    fn run(
        &self,
        scope: &Scope,
        variables: Vec<(OsString, OsString)>,
        mut progress: Progress,
    ) -> Result<Output, ToolError> {
        self.program.check_bytes(&self.tool)?;
        let invocation = Invocation {
            directory: None,
            program: CommandProgram::Argv(vec![self.program.path.clone().into()]),
            input: CommandInput::Bytes(self.args.to_string().into_bytes()),
            variables,
            timeout: scope.deadline.saturating_duration_since(Instant::now()),
            keep_bytes: scope.output_limit,
            record: Some(scope.call_key.to_string()).filter(|key| !key.is_empty()),
            access: Access::Full,
        };
        let ran = invocation.run(Ground::of(scope), &scope.cancel, &mut progress);
        let Invoked { finished, rules, not_kept } = ran.map_err(|error| self.not_started(error))?;
        let whole = progress.0.whole_output();
        let printed = ToolPrinted {
            finished: &finished,
            rules: rules.as_ref(),
            limit: scope.output_limit,
            whole: whole.as_deref(),
        };
        let answer = match (self.judge(&printed), not_kept) {
            (Ok(_), Some(not_kept)) => Err(self.not_kept(not_kept, &printed)),
            (answer, _) => answer,
        };
        if answer.is_ok() || printed.is_short() {
            progress.0.is_shown_whole();
        }
        answer
    }

    fn judge(&self, printed: &ToolPrinted<'_>) -> Result<Output, ToolError> {
        let (tool, finished) = (&self.tool, printed.finished);
        let code = match finished.ending {
            CommandEnding::SUCCESS => return self.wrap(printed),
            CommandEnding::Exited(exit) => exit.code(),
            CommandEnding::TimedOut => {
                let seconds = finished.elapsed.as_secs_f64();
                let error = format!("Tool '{tool}' timed out after {seconds:.1} s");
                let kind = Failure::Timeout { tool: tool.clone(), elapsed: finished.elapsed };
                let words = printed.failure(&error, Code::ToolTimeout, None);
                return Err(ToolError::new(kind).in_words(words));
            }
            CommandEnding::Stopped | CommandEnding::Orphaned => {
                let (stdout, stderr) = share_output(
                    &finished.stdout,
                    &finished.stderr,
                    printed.limit,
                    printed.manner(),
                );
                return Err(ToolError::cancelled().with_output(stdout + &stderr));
            }
        };
        let error = format!("Tool '{tool}' crashed with exit code {code}");
        let words = printed.failure(&error, Code::ToolCrashed, Some(code));
        Err(ToolError::failed(tool, error).in_words(words))
    }

    /// Half an object would be read as a whole one, so what does not fit is an error.
    fn wrap(&self, printed: &ToolPrinted<'_>) -> Result<Output, ToolError> {
        let wrapped = match printed.finished.stdout.whole() {
            Some(printed) => envelope::success(&printed),
            None => Err(printed.too_much()),
        };
        let fault = match wrapped {
            Ok(content) if content.len() <= printed.limit => {
                return Ok(Output::Whole(content));
            }
            Ok(_) => printed.too_much(),
            Err(fault) => fault,
        };
        let error = format!("Tool '{}' returned {fault}", self.tool);
        let words = printed.failure(&error, Code::InvalidOutput, Some(0));
        Err(ToolError::failed(&self.tool, error).in_words(words))
    }

    fn not_kept(&self, not_kept: NotKept, printed: &ToolPrinted<'_>) -> ToolError {
        let how = format!("Tool '{}' ended", self.tool);
        let failed = not_kept.failure(how, String::new());
        let words = printed.failure(&failed.to_string(), Code::ToolCrashed, Some(0));
        ToolError { output: None, ..failed }.in_words(words)
    }

    fn not_started(&self, error: ToolError) -> ToolError {
        let text = format!("Tool '{}': {error}", self.tool);
        error.in_words(envelope::refusal(&text, Code::ToolCrashed))
    }
}

/// The output of a tool, and the bytes that an answer can hold of it.
struct ToolPrinted<'a> {
    finished: &'a FinishedCommand,
    rules: Option<&'a ConfinementRules>,
    limit: usize,
    /// The command that shows all of it, if it is kept.
    whole: Option<&'a str>,
}

impl ToolPrinted<'_> {
    fn manner(&self) -> Manner<'_> {
        Manner { whole: self.whole, ..Manner::PLAIN }
    }

    /// The envelope has one place for words of ours, so that is where confinement is spoken of.
    fn failure(&self, error: &str, code: Code, exit: Option<i32>) -> String {
        let streams = (&self.finished.stdout, &self.finished.stderr);
        let error = with_refusals(error, self.finished, self.rules);
        envelope::failure(&error, code, exit, streams, (self.limit, self.manner()))
    }

    fn too_much(&self) -> String {
        let (total, limit) = (self.finished.stdout.total(), self.limit);
        let whole = self.whole.map(|whole| format!(". Full output: {whole}")).unwrap_or_default();
        format!("{total} bytes; at most {limit} fit into an answer, so ask it for less{whole}")
    }

    /// So short that a failure shows all of it, whatever JSON makes of it.
    fn is_short(&self) -> bool {
        let total = self.finished.stdout.total() + self.finished.stderr.total();
        total * 8 < self.limit as u64
    }
}

/// Errors are shown as they come. Standard output is for the model and means nothing until it is
/// whole.
struct Progress(Events);

impl OutputListener for Progress {
    fn started(&mut self, pid: u32) {
        self.0.started(pid);
    }

    fn keep(&mut self, stream: CommandStream, bytes: &[u8]) {
        self.0.keep(stream, bytes);
    }

    fn hear(&mut self, stream: CommandStream, chunk: &str) -> ChunkAnswer {
        match stream {
            CommandStream::Stdout => ChunkAnswer::Gone,
            CommandStream::Stderr => self.0.hear(stream, chunk),
        }
    }

    fn hear_last(&mut self, stream: CommandStream, chunk: &str) {
        if stream == CommandStream::Stderr {
            self.0.hear_last(stream, chunk);
        }
    }
}
