//! The messages between the program and the process that runs its Lua scripts.
//!
//! Law: every [`ToChild::Call`] is answered by one [`FromChild::Done`], every [`FromChild::Ask`] by one
//! [`ToChild::Answer`]. Both sides are of one build, so the messages have no versions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Numbers a call, or a question of the child; given once in the life of a child.
pub type MessageId = u64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToChild {
    /// The first message, and sent once.
    Start(Box<Start>),
    Call {
        id: MessageId,
        timeout_ms: u64,
        call: Call,
    },
    Cancel {
        id: MessageId,
    },
    Answer {
        id: MessageId,
        answer: Result<Value, String>,
    },
    JobEnded {
        job: MessageId,
        end: ScriptJobEnd,
    },
}

/// Everything that a child is told before it runs the first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    pub init: ModuleSource,
    pub limits: ScriptLimits,
    pub allow: Vec<Library>,
    /// `tools.default_timeout`, unless the script sets another.
    pub default_timeout_seconds: u64,
    /// `tools.auto_approve`, unless the script sets another.
    pub default_auto_approve: Vec<String>,
}

/// A file of Lua: its name in messages, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSource {
    pub name: String,
    pub text: String,
}

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
    Io,
    Os,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    Execute {
        tool: String,
        input: Value,
        context: ScriptContext,
    },
    Preview {
        tool: String,
        input: Value,
        max_length: usize,
    },
    /// One resolver, or the whole chain where none is named.
    Resolve {
        resolver: Option<String>,
        tool: String,
        input: Value,
        context: ScriptContext,
    },
    Resolvers,
    /// The presets of the script's `setup`, by their names with `$`.
    Presets,
    /// Evaluates a document's front matter; its options replace those of an earlier evaluation.
    Document {
        document: String,
        chunk: ModuleSource,
        known_tools: Vec<String>,
        enabled_tools: Vec<String>,
    },
    ResolveDocument {
        document: String,
        tool: String,
        input: Value,
        context: ScriptContext,
    },
    /// Answered when every source of tools has ended.
    Ready,
}

/// The facts of one tool call that a script is told (FL-CTX).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptContext {
    pub tool_id: String,
    /// 0 without an editor.
    #[serde(default)]
    pub bufnr: u64,
    pub cwd: String,
    pub timeout: u64,
    /// The directory of the `.chat` document, and its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FromChild {
    /// `init.lua` ran to its end; sources may still be at work.
    Started,
    StartFailed {
        message: String,
    },
    /// Registered or replaced.
    Tool(Box<ScriptTool>),
    SourceBegan {
        name: String,
    },
    SourceEnded {
        name: String,
        error: Option<String>,
    },
    Done {
        id: MessageId,
        outcome: Result<Value, Failure>,
    },
    Ask {
        id: MessageId,
        ask: Ask,
    },
    StartJob {
        job: MessageId,
        /// The call that it was started for, and ends with.
        call: Option<MessageId>,
        order: JobOrder,
    },
    StopJob {
        job: MessageId,
    },
    Log {
        level: LogLevel,
        text: String,
    },
}

/// The reason why a call has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    Error(String),
    TimedOut,
    Cancelled,
}

/// A question that only the program can answer. The script stands still meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// The module that `require` looks for, by its name with dots.
    Module(String),
    IsPathWritable(String),
    WrapCommand(Vec<String>),
    ReadFile(String),
    WriteFile {
        path: String,
        text: String,
    },
}

/// A program that `vim.fn.jobstart` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOrder {
    pub argv: Vec<String>,
    pub cwd: Option<String>,
    pub env: Vec<(String, String)>,
}

/// The end of a job, or the reason why it never began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptJobEnd {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

/// A tool as a script defines it (FL-REG, FL-STRICT).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptTool {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    #[serde(default)]
    pub strict: bool,
    /// `false` for tools that a document must choose by name.
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub has_execute: bool,
    #[serde(default)]
    pub has_preview: bool,
}

fn yes() -> bool {
    true
}

/// A tool's own result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    pub success: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptVerdict {
    Approve,
    RequireApproval,
    Deny,
}

/// A resolver's answer, with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    pub verdict: ScriptVerdict,
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolverEntry {
    pub name: String,
    pub priority: i64,
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
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// By provider; these win over the general ones.
    #[serde(default)]
    pub providers: Map<String, Value>,
}
