//! The client's side: one [`Connection`] a server, on a thread of its own.

mod call;
mod connection;
mod content;
mod definition;
mod handler;
mod http;
mod http_client;
mod lifecycle;
mod link;
mod state;

pub use call::{CallFault, CallOrder, IDEMPOTENCY_KEY, Progress, ServerAnswer};
pub use connection::{Connection, ConnectionSettings};
pub use definition::{NamedTool, RiskHint, SkippedTool};
pub use handler::{ElicitationAnswer, ElicitationForm, FormField, FormFieldKind, ServerFace};
pub use http::HttpEndpoint;
pub use lifecycle::{Endpoint, Era, ServerPipes, StartPipes, StartedServer};
pub use state::{ConnectionState, ServerInfo};
