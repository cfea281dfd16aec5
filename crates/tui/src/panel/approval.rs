//! Approval of a batch (FR-TUI-01): each call with its risk and preview, one answer for all or some.
//!
//! Law: the panel is drawn from data of the request, never from what a tool printed, and a call that
//! was not asked about cannot be approved.

mod file_selection;
mod lines;

use jm_types::{
    AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, OfferedScope,
    numbered_places,
};

use crate::editor::Buffer;
use crate::text::Line;
use crate::text::wrap::{side_by_side, wrap};

/// The time of an answer "always" that expires.
const ONE_DAY: u64 = 24 * 60 * 60;
/// Calls that a digit selects; in a batch of more, their numbers are typed.
const MOST_DIGITS: usize = 9;

/// The panel about calls.
#[derive(Debug)]
pub struct Approval {
    /// The question as the engine asks it.
    pub question: ApprovalQuestion,
    /// The calls that a yes would run.
    pub selected: Vec<bool>,
    /// The part of the dialogue.
    pub mode: PanelMode,
    /// Secrets are shown too.
    pub is_unmasked: bool,
    /// All of it was in sight.
    was_in_sight: bool,
    /// Edited arguments that could not be used, with the place of their call.
    draft: Option<(usize, String)>,
}

/// The parts of the dialogue.
#[derive(Debug)]
pub enum PanelMode {
    /// The keys of the answers are on offer.
    Asking,
    /// The help is shown.
    Help,
    /// Why some do not run; `approved` do.
    Reason {
        /// The ids that run all the same.
        approved: Vec<String>,
        /// The reason as it is typed.
        buffer: Buffer,
    },
    /// Which files of a command that has ended are kept.
    Keep {
        /// Numbers and paths as they are typed.
        buffer: Buffer,
    },
    /// How far "always" shall reach.
    Scope,
    /// Which call shall be edited.
    ChoosingEdit,
    /// Numbers of calls, for a batch with more calls than there are digits.
    Numbers {
        /// The reason for asking.
        purpose: NumberUse,
        /// The numbers as they are typed.
        buffer: Buffer,
        /// They are no numbers of these calls.
        is_wrong: bool,
    },
    /// The arguments of this call are in the person's editor.
    Editing {
        /// The place of the call.
        place: usize,
    },
    /// The arguments could not be used.
    BadEdit {
        /// The fault in one sentence.
        why: String,
    },
}

/// The use of numbers that are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberUse {
    /// These calls are selected, or are not any more.
    Select,
    /// This call is edited.
    Edit,
}

/// The outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    /// The panel stays.
    Nothing,
    /// No answer key.
    Foreign,
    /// The panel goes with this answer.
    Answered(ApprovalAnswer),
    /// Let the person edit this text.
    Edit(String),
    /// Show the whole in full screen.
    ShowDiff,
}

impl Approval {
    /// A panel with every call selected.
    pub fn new(question: ApprovalQuestion) -> Self {
        let selected = vec![true; question.calls.len()];
        let (mode, is_unmasked, was_in_sight) = (PanelMode::Asking, false, false);
        Self { question, selected, mode, is_unmasked, was_in_sight, draft: None }
    }

    fn chosen(&self) -> Vec<String> {
        let pairs = self.question.calls.iter().zip(&self.selected);
        pairs.filter(|(_, selected)| **selected).map(|(call, _)| call.id.clone()).collect()
    }

    /// An answer key.
    pub fn key(&mut self, key: char) -> Done {
        let mode = match &self.mode {
            PanelMode::Help | PanelMode::BadEdit { .. } => {
                self.mode = PanelMode::Asking;
                &self.mode
            }
            other => other,
        };
        match mode {
            PanelMode::Scope => self.scope_key(key),
            PanelMode::ChoosingEdit => self.choose_edit(key),
            PanelMode::Editing { .. }
            | PanelMode::Reason { .. }
            | PanelMode::Keep { .. }
            | PanelMode::Numbers { .. } => Done::Foreign,
            PanelMode::Asking | PanelMode::Help | PanelMode::BadEdit { .. } => self.asked_key(key),
        }
    }

