//! The contract of a tool: it parses its arguments once, says what it intends, shows it, does it.
//!
//! Law: `prepare` is the only parser (FR-REG-02). What a person is shown and what is executed come
//! from the same parsed value.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use jm_files::{Found, SafePath, Sandbox};
use jm_shell::CommandLine;
use jm_types::Digest;
use jm_types::{Limits, RiskLevel, ToolEffect, ToolError};
use serde_json::Value;

use crate::context::{CallContext, Scope};
use crate::foresight::Foreseen;

/// The facts of a tool that are known before any call.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The name that the model calls.
    pub name: String,
    /// The text for the model.
    pub description: String,
    /// The most that any call does to the world.
    pub effect: ToolEffect,
    /// The highest risk of any call.
    pub risk: RiskLevel,
    /// The tool's own floor: a person decides on every call, whatever the mode.
    pub needs_person: bool,
    /// The longest that a call may take; `None` for the default.
    pub timeout: Option<Duration>,
}

/// The use that a call makes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A file's content.
    Read,
    /// Names in a directory.
    List,
    /// A change of the file.
    Write,
    /// A directory that the call works in, which must exist; the name is that of its argument.
    WorkIn(&'static str),
}

/// A path that a call names, and its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// As the call spells it.
    pub path: String,
    /// The use that the call makes of it.
    pub purpose: Use,
}

/// The intent of one call; pure.
#[derive(Debug, Clone)]
pub struct Intent {
    /// One line for the person, uncut.
    pub summary: String,
    /// The effect of this very call.
    pub effect: ToolEffect,
    /// The risk of this very call.
    pub risk: RiskLevel,
    /// A person decides, whatever the mode.
    pub needs_person: bool,
    /// Every path that the call names.
    pub paths: Vec<PathUse>,
    /// The tool whose rules govern this call, where it does what another tool is for: a command that
    /// is no test runner, given to `run_tests`, is `run_command`.
    pub stands_for: Option<&'static str>,
    /// The command that would run, parsed; `None` where the call names none.
    pub command: Option<CommandLine>,
    /// Ports that programs of this machine would reach.
    pub publishes: Vec<u16>,
    /// The tool's name with a hash of all that defines it: a remembered approval of this name holds only for
    /// the very tool that it was given for.
    pub pinned: Option<String>,
}

/// The view for a person who decides, and the state of the files it was computed from.
#[derive(Debug, Clone, Default)]
pub struct Preview {
    /// The diff or the command, masked.
    pub text: String,
    /// Each file with its hash; `None` for one that does not exist.
    pub files: Vec<(PathBuf, Option<Digest>)>,
    /// Warnings that a person must not overlook.
    pub warnings: Vec<String>,
    /// The text with nothing masked, where something is.
    pub unmasked: Option<String>,
}

/// A command as a question names it, credentials masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCommand {
    /// The command line.
    pub command: String,
    /// Relative to the workspace.
    pub directory: String,
}

/// The product of a call; the toolset's envelope makes the answer of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// May be cut at its end.
    Text(String),
    /// The tool kept to the limit itself, and cutting would break what it says.
    Whole(String),
    /// Kept to the limit like the above.
    Json(Value),
}

/// The future of an execution.
pub type ToolFut<'a> = Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send + 'a>>;

/// A tool (FR-REG-01). Object-safe, so that tools can be born at run time.
pub trait ToolExecutor: Send + Sync {
    /// The facts that are known before any call.
    fn spec(&self) -> &ToolSpec;

    /// Parses the arguments; no I/O (FR-REG-01a).
    fn prepare(&self, args: Value, limits: &Limits) -> Result<Box<dyn Prepared>, ToolError>;

    /// The name that the model calls.
    fn name(&self) -> &str {
        &self.spec().name
    }

    /// The text for the model.
    fn description(&self) -> &str {
        &self.spec().description
    }

    /// The JSON schema of the arguments; asked for only where it is needed.
    fn schema(&self) -> &Value;

