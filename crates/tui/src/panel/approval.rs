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
use crate::text::{Line, Role, Style};

/// The time of an answer "always" that expires.
const ONE_DAY: u64 = 24 * 60 * 60;

#[derive(Debug)]
pub struct Approval {
    pub question: ApprovalQuestion,
    pub selected: Vec<bool>,
    pub mode: PanelMode,
    /// Secrets are shown too.
    pub is_unmasked: bool,
    /// Edited arguments that could not be used, with the place of their call.
    draft: Option<(usize, String)>,
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
    /// How far "always" shall reach.
    Scope,
    /// Which call shall be edited.
    ChoosingEdit,
    /// The arguments of this call are in the person's editor.
    Editing {
        place: usize,
    },
    /// The arguments could not be used.
    BadEdit {
        why: String,
    },
}

/// The outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Done {
    Nothing,
    /// No answer key.
    Foreign,
    Answered(ApprovalAnswer),
    /// Let the person edit this text.
    Edit(String),
    /// Show the whole in full screen.
    ShowDiff,
}

impl Approval {
    pub fn new(question: ApprovalQuestion) -> Self {
        let selected = vec![true; question.calls.len()];
        Self { question, selected, mode: PanelMode::Asking, is_unmasked: false, draft: None }
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
        let is_offered = self.question.calls.iter().any(|call| !call.always.is_empty());
        is_offered && self.selected.iter().all(|selected| *selected)
    }

    fn offers_edit(&self) -> bool {
        self.question.calls.iter().all(|call| call.can_edit)
    }

    fn is_masked(&self) -> bool {
        self.question.calls.iter().any(|call| call.unmasked.is_some())
    }

    /// Everything that is asked, for the full screen and, cut, for the panel.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        if let PanelMode::Scope = self.mode {
            return self.scope_lines();
        }
        let count = self.question.calls.len();
        let mut lines = Vec::new();
        for (number, call) in self.question.calls.iter().enumerate() {
            lines.extend(self.request(number, call, width));
            if count > 1 && number + 1 < count {
                lines.push(Line::new());
            }
        }
        if let Some(diff) = &self.question.diff {
            lines.push(Line::new());
            lines.push(Line::of("All changes together", Style::of(Role::Text).bold()));
            lines.extend(diff::diff(diff).into_iter().map(|line| line.cut(width)));
        }
        lines
    }

    /// The rules that "always" would store.
    fn scope_lines(&self) -> Vec<Line> {
        let (rules, _) = self.question.offered();
        let mut lines = vec![Line::of("Always allow:", Style::of(Role::Text).bold())];
        let shown = |rule: &String| Line::of(format!("  {}", reveal(&one_line(rule))), Role::Text);
        lines.extend(rules.iter().map(shown));
        if self.question.calls.iter().any(|call| call.always.is_empty()) {
            let others = "No rule is offered for the other calls; they run this once.";
            lines.push(Line::of(others, Role::Muted));
        }
        lines
    }

    /// Every call without its preview, for a panel that is too small for all of it: what is asked
    /// about must be in sight before how it looks.
    pub fn heads(&self) -> Vec<Line> {
        let heads = self.question.calls.iter().enumerate();
        heads.flat_map(|(number, request)| self.head(number, request)).collect()
    }

    fn request(&self, number: usize, request: &CallQuestion, width: usize) -> Vec<Line> {
        let mut lines = self.head(number, request);
        let why = format!("  Needs approval: {}", one_line(&request.reason));
        lines.push(Line::of(why, Role::Muted));
        let unmasked = request.unmasked.as_ref().filter(|_| self.is_unmasked);
        if let Some(preview) = unmasked.or(request.preview.as_ref()) {
            lines.extend(diff::diff(preview).into_iter().map(|line| line.cut(width)));
        }
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
            PanelMode::Scope => {
                let (_, scopes) = self.question.offered();
                let mut line = Line::of("Where? ", Style::of(Role::Text).bold());
                for scope in &scopes {
                    line = key(line, &scope.letter().to_string(), scope.words());
                }
                if scopes.contains(&OfferedScope::Project) {
                    line = key(line, "d", "this project, for one day");
                }
                key(key(line, "o", "only this once"), "Esc", "back")
            }
            PanelMode::ChoosingEdit => {
                let title = format!("Edit which call? 1–{} ", self.question.calls.len().min(9));
                key(Line::of(title, Style::of(Role::Text).bold()), "Esc", "back")
            }
            PanelMode::Editing { .. } => Line::of("Editing the arguments…", Role::Muted),
            PanelMode::BadEdit { why } => {
                let line = Line::of(format!("Not used: {}. ", one_line(why)), Role::Warning);
                key(key(line, "e", "edit again"), "Esc", "back")
            }
            PanelMode::Help => {
                let line =
                    Line::of("y runs the selected · n denies all, with a reason · ", Role::Muted);
                let line = line.add("a stores a rule · e edits the arguments · ", Role::Muted);
                line.add(
                    "1–9 select · d shows all in full screen · s shows secrets · Ctrl-C stops",
                    Role::Muted,
                )
            }
            PanelMode::Asking => self.asking(key),
        }
    }

    fn asking(&self, key: impl Fn(Line, &str, &str) -> Line) -> Line {
        let count = self.question.calls.len();
        let title = match count {
            1 => "Run it? ".to_owned(),
            _ => {
                let chosen = self.selected.iter().filter(|it| **it).count();
                format!("Run {chosen} of {count}? ")
            }
        };
        let mut line = Line::of(title, Style::of(Role::Text).bold());
        let answers = [
            ("y", "yes", true),
            ("n", "no", true),
            ("a", "always", self.offers_always()),
            ("1–9", "select", count > 1),
            ("e", "edit", self.offers_edit()),
            ("d", "diff", true),
            ("s", "secrets", self.is_masked()),
            ("?", "help", true),
        ];
        for (letter, label, _) in answers.iter().filter(|(.., is_offered)| *is_offered) {
            line = key(line, letter, label);
        }
        line
    }
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
mod tests {
    use jm_types::AlwaysOffer;

