//! The messages between the program and the process that runs its Lua scripts.
//!
//! Law: every [`ToChild::Call`] is answered by one [`FromChild::Done`], every [`FromChild::Ask`] by one
//! [`ToChild::Answer`]. Both sides are of one build, so the messages have no versions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Numbers a call, or a question of the child; given once in the life of a child.
pub type MessageId = u64;

/// A message to the Lua process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToChild {
    /// The first message, and sent once.
    Start(Box<Start>),
    /// Runs a function of the script.
    Call {
        /// Names the call in its answer.
        id: MessageId,
        /// Milliseconds until the call is stopped.
        timeout_ms: u64,
        /// The function and its arguments.
        call: Call,
    },
    /// Stops a call that still runs.
    Cancel {
        /// The call to stop.
        id: MessageId,
    },
    /// The answer to a question of the script.
    Answer {
        /// The question's id.
        id: MessageId,
        /// A value, or an error that the script may catch.
        answer: Result<Value, String>,
    },
    /// Tells that a job has ended.
    JobEnded {
        /// The job's id.
        job: MessageId,
        /// Its exit code and output.
        end: ScriptJobEnd,
    },
}

/// Everything that a child is told before it runs the first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The script that runs first.
    pub init: ModuleSource,
    /// Bounds of memory and time.
    pub limits: ScriptLimits,
    /// Libraries that the person opened.
    pub allow: Vec<Library>,
    /// `tools.default_timeout`, unless the script sets another.
    pub default_timeout_seconds: u64,
    /// `tools.auto_approve`, unless the script sets another.
    pub default_auto_approve: Vec<String>,
}

/// A file of Lua: its name in messages, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSource {
    /// The name in error messages.
    pub name: String,
    /// The program text.
    pub text: String,
}

/// Bounds of memory and time for one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLimits {
    /// Bytes that the interpreter may allocate.
    pub memory_bytes: usize,
    /// For `init.lua`, and for each callback that no call waits for.
    pub start_ms: u64,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self { memory_bytes: 256 * 1024 * 1024, start_ms: 10_000 }
    }
}

/// A standard library that only a person's configuration opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// Files, past the sandbox.
    Io,
    /// Environment and programs, past the sandbox.
    Os,
}

/// A function of the script that the program calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// A tool's `execute`.
    Execute {
        /// The tool's name.
        tool: String,
        /// Arguments that fit its schema.
        input: Value,
        /// The facts of the call.
        context: ScriptContext,
    },
    /// A tool's `format_preview`.
    Preview {
        /// The tool's name.
        tool: String,
        /// Arguments that fit its schema.
        input: Value,
        /// Characters that the line may have.
        max_length: usize,
    },
    /// One resolver, or the whole chain where none is named.
    Resolve {
        /// The resolver's name; `None` for the chain.
        resolver: Option<String>,
        /// The tool that is asked about.
        tool: String,
        /// The arguments of its call.
        input: Value,
        /// The facts of the call.
        context: ScriptContext,
    },
    /// Lists the registered resolvers by priority.
    Resolvers,
    /// The presets of the script's `setup`, by their names with `$`.
    Presets,
    /// Evaluates a document's front matter; its options replace those of an earlier evaluation.
    Document {
        /// The name under which its options are kept.
        document: String,
        /// The Lua text of the front matter.
        chunk: ModuleSource,
        /// Names that the document may choose from.
        known_tools: Vec<String>,
        /// Names that are on where it does not choose.
        enabled_tools: Vec<String>,
    },
    /// The resolver of a document's front matter.
    ResolveDocument {
        /// The name under which its options are kept.
        document: String,
        /// The tool that is asked about.
        tool: String,
        /// The arguments of its call.
        input: Value,
        /// The facts of the call.
        context: ScriptContext,
    },
    /// Answered when every source of tools has ended.
    Ready,
}

/// The facts of one tool call that a script is told (FL-CTX).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptContext {
    /// The vendor's id of the call.
    pub tool_id: String,
    /// 0 without an editor.
    #[serde(default)]
    pub bufnr: u64,
    /// The workspace root.
    pub cwd: String,
    /// Seconds.
    pub timeout: u64,
    /// The directory of the `.chat` document, and its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirname: Option<String>,
    /// The path of the document; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

