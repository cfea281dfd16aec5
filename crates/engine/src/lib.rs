//! Judgement: may this run, run it, record it, carry on.
//!
//! Law: a turn is a value. `Engine::run` works until it needs a person, and everything it must
//! know to go on, in this process or another, is in the `Session`.
//!
//! ```
//! # use std::sync::{Arc, Mutex};
//! # use std::time::Duration;
//! # use jm_files::{ProjectState, Sandbox, SandboxSettings};
//! # use jm_policy::Policy;
//! # use jm_process::EnvSanitizer;
//! # use jm_tools::{ToolRegistry, Workspace, toolsets::{STANDARD, Timeouts}};
//! # use jm_types::{ApprovalMode, Limits, ToolCall, ToolsMode};
//! use jm_engine::{ApprovalDecision, CallRecorder, Core, Engine, Pause, Session};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! # let minute = Duration::from_secs(60);
//! # let timeouts = Timeouts { file_operations: minute, shell_commands: minute };
//! let engine = Engine::new(Core {
//!     registry: ToolRegistry::speaking(&STANDARD, STANDARD.tools(&timeouts))?,
//!     policy: Policy::of_mode(ApprovalMode::Prompt).into(),
//!     recorder: CallRecorder::none(),
//!     // The workspace, limits and channels.
//! #   workspace: Workspace {
//! #       sandbox: Arc::new(Sandbox::new(&SandboxSettings::rooted_at(root))?),
//! #       environment: Arc::new(EnvSanitizer::new(&[])),
//! #       confiner: Arc::new(jm_process::Confiner::unsupervised()),
//! #       jobs: Arc::default(),
//! #       state: Arc::new(ProjectState::new(root, root)),
//! #   },
//! #   limits: Limits::default(),
//! #   mode: ToolsMode::Enabled,
//! #   default_timeout: minute,
//! #   manual: Vec::new(),
//! #   estimate: Default::default(),
//! #   events: tokio::sync::mpsc::channel(16).0,
//! #   index: Mutex::default(),
//! #   layers: jm_engine::EngineLayers::none(),
//! });
//! let mut session = Session::new("example");
//! let arguments = serde_json::json!({"path": "a.txt", "content": "one\n"});
//! session.submit(vec![ToolCall::new("1", "write_file", &arguments)])?;
//! // Nothing has run: the question is data in the session.
//! assert!(matches!(engine.run(&mut session).await, Pause::NeedsApproval));
//! session.decide(&ApprovalDecision::ApproveAll)?;
//! assert!(matches!(engine.run(&mut session).await, Pause::Finished));
//! assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\n");
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod ahead;
mod answer;
pub mod batch;
mod batch_diff;
mod batch_ids;
mod call_facts;
mod call_turns;
mod canceller;
pub mod capacity;
mod commands_ahead;
mod concurrent;
mod content_keeper;
mod context;
pub mod conversation;
pub mod core;
mod document;
mod effects;
pub mod engine;
mod execute;
mod files;
mod grants;
mod held;
mod hold;
mod keep;
mod layer_call;
pub mod layer_diff;
mod layer_stack;
mod layers;
mod output;
mod own_call;
mod panicked;
mod plan;
mod preflight;
mod prepare;
pub mod recall;
pub mod record;
mod recovery;
mod reply;
mod revalidate;
pub mod rewind;
mod run;
pub mod session;
mod session_context;
pub mod shared_policy;
mod threads_ahead;
mod track;
pub mod turn;
pub mod undo;

pub use batch::{ApprovalDecision, ArgumentEdit, Batch, CallEntry, CallStatus};
pub use canceller::Canceller;
pub use capacity::ContextEstimate;
pub use conversation::Conversation;
pub use core::Core;
pub use engine::{Engine, Inspection};
pub use held::KeptNames;
pub use layer_call::layer_kept_by;
pub use layers::{EngineLayers, LayerUse};
pub use own_call::{KEEP, UNDO};
pub use record::{CallRecorder, Outputs};
pub use recovery::converge::Guard;
pub use recovery::{CallState, Examined, FileFact, RecoveryChoice, Side};
pub use rewind::{FilesAfterRewind, ForkPoint};
pub use session::{Pause, Session, SessionError};
pub use shared_policy::SharedPolicy;
pub use turn::{HeardTurn, Hearing, Listening, ResponseEnd};
pub use undo::{Damaged, TakenBack, UndoReport, Which};
