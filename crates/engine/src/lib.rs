//! Judgement: may this run, run it, record it, carry on.
//!
//! Law: a turn is a value. `Engine::run` works until it needs a person, and everything it must
//! know to go on, in this process or another, is in the `Session`.

mod ahead;
mod asker;
pub mod batch;
mod canceller;
pub mod capacity;
mod context;
pub mod conversation;
pub mod core;
mod effects;
pub mod engine;
mod execute;
mod files;
pub mod force;
mod grants;
mod heal;
mod ids;
mod keep;
mod others;
mod output;
mod panicked;
mod plan;
pub mod policy;
mod preflight;
mod prepare;
pub mod recall;
pub mod record;
pub mod recover;
mod reply;
mod restore;
mod revalidate;
mod run;
pub mod session;
mod track;
pub mod turn;
pub mod undo;

pub use batch::{ApprovalDecision, Batch, ConfirmationRequest, Entry, Status};
pub use canceller::Canceller;
pub use capacity::ContextEstimate;
pub use conversation::Conversation;
pub use core::Core;
pub use engine::{Engine, Inspection};
pub use policy::{Policy, Ruling};
pub use record::{Outputs, Recorder};
pub use recover::{CallState, Choice, Examined, Side};
pub use session::{Pause, Session, SessionError};
pub use turn::{Ending, Heard, Hearing, Listening};
pub use undo::{Damaged, Guard, Taken, UndoReport, Which};
