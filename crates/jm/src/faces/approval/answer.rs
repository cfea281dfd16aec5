//! The answers to a question, as they are typed.
//!
//! Law: only a clear answer counts. What is not one is repeated with all that are.

use jm_types::{ApprovalQuestion, OfferedScope, numbered_places};

/// A typed answer. Places count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    All,
    /// These, and none of the others.
    Some(Vec<usize>),
    None {
        reason: Option<String>,
    },
    Always,
    /// Run all, and switch on for this project what is off.
    OptIn,
    /// Keep the files that are named, or ask which.
    Keep(String),
    /// The arguments of this one.
    Edit(usize),
    Details,
    /// Show what is masked.
    Unmask,
    Help,
}

/// The answers that a question has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choices {
    count: usize,
    always: bool,
    opts_in: bool,
    edit: bool,
    details: bool,
    masked: bool,
    /// A command has ended, and its changes are what is asked about.
    keeps: bool,
}

impl Choices {
    pub(super) fn of(question: &ApprovalQuestion) -> Self {
        let calls = &question.calls;
        Self {
            count: calls.len(),
            always: calls.iter().any(|call| !call.always.is_empty() && !call.opts_in),
            opts_in: calls.iter().any(|call| call.opts_in),
            edit: calls.iter().all(|call| call.can_edit),
            details: calls.iter().any(|call| call.preview.is_some()),
            masked: calls.iter().any(|call| call.unmasked.is_some()),
            keeps: matches!(calls.as_slice(), [call] if !call.changes.is_empty()),
        }
    }

    /// The question with the letters of its answers.
    pub(super) fn question(self) -> String {
        let asked = match self.count {
            _ if self.keeps => "Keep the changes?",
            1 => "Run it?",
            _ => "Run them?",
        };
        let letters = self.letters().join("/");
        match self.opts_in {
            true => format!(
                "{asked} y = this once, p = turn commands on for this project, n = no, leave them \
                 off [{letters}] "
            ),
            false => format!("{asked} [{letters}] "),
        }
    }

    fn letters(self) -> Vec<String> {
        let numbers = (self.count > 1).then(|| format!("1-{}", self.count));
        let always = self.always.then(|| "a".to_owned());
        let opt_in = self.opts_in.then(|| "p".to_owned());
        let edit = self.edit.then(|| "e".to_owned());
        let details = self.details.then(|| "d".to_owned());
        let masked = self.masked.then(|| "s".to_owned());
        let keep = self.keeps.then(|| "k".to_owned());
        let optional = [keep, opt_in, numbers, always, edit, details, masked];
        let optional = optional.into_iter().flatten();
        ["y", "n"].map(str::to_owned).into_iter().chain(optional).chain(["?".to_owned()]).collect()
    }

    pub(super) fn please(self) -> String {
        let letters = self.letters();
        let (last, others) = letters.split_last().map_or(("?", &[][..]), |(l, o)| (l.as_str(), o));
        format!("Please answer {} or {last}.\n", others.join(", "))
    }

    /// The meaning of each answer.
    pub(super) fn help(self) -> String {
        let (it, them) = if self.count == 1 { ("it", "it") } else { ("all", "any") };
        let mut lines = self.keep_help();
        if !self.keeps {
            lines.push(format!("  y         run {it}, this once"));
        }
        if self.count > 1 {
            lines.push("  1,3 1-2   run these, and none of the others".to_owned());
        }
        if self.opts_in {
            lines.push(format!(
                "  p         run {it}, and turn commands on for this project; each still asks"
            ));
        }
        if !self.keeps {
            lines.push(format!("  n         do not run {them}"));
            lines.push(format!("  n REASON  do not run {them}, and tell the model why"));
        }
        if self.always {
            lines.push(format!(
                "  a         run {it}, and store a rule for calls like it; the rule and its scope \
                 are shown first"
            ));
        }
        if self.edit && self.count == 1 {
            lines.push("  e         edit its arguments, then be asked again".to_owned());
        } else if self.edit {
            lines.push("  e 2       edit the arguments of one, then be asked again".to_owned());
        }
        if self.details {
            lines.push("  d         show everything in a pager".to_owned());
        }
        if self.masked {
            lines.push("  s         show the secrets that are masked".to_owned());
        }
        lines.push("  ?         this help".to_owned());
        lines.join("\n") + "\n"
    }

    fn keep_help(self) -> Vec<String> {
        let lines = [
            "  y         keep all changes",
            "  k 1,3     keep these files and no others; numbers, ranges or paths",
            "  n         keep none of them",
            "  n REASON  keep none of them, and tell the model why",
        ];
        lines.into_iter().filter(|_| self.keeps).map(str::to_owned).collect()
    }

