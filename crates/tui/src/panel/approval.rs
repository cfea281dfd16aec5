//! Approval of a batch (FR-TUI-01): each call with its risk and preview, one answer for all or some.
//!
//! Law: the panel is drawn from data of the request, never from what a tool printed, and a call that
//! was not asked about cannot be approved.

use jm_types::text::{one_line, reveal};
use jm_types::{
    AnsweredCall, ApprovalAnswer, ApprovalChoice, ApprovalQuestion, CallQuestion, OfferedScope,
    RiskLevel,
};

use crate::block::diff;
use crate::editor::Buffer;
use crate::text::wrap::wrap;
use crate::text::{Line, Role, Style};

/// The time of an answer "always" that expires.
const ONE_DAY: u64 = 24 * 60 * 60;
const HELP: &[(&str, &str)] = &[
    ("y", "runs the selected"),
    ("n", "denies all, with a reason"),
    ("a", "stores a rule"),
    ("e", "edits the arguments"),
    ("1–9", "select"),
    ("d", "shows all in full screen"),
    ("s", "shows secrets"),
    ("Ctrl-C", "stops the turn"),
];
/// Rows of the screen beside a panel's facts: rules, answers, prompt and status.
const BESIDE: usize = 6;

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
    is_shown_whole: bool,
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
    /// How far "always" shall reach.
    Scope,
    /// Which call shall be edited.
    ChoosingEdit,
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
        let (mode, is_unmasked, is_shown_whole) = (PanelMode::Asking, false, false);
        Self { question, selected, mode, is_unmasked, is_shown_whole, draft: None }
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
            PanelMode::Editing { .. } | PanelMode::Reason { .. } => Done::Foreign,
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
            'a' | 'A' if self.offers_always() => self.mode = PanelMode::Scope,
            'p' | 'P' if self.opts_in() => return Done::Answered(self.question.answer_opt_in()),
            'e' | 'E' if self.offers_edit() => match self.question.calls.len() {
                1 => return self.edit(0),
                _ => self.mode = PanelMode::ChoosingEdit,
            },
            's' | 'S' if self.is_masked() => self.is_unmasked = !self.is_unmasked,
            '?' => self.mode = PanelMode::Help,
            'd' => return Done::ShowDiff,
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

    /// True if `y` would approve a call, or keep a change, that was not in sight; all of it is shown
    /// instead, once.
    pub fn shows_first(&mut self, key: char, width: usize, height: usize) -> bool {
        let is_yes = matches!(self.mode, PanelMode::Asking) && matches!(key, 'y' | 'Y');
        if self.is_shown_whole || !is_yes {
            return false;
        }
        let needed = if self.asks_to_keep() { self.lines() } else { self.heads() };
        let rows = needed.iter().map(|line| wrap(line, width).len()).sum::<usize>();
        self.is_shown_whole = true;
        rows + BESIDE > height
    }

    fn is_masked(&self) -> bool {
        self.question.calls.iter().any(|call| call.unmasked.is_some())
    }

    /// Everything that is asked, for the full screen and for the panel. No line is cut: who shows them
    /// wraps them.
    pub fn lines(&self) -> Vec<Line> {
        if let PanelMode::Scope = self.mode {
            return self.scope_lines();
        }
        let count = self.question.calls.len();
        let mut lines = Vec::new();
        for (number, call) in self.question.calls.iter().enumerate() {
            lines.extend(self.request(number, call));
            if count > 1 && number + 1 < count {
                lines.push(Line::new());
            }
        }
        if let Some(diff) = &self.question.diff {
            lines.push(Line::new());
            lines.push(Line::of("All changes together", Style::of(Role::Text).bold()));
            lines.extend(diff::diff(diff));
        }
        lines
    }

    /// The rules that "always" would store.
    fn scope_lines(&self) -> Vec<Line> {
        let (rules, _) = self.question.offered();
        let mut lines = vec![Line::of("Always allow:", Style::of(Role::Text).bold())];
        let shown = |rule: &String| Line::of(format!("  {}", reveal(&one_line(rule))), Role::Text);
        lines.extend(rules.iter().map(shown));
        if self.question.calls.iter().any(|call| call.always.is_empty() || call.opts_in) {
            let others = "No rule is offered for the other calls; they run this once.";
            lines.push(Line::of(others, Role::Muted));
        }
        lines
    }

    /// Every call, then their previews, for a panel that is too small for all of it: what is asked
    /// about must be in sight before how it looks.
    pub fn heads_first(&self) -> Vec<Line> {
        let mut lines = self.heads();
        lines.push(Line::new());
        match &self.question.diff {
            Some(diff) => lines.extend(diff::diff(diff)),
            None => {
                let previews = self.question.calls.iter().filter_map(|call| self.preview(call));
                lines.extend(previews.flat_map(|preview| diff::diff(preview)));
            }
        }
        lines
    }

    fn heads(&self) -> Vec<Line> {
        let calls = self.question.calls.iter().enumerate();
        calls.flat_map(|(number, request)| self.head(number, request)).collect()
    }

    /// The preview of a call, with its secrets where they are shown.
    fn preview<'a>(&self, request: &'a CallQuestion) -> Option<&'a String> {
        let unmasked = request.unmasked.as_ref().filter(|_| self.is_unmasked);
        unmasked.or(request.preview.as_ref())
    }

    fn request(&self, number: usize, request: &CallQuestion) -> Vec<Line> {
        let mut lines = self.head(number, request);
        let why = format!("  Needs approval: {}", one_line(&request.reason));
        lines.push(Line::of(why, Role::Muted));
        lines.extend(self.preview(request).into_iter().flat_map(|preview| diff::diff(preview)));
        lines
    }

    fn head(&self, number: usize, request: &CallQuestion) -> Vec<Line> {
        let mut lines = Vec::new();
        if request.risk == RiskLevel::High {
            lines.push(Line::of("HIGH RISK: read it before you answer", Role::Danger));
        }
        let mut head = Line::new();
        if self.question.calls.len() > 1 {
            let mark = if self.selected[number] { "[x]" } else { "[ ]" };
            head.push(format!("{} {mark} ", number + 1), Role::Accent);
        }
        let (risk, role) = risk_word(request.risk);
        head.push(one_line(&request.tool), Style::of(Role::Text).bold());
        head.push(format!(" · {risk}"), role);
        lines.push(head);
        lines.push(Line::of(format!("  {}", one_line(&request.summary)), Role::Text));
        if request.is_cut {
            lines.push(Line::of("  (cut: d shows all of it)", Role::Warning));
        }
        let warnings = request.warnings.iter();
        lines.extend(warnings.map(|it| Line::of(format!("  ! {}", one_line(it)), Role::Warning)));
        lines
    }

    /// The answers, or the reason that is written: parts that stand side by side where there is room.
    pub fn answers(&self) -> Vec<Line> {
        let bold = |text: String| Line::of(text, Style::of(Role::Text).bold());
        match &self.mode {
            PanelMode::Reason { approved, .. } if approved.is_empty() => {
                vec![Line::of(
                    "Reason (Enter sends, empty is fine, Esc goes back): ",
                    Role::Warning,
                )]
            }
            PanelMode::Reason { .. } => {
                let title = "Reason for those left out (Enter sends, Esc goes back): ";
                vec![Line::of(title, Role::Warning)]
            }
            PanelMode::Scope => {
                let (_, scopes) = self.question.offered();
                let mut parts = vec![bold("Where?".into())];
                parts.extend(scopes.iter().map(|it| key(&it.letter().to_string(), it.words())));
                if scopes.contains(&OfferedScope::Project) {
                    parts.push(key("d", "this project, for one day"));
                }
                parts.extend([key("o", "only this once"), key("Esc", "back")]);
                parts
            }
            PanelMode::ChoosingEdit => {
                let title = format!("Edit which call? 1–{}", self.question.calls.len().min(9));
                vec![bold(title), key("Esc", "back")]
            }
            PanelMode::Editing { .. } => vec![Line::of("Editing the arguments…", Role::Muted)],
            PanelMode::BadEdit { why } => {
                let line = Line::of(format!("Not used: {}.", one_line(why)), Role::Warning);
                vec![line, key("e", "edit again"), key("Esc", "back")]
            }
            PanelMode::Help => HELP.iter().map(|(letter, does)| key(letter, does)).collect(),
            PanelMode::Asking => self.asking(),
        }
    }

    fn asking(&self) -> Vec<Line> {
        let count = self.question.calls.len();
        let title = match count {
            1 if self.asks_to_keep() => "Keep what it changed?".to_owned(),
            1 => "Run it?".to_owned(),
            _ => {
                let chosen = self.selected.iter().filter(|it| **it).count();
                format!("Run {chosen} of {count}?")
            }
        };
        let answers = [
            ("y", if self.opts_in() { "once" } else { "yes" }, true),
            ("p", "turn on for this project", self.opts_in()),
            ("n", "no", true),
            ("a", "always", self.offers_always()),
            ("1–9", "select", count > 1),
            ("e", "edit", self.offers_edit()),
            ("d", "diff", true),
            ("s", "secrets", self.is_masked()),
            ("?", "help", true),
        ];
        let offered = answers.iter().filter(|(.., is_offered)| *is_offered);
        let mut parts = vec![Line::of(title, Style::of(Role::Text).bold())];
        parts.extend(offered.map(|(letter, label, _)| key(letter, label)));
        parts
    }
}

/// A key and what it does.
fn key(key: &str, label: &str) -> Line {
    Line::of(key, Role::Accent).add(format!(" {label}"), Role::Text)
}

fn place_of(digit: char) -> usize {
    digit.to_digit(10).unwrap_or(1) as usize - 1
}

fn risk_word(risk: RiskLevel) -> (&'static str, Role) {
    match risk {
        RiskLevel::Low => ("low risk", Role::Success),
        RiskLevel::Medium => ("medium risk", Role::Warning),
        RiskLevel::High => ("HIGH RISK", Role::Danger),
    }
}

#[cfg(test)]
mod tests;