    /// True if some call may change something.
    fn is_side_effecting(&self) -> bool {
        self.spec().effect.is_side_effecting()
    }

    /// True if a person decides on every call.
    fn requires_approval(&self) -> bool {
        self.spec().needs_person
    }

    /// The highest risk of any call.
    fn risk_level(&self) -> RiskLevel {
        self.spec().risk
    }

    /// The longest that a call may take; `None` for the default.
    fn timeout(&self) -> Option<Duration> {
        self.spec().timeout
    }

    /// A project brought it, and not the person or this program.
    fn is_brought_by_project(&self) -> bool {
        false
    }

    /// How its schema goes to a provider that has strict schemas (FL-STRICT): `None` where this program
    /// may shape it, else as it is, strict or not.
    fn strict(&self) -> Option<bool> {
        None
    }

    /// Tells if a call may change the workspace by other means than ours, so that it is looked at around the
    /// call.
    fn may_write_workspace(&self) -> bool {
        self.spec().effect == ToolEffect::Runs
    }

    /// Its results are in an envelope of their own, whatever the toolset.
    fn speaks_for_itself(&self) -> bool {
        false
    }

    /// Puts a refusal of arguments into the tool's own envelope.
    fn in_own_words(&self, refusal: ToolError) -> ToolError {
        refusal
    }

    /// Redacted and on one line (FR-APR-01).
    fn approval_summary(&self, args: Value, limits: &Limits) -> Result<String, ToolError> {
        self.prepare(args, limits).map(|prepared| prepared.intent().summary)
    }
}

/// One call, parsed.
pub trait Prepared: Send + std::fmt::Debug {
    /// The facts of the call; pure.
    fn intent(&self) -> Intent;

    /// Reads, never writes.
    fn preview(&self, scope: &Scope) -> Result<Option<Preview>, ToolError>;

    /// The command that would run and its directory; `None` where the call runs none, or names none.
    fn shown_command(&self, _scope: &Scope) -> Option<ShownCommand> {
        None
    }

    /// Tells if the preview follows from the call and the contents of the preview's files alone, so that it
    /// is the same as long as they are.
    fn previews_its_files(&self) -> bool {
        false
    }

    /// Tells if all that the call may change is done by commands that it starts by its context and waits for, so
    /// that they can run on layers.
    fn is_command(&self) -> bool {
        false
    }

    /// The gaps in the confinement of the program that carries the call out, where that runs already; `None` for a call
    /// that starts its programs itself, by its context.
    fn standing_gaps(&self) -> Option<Vec<String>> {
        None
    }

    /// Computes what the call would leave behind; `scope.seen` has what it would show of files. Reads,
    /// never writes.
    fn foresee(&self, _scope: &Scope) -> Foreseen {
        match self.intent().effect {
            ToolEffect::Reads | ToolEffect::Inspects => Foreseen::NOTHING,
            ToolEffect::Changes | ToolEffect::Runs => Foreseen::Unknown,
        }
    }

    /// Does it, within the context's deadline.
    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a>;
}

impl PathUse {
    /// A path with its use.
    pub fn new(path: impl Into<String>, purpose: Use) -> Self {
        Self { path: path.into(), purpose }
    }

    /// Resolves the path, and refuses one that cannot be used so.
    pub fn resolve(&self, sandbox: &Sandbox) -> Result<SafePath, ToolError> {
        let path = sandbox.resolve(&self.path)?;
        match (self.purpose, path.found()) {
            (Use::Read | Use::List | Use::Write, _) | (Use::WorkIn(_), Found::Directory) => {
                Ok(path)
            }
            (Use::WorkIn(argument), Found::Missing { .. }) => {
                Err(ToolError::bad_args(format!("{argument}: {} does not exist", path.asked())))
            }
            (Use::WorkIn(argument), Found::File | Found::Special(_)) => {
                Err(ToolError::bad_args(format!("{argument}: {} is not a directory", path.asked())))
            }
        }
    }
}