    pub(super) fn parse(self, answer: &str) -> Option<Typed> {
        let (word, rest) = match answer.trim().split_once(char::is_whitespace) {
            Some((word, rest)) => (word, rest.trim()),
            None => (answer.trim(), ""),
        };
        let is_alone = rest.is_empty();
        match word.to_lowercase().as_str() {
            "y" | "yes" if is_alone => Some(Typed::All),
            "n" | "no" => Some(Typed::None { reason: (!is_alone).then(|| rest.to_owned()) }),
            "a" | "always" if is_alone && self.always => Some(Typed::Always),
            "p" | "project" if is_alone && self.opts_in => Some(Typed::OptIn),
            "k" | "keep" if self.keeps => Some(Typed::Keep(rest.to_owned())),
            "e" | "edit" if self.edit => self.place_to_edit(rest).map(Typed::Edit),
            "d" if is_alone && self.details => Some(Typed::Details),
            "s" if is_alone && self.masked => Some(Typed::Unmask),
            "?" | "h" | "help" if is_alone => Some(Typed::Help),
            _ => numbered_places(answer, self.count).map(Typed::Some),
        }
    }

    /// The number after `e`, which only one call can do without.
    fn place_to_edit(self, rest: &str) -> Option<usize> {
        let number = match (rest.is_empty(), self.count) {
            (true, 1) => 1,
            _ => rest.parse::<usize>().ok()?,
        };
        (1..=self.count).contains(&number).then(|| number - 1)
    }
}

/// Reads `p`, or `p 8h`: a scope that is offered, and seconds where it shall expire.
pub(super) fn parse_scope(
    answer: &str,
    scopes: &[OfferedScope],
) -> Option<(OfferedScope, Option<u64>)> {
    let answer = answer.to_lowercase();
    let mut words = answer.split_whitespace();
    let (letter, time) = (words.next()?, words.next());
    let scope = scopes.iter().find(|scope| letter == scope.letter().to_string())?;
    let seconds = time.map(parse_time);
    match (seconds, words.next()) {
        (None, None) => Some((*scope, None)),
        (Some(Some(seconds)), None) => Some((*scope, Some(seconds))),
        _ => None,
    }
}

/// `30m`, `8h`, `7d` in seconds.
fn parse_time(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let each = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok().filter(|number| *number > 0)?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_counts() {
        let choices = Choices {
            count: 4,
            always: true,
            opts_in: false,
            edit: true,
            details: true,
            masked: true,
            keeps: false,
        };
        let some = |places: &[usize]| Some(Typed::Some(places.to_vec()));
        let no = |reason: Option<&str>| Some(Typed::None { reason: reason.map(str::to_owned) });
        let cases = [
            ("y", Some(Typed::All)),
            ("YES", Some(Typed::All)),
            ("NO", no(None)),
            ("n use rstrip instead", no(Some("use rstrip instead"))),
            ("a", Some(Typed::Always)),
            ("d", Some(Typed::Details)),
            ("e 2", Some(Typed::Edit(1))),
            ("e", None),
            ("e 5", None),
            ("e 0", None),
            ("s", Some(Typed::Unmask)),
            ("?", Some(Typed::Help)),
            ("1", some(&[0])),
            ("1, 2", some(&[0, 1])),
            ("1-2,4", some(&[0, 1, 3])),
            ("2-3 3", some(&[1, 2])),
            ("", None),
            ("yy", None),
            ("y please", None),
            ("5", None),
            ("0", None),
            ("3-2", None),
            ("2-5", None),
            ("1-", None),
            ("-", None),
        ];
        for (answer, expected) in cases {
            assert_eq!(choices.parse(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn what_is_not_offered_is_no_answer() {
        let choices = Choices {
            count: 1,
            always: false,
            opts_in: false,
            edit: false,
            details: false,
            masked: false,
            keeps: false,
        };
        for letter in ["a", "d", "e", "k", "k 1", "p", "s"] {
            assert_eq!(choices.parse(letter), None);
        }
        assert_eq!(choices.question(), "Run it? [y/n/?] ");
        assert_eq!(choices.please(), "Please answer y, n or ?.\n");
        let keeps = Choices { keeps: true, details: true, ..choices };
        assert_eq!(keeps.question(), "Keep the changes? [y/n/k/d/?] ");
        assert_eq!(keeps.parse("k 1, src/x"), Some(Typed::Keep("1, src/x".to_owned())));
        assert_eq!(keeps.parse("k"), Some(Typed::Keep(String::new())));
        let choices = Choices { count: 1, edit: true, ..choices };
        assert_eq!(choices.parse("e"), Some(Typed::Edit(0)));
        let choices = Choices { count: 3, always: true, details: true, masked: true, ..choices };
        assert_eq!(choices.question(), "Run them? [y/n/1-3/a/e/d/s/?] ");
        let choices = Choices { opts_in: true, ..choices };
        assert_eq!(choices.parse("p"), Some(Typed::OptIn));
    }

    #[test]
    fn a_scope_may_expire() {
        let scopes = [OfferedScope::Session, OfferedScope::Project];
        let cases = [
            ("s", Some((OfferedScope::Session, None))),
            ("P", Some((OfferedScope::Project, None))),
            ("p 30m", Some((OfferedScope::Project, Some(1800)))),
            ("p  8h", Some((OfferedScope::Project, Some(28_800)))),
            ("s 7d", Some((OfferedScope::Session, Some(604_800)))),
            ("e", None),
            ("p 0d", None),
            ("p d", None),
            ("p 7", None),
            ("p 7d please", None),
            ("p 99999999999999999999d", None),
            ("p 7€", None),
            ("", None),
        ];
        for (answer, expected) in cases {
            assert_eq!(parse_scope(answer, &scopes), expected, "{answer:?}");
        }
    }
}
