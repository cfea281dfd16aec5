//! Hands: the operations, and the words in which toolsets ask for them.
//!
//! Law: nothing here knows about approval, models or terminals.

pub mod context;
pub mod ops;
pub mod registry;
pub mod schema;
pub mod tool;
pub mod toolsets;

pub use context::{Scope, Seen, ToolCtx, Workspace};
pub use registry::{SchemaError, ToolRegistry};
pub use tool::{
    Effect, Intent, Output, PathUse, Prepared, Preview, ToolExecutor, ToolFut, ToolSpec, Use,
};
