//! Questions: approval of a batch, a question with choices, a secret; and panels of the whole screen.
//!
//! Law: an answer is typed on purpose. Keys count when the panel has the focus, or when nothing was
//! typed for half a second and the prompt is empty; what is pasted never answers.

pub mod approval;
pub mod full;
pub mod question;

use approval::Approval;
use question::PanelQuestion;

use crate::editor::Buffer;
use crate::text::Line;

/// Without typing for so long, a key is meant for the panel.
pub const QUIET: u64 = 500;

/// The question that stands above the prompt.
#[derive(Debug)]
pub enum Panel {
    /// About calls.
    Approval(Approval),
    /// About something else.
    Question(PanelQuestion),
    /// Typed unseen.
    Secret {
        /// The name of what is asked for.
        title: String,
        /// The text as it is typed, never shown.
        buffer: Buffer,
    },
}

impl Panel {
    /// The rows of the panel, not wrapped yet.
    pub fn lines(&self) -> Vec<Line> {
        match self {
            Panel::Approval(approval) => approval.lines(),
            Panel::Question(question) => question.lines(),
            Panel::Secret { title, .. } => vec![Line::text(title)],
        }
    }
}
