//! Lua scripts of a person, a project or a document: tools, sources, resolvers, options, previews.
//!
//! Law: a script runs in a process of its own (`inside`), and the program speaks to it by messages
//! (`protocol`, `frame`) through a client (`outside`). Whatever a script does, a call of it has one
//! result, and the program goes on.

#![warn(missing_docs)]

pub mod frame;
pub mod inside;
pub mod outside;
pub mod preview;
pub mod protocol;

pub use outside::{
    CallFailure, ScriptChild, ScriptHost, ScriptSettings, Scripts, SourceFailure, StartChild,
};
pub use protocol::{
    DocumentOptions, JobOrder, Library, LogLevel, ModuleSource, Resolved, ResolverEntry,
    ScriptContext, ScriptJobEnd, ScriptLimits, ScriptTool, ScriptVerdict, ToolAnswer,
};

/// The word on the command line that makes this program a child that runs Lua.
pub const CHILD_WORD: &str = "__lua";