    fn asked_key(&mut self, key: char) -> Done {
        match key {
            'y' | 'Y' => {
                let approved = self.chosen();
                if approved.len() == self.question.calls.len() {
                    return Done::Answered(self.question.answer_all(&ApprovalChoice::Once));
                }
                self.mode = PanelMode::Reason { approved, buffer: Buffer::default() };
            }
            'n' | 'N' => {
                self.mode = PanelMode::Reason { approved: Vec::new(), buffer: Buffer::default() };
            }
            'k' | 'K' if self.offers_files() => {
                self.mode = PanelMode::Keep { buffer: Buffer::default() };
            }
            'a' | 'A' if self.offers_always() => self.mode = PanelMode::Scope,
            'p' | 'P' if self.opts_in() => return Done::Answered(self.question.answer_opt_in()),
            'e' | 'E' if self.offers_edit() => match self.question.calls.len() {
                1 => return self.edit(0),
                2..=MOST_DIGITS => self.mode = PanelMode::ChoosingEdit,
                _ => self.mode = PanelMode::numbers(NumberUse::Edit, ""),
            },
            's' | 'S' if self.is_masked() => self.is_unmasked = !self.is_unmasked,
            '?' => self.mode = PanelMode::Help,
            'd' => return Done::ShowDiff,
            '1'..='9' if self.question.calls.len() > MOST_DIGITS => {
                self.mode = PanelMode::numbers(NumberUse::Select, key.encode_utf8(&mut [0; 4]));
            }
            '1'..='9' if self.question.calls.len() > 1 => {
                if let Some(selected) = self.selected.get_mut(place_of(key)) {
                    *selected = !*selected;
                }
            }
            _ => return Done::Foreign,
        }
        Done::Nothing
    }

    /// `d` is this project for one day.
    fn scope_key(&mut self, key: char) -> Done {
        let (_, scopes) = self.question.offered();
        let key = key.to_ascii_lowercase();
        let offers_day = scopes.contains(&OfferedScope::Project);
        if key == 'o' {
            return Done::Answered(self.question.answer_all(&ApprovalChoice::Once));
        }
        if key == 'd' && offers_day {
            let answer = self.question.answer_always(OfferedScope::Project, Some(ONE_DAY));
            return Done::Answered(answer);
        }
        match scopes.into_iter().find(|scope| scope.letter() == key) {
            Some(scope) => Done::Answered(self.question.answer_always(scope, None)),
            None => Done::Foreign,
        }
    }

    fn choose_edit(&mut self, key: char) -> Done {
        match key {
            '1'..='9' if place_of(key) < self.question.calls.len() => self.edit(place_of(key)),
            _ => Done::Foreign,
        }
    }

    /// The numbers are typed; those that name no call are asked for again.
    pub fn numbers_given(&mut self) -> Done {
        let count = self.question.calls.len();
        let PanelMode::Numbers { purpose, buffer, is_wrong } = &mut self.mode else {
            return Done::Foreign;
        };
        match (numbered_places(&buffer.text(), count), *purpose) {
            (Some(places), NumberUse::Select) => {
                for place in places {
                    self.selected[place] = !self.selected[place];
                }
                self.mode = PanelMode::Asking;
            }
            (Some(places), NumberUse::Edit) if places.len() == 1 => return self.edit(places[0]),
            _ => *is_wrong = true,
        }
        Done::Nothing
    }

    /// The text that is being typed, with the word before it.
    pub fn typed(&self) -> Option<(&'static str, &Buffer)> {
        match &self.mode {
            PanelMode::Reason { buffer, .. } => Some(("reason: ", buffer)),
            PanelMode::Keep { buffer } => Some(("keep: ", buffer)),
            PanelMode::Numbers { buffer, .. } => Some(("calls: ", buffer)),
            PanelMode::Asking
            | PanelMode::Help
            | PanelMode::Scope
            | PanelMode::ChoosingEdit
            | PanelMode::Editing { .. }
            | PanelMode::BadEdit { .. } => None,
        }
    }

    /// The text that is being typed, to be changed.
    pub fn typed_mut(&mut self) -> Option<&mut Buffer> {
        match &mut self.mode {
            PanelMode::Reason { buffer, .. }
            | PanelMode::Keep { buffer }
            | PanelMode::Numbers { buffer, .. } => Some(buffer),
            PanelMode::Asking
            | PanelMode::Help
            | PanelMode::Scope
            | PanelMode::ChoosingEdit
            | PanelMode::Editing { .. }
            | PanelMode::BadEdit { .. } => None,
        }
    }

    fn edit(&mut self, place: usize) -> Done {
        self.mode = PanelMode::Editing { place };
        let kept = self.draft.take().filter(|(of, _)| *of == place).map(|(_, text)| text);
        Done::Edit(kept.unwrap_or_else(|| self.question.calls[place].draft()))
    }

