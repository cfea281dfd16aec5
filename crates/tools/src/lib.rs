//! Hands: the operations, the contract of a tool, the registry, the toolsets `standard` and `forge`, and
//! executables as tools.
//!
//! Law: nothing here knows about approval, models or terminals.

pub mod context;
pub mod events;
pub mod foreign;
pub mod foresight;
pub mod operation;
pub mod ops;
pub mod quote;
pub mod registered;
pub mod registry;
pub mod schema;
pub mod source;
pub mod tool;
pub mod toolsets;

pub use context::{CallContext, Refused, Scope, Seen, Whole, Workspace};
pub use foresight::{Expected, Foreseen};
pub use registered::{Registered, SchemaError};
pub use registry::ToolRegistry;
pub use source::{Listed, Origin, ToolSource};
pub use tool::{
    Effect, Intent, Output, PathUse, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec, Use,
};