    use super::*;

    fn approval(count: usize) -> Approval {
        let call = |number: usize| CallQuestion {
            arguments: "{}".into(),
            can_edit: true,
            always: match number {
                1 => vec![AlwaysOffer {
                    rules: vec!["write_file: **".into()],
                    scope: OfferedScope::Project,
                }],
                _ => Vec::new(),
            },
            ..CallQuestion::new(
                &format!("c{number}"),
                "write_file",
                &format!("Write {number}.txt"),
                RiskLevel::Medium,
            )
        };
        Approval::new(ApprovalQuestion { calls: (1..=count).map(call).collect(), diff: None })
    }

    fn answer(calls: &[(&str, ApprovalChoice)]) -> ApprovalAnswer {
        let calls = calls.iter().map(|(id, choice)| AnsweredCall::new(id, choice.clone()));
        ApprovalAnswer { calls: calls.collect() }
    }

    fn no(reason: Option<&str>) -> ApprovalChoice {
        ApprovalChoice::No { reason: reason.map(str::to_owned) }
    }

    /// FR-TUI-01
    #[test]
    fn all_none_or_some_with_a_reason() {
        let all = answer(&[("c1", ApprovalChoice::Once), ("c2", ApprovalChoice::Once)]);
        assert_eq!(approval(2).key('y'), Done::Answered(all));
        let mut some = approval(2);
        assert_eq!(some.key('2'), Done::Nothing);
        assert_eq!(some.answers().plain().split('?').next(), Some("Run 1 of 2"));
        assert_eq!(some.key('y'), Done::Nothing);
        let PanelMode::Reason { buffer, .. } = &mut some.mode else { panic!("no reason asked") };
        buffer.set("not that one");
        let given = some.reason_given().unwrap();
        assert_eq!(
            given,
            answer(&[("c1", ApprovalChoice::Once), ("c2", no(Some("not that one")))])
        );
        let mut none = approval(1);
        assert_eq!(none.key('n'), Done::Nothing);
        assert_eq!(none.reason_given(), Some(answer(&[("c1", no(None))])));
        assert_eq!(approval(1).key('1'), Done::Foreign);
        assert_eq!(approval(1).key('x'), Done::Foreign);
        assert_eq!(approval(1).key('s'), Done::Foreign, "nothing is masked");
        assert_eq!(approval(1).key('d'), Done::ShowDiff);
    }

    #[test]
    fn always_shows_the_rule_and_asks_for_its_scope() {
        let always = |seconds| ApprovalChoice::Always { scope: OfferedScope::Project, seconds };
        for (key, choice) in
            [('p', always(None)), ('d', always(Some(ONE_DAY))), ('o', ApprovalChoice::Once)]
        {
            let mut asked = approval(1);
            assert_eq!(asked.key('a'), Done::Nothing);
            assert_eq!(asked.lines(80)[1].plain(), "  write_file: **");
            assert_eq!(asked.key('e'), Done::Foreign, "not offered everywhere");
            assert_eq!(asked.key(key), Done::Answered(answer(&[("c1", choice)])));
        }
        let mut back = approval(1);
        back.key('a');
        assert!(back.goes_back());
        assert!(!back.goes_back());
        let mut some = approval(2);
        assert_eq!(some.key('2'), Done::Nothing);
        assert_eq!(some.key('a'), Done::Foreign, "not beside calls that are left out");
    }

    #[test]
    fn edited_arguments_are_an_answer_and_bad_ones_are_kept() {
        let mut asked = approval(1);
        assert_eq!(asked.key('e'), Done::Edit("{}\n".into()));
        assert_eq!(asked.edited("{".into()), None);
        assert!(asked.answers().plain().contains("Not used: not JSON"));
        assert_eq!(asked.key('e'), Done::Edit("{".into()), "goes on where it was left");
        let edit = ApprovalChoice::Edit { arguments: r#"{"path":"b"}"#.into() };
        assert_eq!(asked.edited("{\"path\": \"b\"}".into()), Some(answer(&[("c1", edit.clone())])));
        let mut several = approval(2);
        assert_eq!(several.key('e'), Done::Nothing);
        assert_eq!(several.key('3'), Done::Foreign);
        assert_eq!(several.key('2'), Done::Edit("{}\n".into()));
        assert_eq!(several.edited(r#"{"path":"b"}"#.into()), Some(answer(&[("c2", edit)])));
        let mut unchanged = approval(1);
        unchanged.key('e');
        assert_eq!(unchanged.edited("{ }".into()), None);
        assert!(matches!(unchanged.mode, PanelMode::Asking));
        unchanged.key('e');
        unchanged.not_edited();
        assert!(unchanged.answers().plain().contains("the editor failed"));
    }
}
