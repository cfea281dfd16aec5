//! The server's side: somebody's tools for another agent, over standard input and output.
//!
//! Law: the host decides about every call. A client is asked and answers for one call; it is never believed
//! about what was asked.

mod approval;
mod handler;
mod stdio;

pub use approval::{AskClient, ClientAnswer, RoundAnswer, WithinCall};
pub use handler::{HostAnswer, HostCall, HostResource, OfferedTool, ToolHost};
pub use stdio::serve_stdio;
