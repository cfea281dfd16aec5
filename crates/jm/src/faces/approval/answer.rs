//! The answers to a question, as they are typed.
//!
//! Law: only a clear answer counts. What is not one is repeated with all that are.

use jm_engine::ConfirmationRequest;

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
    Details,
    Help,
}

/// The answers that a question has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choices {
    count: usize,
    always: bool,
    details: bool,
}

impl Choices {
    pub(super) fn of(requests: &[ConfirmationRequest]) -> Self {
        Self {
            count: requests.len(),
            always: requests.iter().any(|request| !request.always.is_empty()),
            details: requests.iter().any(|request| request.preview.is_some()),
        }
    }

    /// The question with the letters of its answers.
    pub(super) fn question(self) -> String {
        let asked = if self.count == 1 { "Run it?" } else { "Run them?" };
        format!("{asked} [{}] ", self.letters().join("/"))
    }

    fn letters(self) -> Vec<String> {
        let numbers = (self.count > 1).then(|| format!("1-{}", self.count));
        let always = self.always.then(|| "a".to_owned());
        let details = self.details.then(|| "d".to_owned());
        let optional = numbers.into_iter().chain(always).chain(details);
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
        let mut lines = vec![format!("  y         run {it}, this once")];
        if self.count > 1 {
            lines.push("  1,3 1-2   run these, and none of the others".to_owned());
        }
        lines.push(format!("  n         do not run {them}"));
        lines.push(format!("  n REASON  do not run {them}, and tell the model why"));
        if self.always {
            lines.push(format!(
                "  a         run {it}, and store a rule for calls like it; the rule and its scope \
                 are shown first"
            ));
        }
        if self.details {
            lines.push("  d         show everything in a pager".to_owned());
        }
        lines.push("  ?         this help".to_owned());
        lines.join("\n") + "\n"
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
            "d" if is_alone && self.details => Some(Typed::Details),
            "?" | "h" | "help" if is_alone => Some(Typed::Help),
            _ => self.places(answer).map(Typed::Some),
        }
    }

    /// Numbers and ranges, divided by commas or blanks.
    fn places(self, answer: &str) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        for part in answer.split([',', ' ']).filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            if first == 0 || first > last || last > self.count {
                return None;
            }
            places.extend(first - 1..last);
        }
        places.sort_unstable();
        places.dedup();
        (!places.is_empty()).then_some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_counts() {
        let choices = Choices { count: 4, always: true, details: true };
        let some = |places: &[usize]| Some(Typed::Some(places.to_vec()));
        let no = |reason: Option<&str>| Some(Typed::None { reason: reason.map(str::to_owned) });
        let cases = [
            ("y", Some(Typed::All)),
            ("YES", Some(Typed::All)),
            ("NO", no(None)),
            ("n use rstrip instead", no(Some("use rstrip instead"))),
            ("a", Some(Typed::Always)),
            ("d", Some(Typed::Details)),
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
        let choices = Choices { count: 1, always: false, details: false };
        assert_eq!(choices.parse("a"), None);
        assert_eq!(choices.parse("d"), None);
        assert_eq!(choices.question(), "Run it? [y/n/?] ");
        assert_eq!(choices.please(), "Please answer y, n or ?.\n");
        let choices = Choices { count: 3, always: true, details: true };
        assert_eq!(choices.question(), "Run them? [y/n/1-3/a/d/?] ");
    }
}
