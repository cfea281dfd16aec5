//! The panel as lines: what is asked about each call, and the keys of the answers.

use jm_types::text::{one_line, reveal};
use jm_types::{CallQuestion, OfferedScope, RiskLevel};

use super::{Approval, NumberUse, PanelMode};
use crate::block::diff;
use crate::text::{Line, Role, Style};

const HELP: &[(&str, &str)] = &[
    ("y", "runs the selected"),
    ("n", "denies all, with a reason"),
    ("a", "stores a rule"),
    ("e", "edits the arguments"),
    ("1–9", "selects; of 10 or more: 12 or 2,11-13, then Enter"),
    ("d", "shows all in full screen"),
    ("s", "shows secrets"),
    ("Ctrl-C", "stops the turn"),
];

/// The same where it is asked whether the changes of a command are kept.
const HELP_KEEPING: &[(&str, &str)] = &[
    ("y", "keeps all changes"),
    ("k", "keeps some files: numbers or paths, then Enter"),
    ("n", "drops the changes, with a reason"),
    ("d", "shows all in full screen"),
    ("Ctrl-C", "stops the turn; the changes are set aside (jm held)"),
];

impl Approval {
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

    pub(super) fn heads(&self) -> Vec<Line> {
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
            PanelMode::Keep { .. } => {
                let title = "Keep which files? Numbers or paths (Enter sends, Esc goes back): ";
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
                let title = format!("Edit which call? 1–{}", self.question.calls.len());
                vec![bold(title), key("Esc", "back")]
            }
            PanelMode::Numbers { purpose, is_wrong, .. } => self.number_help(*purpose, *is_wrong),
            PanelMode::Editing { .. } => vec![Line::of("Editing the arguments…", Role::Muted)],
            PanelMode::BadEdit { why } => {
                let line = Line::of(format!("Not used: {}.", one_line(why)), Role::Warning);
                let (letter, again) =
                    if self.offers_files() { ("k", "name others") } else { ("e", "edit again") };
                vec![line, key(letter, again), key("Esc", "back")]
            }
            PanelMode::Help => {
                let help = if self.asks_to_keep() { HELP_KEEPING } else { HELP };
                help.iter().map(|(letter, does)| key(letter, does)).collect()
            }
            PanelMode::Asking => self.asking(),
        }
    }

    fn number_help(&self, purpose: NumberUse, is_wrong: bool) -> Vec<Line> {
        let count = self.question.calls.len();
        let (asked, form) = match purpose {
            NumberUse::Select => ("Select or deselect which calls?", "such as 12 or 2,11-13"),
            NumberUse::Edit => ("Edit which call?", "its number"),
        };
        let wrong = format!("Please type numbers from 1 to {count}.");
        let mut parts: Vec<Line> =
            is_wrong.then(|| Line::of(wrong, Role::Warning)).into_iter().collect();
        parts.push(Line::of(format!("{asked} ({form})"), Style::of(Role::Text).bold()));
        parts.extend([key("Enter", "takes it"), key("Esc", "back")]);
        parts
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
        let digits = format!("1–{count}");
        let answers = [
            ("y", if self.opts_in() { "this once" } else { "yes" }, true),
            ("p", "turn commands on for this project", self.opts_in()),
            ("n", if self.opts_in() { "no, leave them off" } else { "no" }, true),
            ("k", "keep some", self.offers_files()),
            ("a", "always", self.offers_always()),
            (digits.as_str(), "select", count > 1),
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

fn risk_word(risk: RiskLevel) -> (&'static str, Role) {
    match risk {
        RiskLevel::Low => ("low risk", Role::Success),
        RiskLevel::Medium => ("medium risk", Role::Warning),
        RiskLevel::High => ("HIGH RISK", Role::Danger),
    }
}
