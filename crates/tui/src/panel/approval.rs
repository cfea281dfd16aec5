//! Approval of a batch (FR-TUI-01): each call with its risk and preview, one answer for all or some.
//!
//! Law: the panel is drawn from data of the request, never from what a tool printed, and a call that
//! was not asked about cannot be approved.

use jm_types::RiskLevel;
use jm_types::text::one_line;

use crate::block::diff;
use crate::editor::Buffer;
use crate::text::{Line, Role, Style};

/// A call that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub id: String,
    pub tool: String,
    pub summary: String,
    pub risk: RiskLevel,
    /// Why it is asked about.
    pub why: String,
    pub warnings: Vec<String>,
    /// The diff, where there is one.
    pub preview: Option<String>,
    /// The summary does not show everything.
    pub is_cut: bool,
    /// A rule for calls like it is offered.
    pub offers_always: bool,
}

/// The person's answer: these run, all others do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    pub approved: Vec<String>,
    /// For those that do not run.
    pub reason: Option<String>,
    /// Calls like these shall not be asked about again.
    pub always: bool,
}

#[derive(Debug)]
pub struct Approval {
    pub requests: Vec<Request>,
    pub selected: Vec<bool>,
    pub mode: PanelMode,
}

#[derive(Debug)]
pub enum PanelMode {
    Asking,
    Help,
    /// Why some do not run; `approved` do.
    Reason {
        approved: Vec<String>,
        buffer: Buffer,
    },
}

/// The outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    Nothing,
    /// No answer key.
    Foreign,
    Answered(ApprovalAnswer),
    /// Show the whole in full screen.
    ShowDiff,
}

impl Approval {
    pub fn new(requests: Vec<Request>) -> Self {
        let selected = vec![true; requests.len()];
        Self { requests, selected, mode: PanelMode::Asking }
    }

    fn chosen(&self) -> Vec<String> {
        let pairs = self.requests.iter().zip(&self.selected);
        pairs.filter(|(_, selected)| **selected).map(|(request, _)| request.id.clone()).collect()
    }

    /// An answer key.
    pub fn key(&mut self, key: char) -> Done {
        if let PanelMode::Help = self.mode {
            self.mode = PanelMode::Asking;
        }
        match key {
            'y' | 'Y' => {
                let approved = self.chosen();
                if approved.len() == self.requests.len() {
                    return Done::Answered(ApprovalAnswer {
                        approved,
                        reason: None,
                        always: false,
                    });
                }
                self.mode = PanelMode::Reason { approved, buffer: Buffer::default() };
                Done::Nothing
            }
            'n' | 'N' => {
                self.mode = PanelMode::Reason { approved: Vec::new(), buffer: Buffer::default() };
                Done::Nothing
            }
            'a' | 'A' if self.offers_always() => {
                let approved = self.chosen();
                Done::Answered(ApprovalAnswer { approved, reason: None, always: true })
            }
            '?' => {
                self.mode = PanelMode::Help;
                Done::Nothing
            }
            'd' => Done::ShowDiff,
            '1'..='9' if self.requests.len() > 1 => {
                let at = key.to_digit(10).unwrap_or(1) as usize - 1;
                if let Some(selected) = self.selected.get_mut(at) {
                    *selected = !*selected;
                }
                Done::Nothing
            }
            _ => Done::Foreign,
        }
    }

    /// The reason is written, or left out.
    pub fn reason_given(&mut self) -> Option<ApprovalAnswer> {
        let PanelMode::Reason { approved, buffer } = &mut self.mode else { return None };
        let reason = Some(buffer.take().trim().to_owned()).filter(|reason| !reason.is_empty());
        Some(ApprovalAnswer { approved: std::mem::take(approved), reason, always: false })
    }

    /// A rule can be stored for what is asked, and all of it is selected.
    fn offers_always(&self) -> bool {
        let is_offered = self.requests.iter().any(|request| request.offers_always);
        is_offered && self.selected.iter().all(|selected| *selected)
    }

