//! Judgement: may this run, run it, record it, carry on.
//!
//! Law: a turn is a value. `Engine::run` works until it needs a person, and everything it must
//! know to go on, in this process or another, is in the `Session`.

mod ahead;
mod answer;
pub mod batch;
mod batch_ids;
mod call_facts;
mod canceller;
pub mod capacity;
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
mod hold;
mod keep;
mod layers;
mod output;
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
mod track;
pub mod turn;
pub mod undo;
mod undo_call;

pub use batch::{ApprovalDecision, ArgumentEdit, Batch, CallEntry, CallStatus};
pub use canceller::Canceller;
pub use capacity::ContextEstimate;
pub use conversation::Conversation;
pub use core::Core;
pub use engine::{Engine, Inspection};
pub use layers::{EngineLayers, LayerUse};
pub use record::{CallRecorder, Outputs};
pub use recovery::converge::Guard;
pub use recovery::{CallState, Examined, FileFact, RecoveryChoice, Side};
pub use rewind::{FilesAfterRewind, ForkPoint};
pub use session::{Pause, Session, SessionError};
pub use shared_policy::SharedPolicy;
pub use turn::{HeardTurn, Hearing, Listening, ResponseEnd};
pub use undo::{Damaged, TakenBack, UndoReport, Which};
pub use undo_call::UNDO;
