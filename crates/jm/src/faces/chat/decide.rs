//! Whose word a placeholder's status is.
//!
//! Law: an approval counts only if a person made it, after the program wrote something else, or if the
//! program made it itself and would make it again.

use jm_chat::{AnswerState, ChatDocument, ToolStatus};

/// The origin of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusOrigin {
    /// It differs from what the program wrote last.
    Person,
    /// It is what the program wrote last.
    Program,
    /// The program never wrote this placeholder: it came with the document.
    Stranger,
}

pub(super) fn origin(last: Option<&ChatDocument>, id: &str, now: ToolStatus) -> StatusOrigin {
    let written = last.and_then(|last| {
        let call = last.calls().into_iter().rev().find(|call| call.call.id == id)?;
        match call.answer {
            AnswerState::Placeholder(place) => Some(place.status),
            AnswerState::Missing | AnswerState::Given { .. } => None,
        }
    });
    match written {
        Some(written) if written == now => StatusOrigin::Program,
        Some(_) => StatusOrigin::Person,
        None => StatusOrigin::Stranger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_difference_is_a_persons_word() {
        let document = |status: &str| {
            ChatDocument::parse(format!(
                "@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{{}}\n```\n\n@You:\n\
                 **Tool Result:** `a`\n\n```flemma:tool status={status}\n```\n"
            ))
        };
        let pending = document("pending");
        let (approved, wanted) = (document("approved"), ToolStatus::Approved);
        assert_eq!(origin(Some(&pending), "a", wanted), StatusOrigin::Person);
        assert_eq!(origin(Some(&approved), "a", wanted), StatusOrigin::Program);
        assert_eq!(origin(None, "a", wanted), StatusOrigin::Stranger);
        assert_eq!(origin(Some(&pending), "b", wanted), StatusOrigin::Stranger);
    }
}
