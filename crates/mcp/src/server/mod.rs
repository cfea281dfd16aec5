//! The server's side: somebody's tools for another agent, over standard input and output or HTTP.
//!
//! Law: the host decides about every call. A client is asked and answers for one call; it is never believed
//! about what was asked.

mod approval;
mod handler;
mod http;
mod stdio;

pub use approval::{AskClient, ClientAnswer, RoundAnswer, WithinCall};
pub use handler::{HostAnswer, HostCall, HostResource, OfferedTool, ToolHost};
pub use http::{HTTP_PATH, HttpToken, listen_here, serve_http};
pub use stdio::serve_stdio;
