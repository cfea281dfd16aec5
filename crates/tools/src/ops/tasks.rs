//! Tasks: what a session means to do, written down outside the project (FJ-TODO, FJ-TASK).
//!
//! Law: nothing here writes into the project. An export is a `Change` like any other, computed from
//! the tasks at the moment it runs.

mod action;
mod call;
mod export;
mod item;
mod outline;
mod task_lists;
#[cfg(test)]
mod tests;

pub use action::{Draft, Filter, TaskAction, TaskOutcome};
pub use call::TaskCall;
pub use export::TaskExport;
pub use item::{CodePlace, Priority, Subtask, TaskItem, TaskStatus};
pub use outline::Ids;
pub use task_lists::Board;
