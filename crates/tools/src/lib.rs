//! Hands: the operations, the contract of a tool, the registry, the toolsets `standard` and `forge`, and
//! executables as tools.
//!
//! Law: nothing here knows about approval, models or terminals.
//!
//! ```
//! use std::time::Duration;
//! use jm_tools::ToolRegistry;
//! use jm_tools::toolsets::{STANDARD, Timeouts};
//! use jm_types::Limits;
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let minute = Duration::from_secs(60);
//! let timeouts = Timeouts { file_operations: minute, shell_commands: minute };
//! let registry = ToolRegistry::speaking(&STANDARD, STANDARD.tools(&timeouts))?;
//! let args = json!({"path": "notes.txt", "content": "one\n"});
//! let tool = registry.lookup("write_file")?;
//! tool.validate(&args)?;
//! // A call is parsed once; what it intends is known before anything runs.
//! let call = tool.prepare(args, &Limits::default())?;
//! assert!(call.intent().effect.is_side_effecting());
//! assert!(registry.lookup("wirte_file").is_err());
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

pub mod context;
pub mod events;
pub mod foreign;
pub mod foresight;
pub mod holder;
pub mod operation;
pub mod ops;
pub mod quote;
pub mod registered;
pub mod registry;
pub mod schema;
pub mod source;
pub mod tool;
pub mod toolsets;

pub use jm_types::ToolEffect;

pub use context::{CallContext, Refused, Scope, Seen, Whole, Workspace, cancelled};
pub use foresight::{Expected, Foreseen};
pub use holder::{CommandHolder, CommandStart, HeldRun, NotKept};
pub use registered::{Registered, SchemaError};
pub use registry::ToolRegistry;
pub use source::{Listed, Origin, ToolSource};
pub use tool::{
    Intent, Output, PathUse, Prepared, Preview, ShownCommand, ToolExecutor, ToolFut, ToolSpec, Use,
};
