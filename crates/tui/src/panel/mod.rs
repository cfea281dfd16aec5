//! Questions: approval of a batch, a question with choices, a secret; and panels of the whole screen.
//!
//! Law: an answer is typed on purpose. Keys count when the panel has the focus, or when nothing was
//! typed for half a second and the prompt is empty; what is pasted never answers.

pub mod approval;
pub mod full;
pub mod pager;
pub mod question;
pub mod question_page;

use approval::Approval;
use question::PanelQuestion;

use crate::editor::Buffer;
use crate::text::Line;
use crate::text::wrap::{side_by_side, wrap};

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

    /// The keys of the answers, for whoever sets them side by side.
    pub fn answers(&self) -> Vec<Line> {
        match self {
            Panel::Approval(approval) => approval.answers(),
            Panel::Question(question) => question.answers(),
            Panel::Secret { .. } => Vec::new(),
        }
    }

    /// The key that shows it on the whole screen; letters may be answers to a question.
    pub fn key_of_page(&self) -> &'static str {
        match self {
            Panel::Approval(_) => "d",
            Panel::Question(_) | Panel::Secret { .. } => "Space",
        }
    }

    /// True if the key is an answer, or would be one where it is offered.
    pub fn is_answer(&self, key: char) -> bool {
        match self {
            Panel::Approval(approval) => match key.to_ascii_lowercase() {
                'y' | 'n' | 'a' | 'p' | 'e' | 's' | 'd' | '?' | '1'..='9' => true,
                'k' => approval.offers_files(),
                _ => false,
            },
            Panel::Question(question) => question.choice(key).is_some(),
            Panel::Secret { .. } => false,
        }
    }

    /// True if the key decides for good: it counts only after everything was in sight.
    pub fn decides(&self, key: char) -> bool {
        match self {
            Panel::Approval(approval) => approval.approves(key),
            Panel::Question(_) => self.is_answer(key),
            Panel::Secret { .. } => false,
        }
    }

    /// True if all of it can stand above the prompt, in so many rows: a rule, the facts, the answers.
    pub fn fits(&self, width: usize, room: usize) -> bool {
        let answers = side_by_side(self.answers(), width).len();
        let mut left = room.saturating_sub(answers + 1);
        self.lines().iter().all(|line| {
            let rows = wrap(line, width).len();
            let fits = rows <= left;
            left = left.saturating_sub(rows);
            fits
        })
    }
}