/// A message from the Lua process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromChild {
    /// `init.lua` ran to its end; sources may still be at work.
    Started,
    /// The script failed before its end; the process is of no use.
    StartFailed {
        /// The error with its place in the script.
        message: String,
    },
    /// Registered or replaced.
    Tool(Box<ScriptTool>),
    /// A source of tools is at work.
    SourceBegan {
        /// The source's name.
        name: String,
    },
    /// A source of tools has told all it has.
    SourceEnded {
        /// The source's name.
        name: String,
        /// The script's error, if it ended with one.
        error: Option<String>,
    },
    /// The end of a call.
    Done {
        /// The id of the call.
        id: MessageId,
        /// The function's value, or the reason why there is none.
        outcome: Result<Value, Failure>,
    },
    /// A question to the program.
    Ask {
        /// Names the question in its answer.
        id: MessageId,
        /// The question.
        ask: Ask,
    },
    /// Starts a program for the script.
    StartJob {
        /// Names the job in later messages.
        job: MessageId,
        /// The call that it was started for, and ends with.
        call: Option<MessageId>,
        /// The program and its surroundings.
        order: JobOrder,
    },
    /// Ends a job early.
    StopJob {
        /// The job's id.
        job: MessageId,
    },
    /// A line for the log.
    Log {
        /// Its weight.
        level: LogLevel,
        /// The script's own words.
        text: String,
    },
}

/// The reason why a call has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The script raised an error.
    Error(String),
    /// The time of the call was up.
    TimedOut,
    /// The program stopped the call.
    Cancelled,
}

/// A question that only the program can answer. The script stands still meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// The module that `require` looks for, by its name with dots.
    Module(String),
    /// A path that the script wants to write.
    IsPathWritable(String),
    /// The words of a command that shall run confined.
    WrapCommand(Vec<String>),
    /// A path in the workspace.
    ReadFile(String),
    /// A file of the workspace that is replaced.
    WriteFile {
        /// A path in the workspace.
        path: String,
        /// The whole new content.
        text: String,
    },
}

/// A program that `vim.fn.jobstart` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOrder {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// The directory; `None` for the workspace root.
    pub cwd: Option<String>,
    /// Variables on top of the inherited ones.
    pub env: Vec<(String, String)>,
}

/// The end of a job, or the reason why it never began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptJobEnd {
    /// The exit code; negative where it never began.
    pub code: i32,
    /// Everything it printed, within the limit.
    pub stdout: String,
    /// Everything it printed as errors, within the limit.
    pub stderr: String,
}

/// The weight of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the script.
    Debug,
    /// For whoever wonders.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

/// A tool as a script defines it (FL-REG, FL-STRICT).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptTool {
    /// The name that the model calls.
    pub name: String,
    /// The text for the model.
    pub description: String,
    /// A JSON schema.
    pub input_schema: Value,
    /// Asks vendors to hold the model to the schema.
    #[serde(default)]
    pub strict: bool,
    /// `false` for tools that a document must choose by name.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// False for a tool whose results come from outside.
    #[serde(default)]
    pub has_execute: bool,
    /// True if a function makes its one-line preview.
    #[serde(default)]
    pub has_preview: bool,
}

fn yes() -> bool {
    true
}

/// A tool's own result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// False for a failure that the tool itself reports.
    pub success: bool,
    /// Any JSON value; text goes to the model as it is.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output: Value,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A resolver's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptVerdict {
    /// The call runs.
    Approve,
    /// A person is asked.
    RequireApproval,
    /// The call is refused.
    Deny,
}

/// A resolver's answer, with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// The verdict.
    pub verdict: ScriptVerdict,
    /// The resolver's name.
    pub by: String,
}

/// A resolver as the script registered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolverEntry {
    /// The name by which it is asked.
    pub name: String,
    /// A higher one is asked earlier.
    pub priority: i64,
    /// One line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// It stands for the script's `tools.auto_approve`.
    #[serde(default)]
    pub is_setting: bool,
}

/// The options that a document's front matter set (FL-BUFFER, FL-PARAM).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DocumentOptions {
    /// `None` where the document does not choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// True if the document has a resolver of its own, to be asked by its name.
    #[serde(default)]
    pub has_resolver: bool,
    /// The resolver is a list, which takes the place of the default one.
    #[serde(default, skip_serializing)]
    pub has_list: bool,
    /// Parameters for every provider.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// By provider; these win over the general ones.
    #[serde(default)]
    pub providers: Map<String, Value>,
}