    /// Everything that is asked, for the full screen and, cut, for the panel.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let count = self.requests.len();
        let mut lines = Vec::new();
        for (number, request) in self.requests.iter().enumerate() {
            lines.extend(self.request(number, request, width));
            if count > 1 && number + 1 < count {
                lines.push(Line::new());
            }
        }
        lines
    }

    /// Every call without its preview, for a panel that is too small for all of it: what is asked
    /// about must be in sight before how it looks.
    pub fn heads(&self) -> Vec<Line> {
        let heads = self.requests.iter().enumerate();
        heads.flat_map(|(number, request)| self.head(number, request)).collect()
    }

    fn request(&self, number: usize, request: &Request, width: usize) -> Vec<Line> {
        let mut lines = self.head(number, request);
        lines.push(Line::of(format!("  {}", one_line(&request.why)), Role::Muted));
        if let Some(preview) = &request.preview {
            lines.extend(diff::diff(preview).into_iter().map(|line| line.cut(width)));
        }
        lines
    }

    fn head(&self, number: usize, request: &Request) -> Vec<Line> {
        let mut lines = Vec::new();
        if request.risk == RiskLevel::High {
            lines.push(Line::of("HIGH RISK: read it before you answer", Role::Danger));
        }
        let mut head = Line::new();
        if self.requests.len() > 1 {
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

    /// The last row: the answers, or the reason that is written.
    pub fn answers(&self) -> Line {
        let key = |line: Line, key: &str, label: &str| {
            line.add(key, Role::Accent).add(format!(" {label}   "), Role::Text)
        };
        match &self.mode {
            PanelMode::Reason { approved, .. } if approved.is_empty() => {
                Line::of("Reason (Enter sends, empty is fine, Esc goes back): ", Role::Warning)
            }
            PanelMode::Reason { .. } => {
                Line::of("Reason for those left out (Enter sends, Esc goes back): ", Role::Warning)
            }
            PanelMode::Help => {
                let line =
                    Line::of("y runs the selected · n denies all, with a reason · ", Role::Muted);
                line.add(
                    "a stores a rule · 1–9 select · d shows all in full screen · Ctrl-C stops",
                    Role::Muted,
                )
            }
            PanelMode::Asking if self.requests.len() == 1 => {
                let line = key(Line::of("Run it? ", Style::of(Role::Text).bold()), "y", "yes");
                let line = key(line, "n", "no");
                let line = if self.offers_always() { key(line, "a", "always") } else { line };
                key(key(line, "d", "diff"), "?", "help")
            }
            PanelMode::Asking => {
                let chosen = self.selected.iter().filter(|it| **it).count();
                let title = format!("Run {chosen} of {}? ", self.requests.len());
                let line = key(Line::of(title, Style::of(Role::Text).bold()), "y", "yes");
                let line = key(line, "n", "no");
                let line = if self.offers_always() { key(line, "a", "always") } else { line };
                key(key(key(line, "1–9", "select"), "d", "diff"), "?", "help")
            }
        }
    }
}

fn risk_word(risk: RiskLevel) -> (&'static str, Role) {
    match risk {
        RiskLevel::Low => ("low risk", Role::Success),
        RiskLevel::Medium => ("medium risk", Role::Warning),
        RiskLevel::High => ("HIGH RISK", Role::Danger),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(count: usize) -> Approval {
        let request = |number: usize| Request {
            id: format!("c{number}"),
            tool: "write_file".into(),
            summary: format!("Write {number}.txt"),
            risk: RiskLevel::Medium,
            why: "Needs approval: modifies files".into(),
            warnings: vec![],
            preview: None,
            is_cut: false,
            offers_always: number == 1,
        };
        Approval::new((1..=count).map(request).collect())
    }

    /// FR-TUI-01
    #[test]
    fn all_none_or_some_with_a_reason() {
        let approved = vec!["c1".into(), "c2".into()];
        let all = ApprovalAnswer { approved, reason: None, always: false };
        assert_eq!(approval(2).key('y'), Done::Answered(all));
        let mut some = approval(2);
        assert_eq!(some.key('2'), Done::Nothing);
        assert_eq!(some.answers().plain().split('?').next(), Some("Run 1 of 2"));
        assert_eq!(some.key('y'), Done::Nothing);
        let PanelMode::Reason { buffer, .. } = &mut some.mode else { panic!("no reason asked") };
        buffer.set("not that one");
        let answer = some.reason_given().unwrap();
        assert_eq!(answer.approved, ["c1"]);
        assert_eq!(answer.reason.as_deref(), Some("not that one"));
        let mut none = approval(1);
        assert_eq!(none.key('n'), Done::Nothing);
        assert_eq!(
            none.reason_given(),
            Some(ApprovalAnswer { approved: vec![], reason: None, always: false })
        );
        let always = ApprovalAnswer { approved: vec!["c1".into()], reason: None, always: true };
        assert_eq!(approval(1).key('a'), Done::Answered(always));
        let mut some = approval(2);
        assert_eq!(some.key('2'), Done::Nothing);
        assert_eq!(some.key('a'), Done::Foreign, "not beside calls that are left out");
        assert_eq!(approval(1).key('1'), Done::Foreign);
        assert_eq!(approval(1).key('x'), Done::Foreign);
        assert_eq!(approval(1).key('d'), Done::ShowDiff);
    }
}
