//! Keeping some of the files that an ended command changed.

use jm_types::{AnsweredCall, ApprovalAnswer};

use super::{Approval, PanelMode};

impl Approval {
    /// One command has ended, and its changes are asked about.
    pub(crate) fn offers_files(&self) -> bool {
        matches!(self.question.calls.as_slice(), [call] if !call.changes.is_empty())
    }

    /// The files are named; an answer where they are understood.
    pub fn files_given(&mut self) -> Option<ApprovalAnswer> {
        let PanelMode::Keep { buffer } = &mut self.mode else { return None };
        let typed = buffer.take();
        self.mode = PanelMode::Asking;
        let call = self.question.calls.first().filter(|_| !typed.trim().is_empty())?;
        match call.chosen(&typed) {
            Ok(choice) => Some(ApprovalAnswer { calls: vec![AnsweredCall::new(&call.id, choice)] }),
            Err(why) => {
                self.mode = PanelMode::BadEdit { why };
                None
            }
        }
    }
}
