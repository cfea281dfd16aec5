//! The toolsets `standard` and `forge`, and the parts that every dialect is made of.
//!
//! Law: a tool here is two pure functions. `lower` turns arguments into an operation, `raise` turns
//! its outcome into what the model reads, and the set's one envelope says how every answer looks. No
//! I/O can be written in a toolset.

mod args;
mod derived;
mod dialect;
pub mod envelope;
mod forge;
mod lines;
mod lowered;
mod name;
mod notes;
mod prepared;
mod row;
mod standard;
pub mod tasks;
pub mod test_runs;

pub use args::parse_args;
pub use dialect::Dialect;
pub use envelope::{CallRef, Envelope};
pub use forge::FORGE;
pub use lines::{EditRegion, Region, check_line_range};
pub use lowered::{Lowered, Stakes};
pub use name::on_one_line;
pub use notes::with_notes;
pub use prepared::Raise;
pub use row::{Lower, Row, SchemaOf, Timeouts, Translate, Translation};
pub use standard::STANDARD;
