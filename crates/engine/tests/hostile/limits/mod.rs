//! JSON, LIM, MODE, APR, EXE: what a model may send, how much of it, and who decides.

mod approval;
mod arguments;
mod ending;
mod modes;

use jm_types::{ToolCall, ToolResult};

fn raw(name: &str, arguments: impl Into<String>) -> ToolCall {
    ToolCall { id: "c1".to_owned(), name: name.to_owned(), arguments: arguments.into() }
}

fn errors(results: &[ToolResult]) -> Vec<Option<&str>> {
    results.iter().map(|result| result.error.map(|code| code.name())).collect()
}