    /// The editor was left with this text; an answer where it holds other arguments.
    pub fn edited(&mut self, text: String) -> Option<ApprovalAnswer> {
        let PanelMode::Editing { place } = self.mode else { return None };
        self.mode = PanelMode::Asking;
        let call = &self.question.calls[place];
        match call.edited(&text) {
            Ok(choice) => {
                let answered = AnsweredCall::new(&call.id, choice?);
                Some(ApprovalAnswer { calls: vec![answered] })
            }
            Err(why) => {
                self.mode = PanelMode::BadEdit { why };
                self.draft = Some((place, text));
                None
            }
        }
    }

    /// The editor could not be used.
    pub fn not_edited(&mut self) {
        if let PanelMode::Editing { .. } = self.mode {
            self.mode = PanelMode::BadEdit { why: "the editor failed (see EDITOR)".to_owned() };
        }
    }

    /// Goes back to the question; false where it is asked already.
    pub fn goes_back(&mut self) -> bool {
        let is_beside = !matches!(self.mode, PanelMode::Asking);
        self.mode = PanelMode::Asking;
        is_beside
    }

    /// The reason is written, or left out.
    pub fn reason_given(&mut self) -> Option<ApprovalAnswer> {
        let PanelMode::Reason { approved, buffer } = &mut self.mode else { return None };
        let reason = Some(buffer.take().trim().to_owned()).filter(|reason| !reason.is_empty());
        let answered = |call: &CallQuestion| {
            let choice = match approved.contains(&call.id) {
                true => ApprovalChoice::Once,
                false => ApprovalChoice::No { reason: reason.clone() },
            };
            AnsweredCall::new(&call.id, choice)
        };
        Some(ApprovalAnswer { calls: self.question.calls.iter().map(answered).collect() })
    }

    /// A rule can be stored for what is asked, and all of it is selected.
    fn offers_always(&self) -> bool {
        let offers = |call: &CallQuestion| !call.always.is_empty() && !call.opts_in;
        let is_offered = self.question.calls.iter().any(offers);
        is_offered && self.selected.iter().all(|selected| *selected)
    }

    /// A tool that is off may be switched on, and all that is asked is selected.
    fn opts_in(&self) -> bool {
        let is_offered = self.question.calls.iter().any(|call| call.opts_in);
        is_offered && self.selected.iter().all(|selected| *selected)
    }

    fn offers_edit(&self) -> bool {
        self.question.calls.iter().all(|call| call.can_edit)
    }

    /// True for commands that have ended, when it is asked whether what they changed is kept: the
    /// fingerprint of such a question names the layer.
    fn asks_to_keep(&self) -> bool {
        self.question.calls.iter().all(|call| call.fingerprint.starts_with("keep "))
    }

    /// True if the key runs calls or keeps changes, at once or after a question about how far it reaches.
    pub fn approves(&self, key: char) -> bool {
        match key.to_ascii_lowercase() {
            'y' => self.asks(),
            'k' => self.asks() && self.offers_files(),
            'a' => self.asks() && self.offers_always(),
            'p' => self.asks() && self.opts_in(),
            _ => false,
        }
    }

    /// True while the keys of the answers count.
    pub fn asks(&self) -> bool {
        matches!(self.mode, PanelMode::Asking | PanelMode::Help | PanelMode::BadEdit { .. })
    }

    /// All of it was in sight, on the whole screen.
    pub fn note_in_sight(&mut self) {
        self.was_in_sight = true;
    }

    /// True if the key would approve what is not in sight in so many rows above the prompt: a call whose head is
    /// not there, or any line about changes that would be kept.
    pub fn shows_first(&self, key: char, width: usize, room: usize) -> bool {
        if self.was_in_sight || !self.approves(key) {
            return false;
        }
        let rows = |lines: Vec<Line>| lines.iter().map(|line| wrap(line, width).len()).sum();
        let (whole, heads): (usize, usize) = (rows(self.lines()), rows(self.heads()));
        let left = room.saturating_sub(side_by_side(self.answers(), width).len() + 1);
        // What does not fit costs one more row, which says so.
        whole > left && (self.asks_to_keep() || heads + 1 > left)
    }

    fn is_masked(&self) -> bool {
        self.question.calls.iter().any(|call| call.unmasked.is_some())
    }
}

impl PanelMode {
    fn numbers(purpose: NumberUse, typed: &str) -> Self {
        let mut buffer = Buffer::default();
        buffer.insert(typed);
        Self::Numbers { purpose, buffer, is_wrong: false }
    }
}

fn place_of(digit: char) -> usize {
    digit.to_digit(10).unwrap_or(1) as usize - 1
}

#[cfg(test)]
mod tests;
