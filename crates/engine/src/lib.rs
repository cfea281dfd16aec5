//! Judgement: may this run, run it, record it, carry on.
//!
//! Law: a turn is a value. `Engine::run` works until it needs a person, and everything it must
//! know to go on, in this process or another, is in the `Session`.

mod ahead;
pub mod batch;
pub mod capacity;
pub mod config;
pub mod conversation;
mod document;
mod effects;
pub mod engine;
mod execute;
pub mod force;
mod grants;
mod heal;
mod ids;
mod keep;
mod others;
pub mod output;
mod plan;
pub mod policy;
pub mod recall;
pub mod record;
pub mod recover;
mod reply;
mod restore;
pub mod session;
mod track;
pub mod turn;
pub mod undo;

pub use batch::{ApprovalDecision, Batch, ConfirmationRequest, Entry, Status};
pub use capacity::ContextEstimate;
pub use conversation::Conversation;
pub use engine::{Canceller, Engine, Inspection};
pub use output::Outputs;
pub use policy::{Policy, Ruling};
pub use record::Recorder;
pub use recover::{CallState, Choice, Examined, Side};
pub use session::{Pause, Session, SessionError};
pub use turn::{Ending, Heard, Hearing, Listening};
pub use undo::{Damaged, Guard, Taken, UndoReport, Which};
