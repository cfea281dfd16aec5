//! Hands: the operations, and the words in which toolsets ask for them.
//!
//! Law: nothing here knows about approval, models or terminals.

pub mod context;
pub mod foreign;
pub mod foresight;
pub mod ops;
mod plain;
pub mod registry;
pub mod schema;
pub mod source;
pub mod tool;
pub mod toolsets;

pub use context::{CallContext, Refused, Scope, Seen, Whole, Workspace};
pub use foresight::{Expected, Foreseen};
pub use registry::{Registered, SchemaError, ToolRegistry};
pub use source::{Listed, Origin, ToolSource};
pub use tool::{
    Effect, Intent, Output, PathUse, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec, Use,
};
