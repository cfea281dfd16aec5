//! The question that calls raise and the answer to it: one JSON value for every face (docs/formats/approval.md).
//!
//! Law: an answer names calls that were asked about, and nothing else; what it leaves out is not approved.

use serde::{Deserialize, Serialize};

use crate::json::parse_strictly;
use crate::{HeldChange, RiskLevel};

/// One question for all calls of a batch that need a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalQuestion {
    /// One entry a call, in call order.
    pub calls: Vec<CallQuestion>,
    /// The changes of all of them together, where one builds on another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A call that waits for an answer: what will happen, and how far an answer may reach (FR-APR-03).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQuestion {
    /// As the model's vendor gave it.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// On one line, at most 200 characters, secrets masked.
    pub summary: String,
    /// The summary does not show everything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// The risk of this very call.
    pub risk: RiskLevel,
    /// Why it is asked.
    pub reason: String,
    /// No mode and no list can stand in for the person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_person: bool,
    /// Facts that must not be overlooked: protected files first, then what confinement leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The command line that will run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory it runs in, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Ports that programs of this machine would reach, and that nobody gave leave for beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<u16>,
    /// The diff, or the whole command with its environment and input; secrets masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The preview with nothing masked, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmasked: Option<String>,
    /// The names that an ended command changed, where these are what is asked about; an answer may keep some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<HeldChange>,
    /// The arguments as the model wrote them.
    #[serde(default)]
    pub arguments: String,
    /// An answer may change the arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub can_edit: bool,
    /// The rules that "always" would store, by scope; empty where it is not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<AlwaysOffer>,
    /// Its tool is off in this project, and an answer may switch it on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opts_in: bool,
    /// Hash of the arguments and of the files as they were shown.
    pub fingerprint: String,
}

/// Reads numbers and ranges of calls, divided by commas or blanks, such as `2,11-13`, as places from 0 on; `None` where one
/// names no call.
pub fn numbered_places(text: &str, count: usize) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first == 0 || first > last || last > count {
            return None;
        }
        places.extend(first - 1..last);
    }
    places.sort_unstable();
    places.dedup();
    (!places.is_empty()).then_some(places)
}

/// A rule that an answer "always" would store, and the scope it would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlwaysOffer {
    /// Rules as they would be stored, `TOOL: PATTERN`.
    pub rules: Vec<String>,
    /// The reach of the rules.
    pub scope: OfferedScope,
}

/// A reach that can be chosen in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferedScope {
    /// Until the session ends.
    Session,
    /// Every session in this workspace.
    Project,
    /// Every workspace of this person.
    Everywhere,
}

impl OfferedScope {
    /// Every scope, the narrowest first.
    pub const ALL: [OfferedScope; 3] =
        [OfferedScope::Session, OfferedScope::Project, OfferedScope::Everywhere];

    /// The key that chooses it.
    pub fn letter(self) -> char {
        match self {
            OfferedScope::Session => 's',
            OfferedScope::Project => 'p',
            OfferedScope::Everywhere => 'e',
        }
    }

    /// Its name.
    pub fn words(self) -> &'static str {
        match self {
            OfferedScope::Session => "this session",
            OfferedScope::Project => "this project",
            OfferedScope::Everywhere => "everywhere",
        }
    }
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswer {
    /// The calls that are answered; all others are denied.
    pub calls: Vec<AnsweredCall>,
}

/// The answer for one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredCall {
    /// The id in the question.
    pub id: String,
    /// The fingerprint of the call as it was asked about; an answer that has one counts for that alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The answer.
    #[serde(flatten)]
    pub choice: ApprovalChoice,
}

/// A person's choice about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ApprovalChoice {
    /// This call, this time.
    Once,
    /// This call, and calls like it within the scope, for so many seconds or until revoked.
    Always {
        /// The reach of the rules.
        scope: OfferedScope,
        /// The time after which the rules end; `None` for no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
    },
    /// Not this call; the model is told the reason.
    No {
        /// Words for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// This call with other arguments, which are planned and asked about anew.
    Edit {
        /// The new arguments as JSON text.
        arguments: String,
    },
    /// Some of the files that an ended command changed, with what belongs to them.
    KeepSome {
        /// Names of the question, or names inside a directory among them.
        paths: Vec<String>,
    },
}

/// A fault of an answer: nothing of it counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum AnswerFault {
    #[error("no call with id {0} is waiting for this")]
    NotAsked(String),
    #[error("two answers for the call with id {0}")]
    Twice(String),
    #[error("\"always\" is not offered for the call with the id {0} in this scope")]
    NotOffered(String),
    #[error("the call with the id {0} is not what the answer was given for")]
    Changed(String),
    #[error("the arguments of the call with the id {0} cannot be edited")]
    NotEditable(String),
    #[error("the call with the id {0} has no changes of which some can be kept")]
    NothingToChoose(String),
    #[error("{path} is not among the changes of the call with the id {id}")]
    NotChanged { id: String, path: String },
}

impl ApprovalQuestion {
    /// The answer that chooses the same for every call.
    pub fn answer_all(&self, choice: &ApprovalChoice) -> ApprovalAnswer {
        let answered = |call: &CallQuestion| AnsweredCall::new(&call.id, choice.clone());
        ApprovalAnswer { calls: self.calls.iter().map(answered).collect() }
    }

    /// The answer that runs all, and switches on for this project what is off.
    pub fn answer_opt_in(&self) -> ApprovalAnswer {
        let answered = |call: &CallQuestion| {
            let choice = match call.opts_in && call.offers(OfferedScope::Project) {
                true => ApprovalChoice::Always { scope: OfferedScope::Project, seconds: None },
                false => ApprovalChoice::Once,
            };
            AnsweredCall::new(&call.id, choice)
        };
        ApprovalAnswer { calls: self.calls.iter().map(answered).collect() }
    }

    /// The answer "always" for all that it is offered for in this scope; the others run this once.
    pub fn answer_always(&self, scope: OfferedScope, seconds: Option<u64>) -> ApprovalAnswer {
        let answered = |call: &CallQuestion| {
            let choice = match call.offers(scope) && !call.opts_in {
                true => ApprovalChoice::Always { scope, seconds },
                false => ApprovalChoice::Once,
            };
            AnsweredCall::new(&call.id, choice)
        };
        ApprovalAnswer { calls: self.calls.iter().map(answered).collect() }
    }

    /// All rules that "always" would store, and the scopes that all of them may have.
    pub fn offered(&self) -> (Vec<String>, Vec<OfferedScope>) {
        let mut rules: Vec<String> = Vec::new();
        let mut scopes = OfferedScope::ALL.to_vec();
        let offered = |call: &&CallQuestion| !call.always.is_empty() && !call.opts_in;
        for call in self.calls.iter().filter(offered) {
            for rule in call.always.iter().flat_map(|offer| &offer.rules) {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
            scopes.retain(|scope| call.offers(*scope));
        }
        (rules, scopes)
    }

    /// Checks that an answer speaks of calls that were asked about, each once, and chooses what was offered.
    pub fn check(&self, answer: &ApprovalAnswer) -> Result<(), AnswerFault> {
        for (place, answered) in answer.calls.iter().enumerate() {
            let id = || answered.id.clone();
            let asked = self.calls.iter().find(|call| call.id == answered.id);
            let call = asked.ok_or_else(|| AnswerFault::NotAsked(id()))?;
            if answer.calls[..place].iter().any(|other| other.id == answered.id) {
                return Err(AnswerFault::Twice(id()));
            }
            if answered.fingerprint.as_ref().is_some_and(|shown| *shown != call.fingerprint) {
                return Err(AnswerFault::Changed(id()));
            }
            match &answered.choice {
                ApprovalChoice::Always { scope, .. } if !call.offers(*scope) => {
                    return Err(AnswerFault::NotOffered(id()));
                }
                ApprovalChoice::Edit { .. } if !call.can_edit => {
                    return Err(AnswerFault::NotEditable(id()));
                }
                ApprovalChoice::KeepSome { paths } => call.check_chosen(paths)?,
                ApprovalChoice::Always { .. }
                | ApprovalChoice::Edit { .. }
                | ApprovalChoice::Once
                | ApprovalChoice::No { .. } => {}
            }
        }
        Ok(())
    }
}

impl CallQuestion {
    /// A question of which only the call and its risk are known.
    pub fn new(id: &str, tool: &str, summary: &str, risk: RiskLevel) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            summary: summary.to_owned(),
            is_cut: false,
            risk,
            reason: String::new(),
            needs_person: false,
            warnings: Vec::new(),
            command: None,
            directory: None,
            publishes: Vec::new(),
            preview: None,
            unmasked: None,
            changes: Vec::new(),
            arguments: String::new(),
            can_edit: false,
            always: Vec::new(),
            opts_in: false,
            fingerprint: String::new(),
        }
    }

    /// Tells if an answer "always" may have this scope.
    pub fn offers(&self, scope: OfferedScope) -> bool {
        self.always.iter().any(|offer| offer.scope == scope)
    }

    /// The arguments as an editor shows them.
    pub fn draft(&self) -> String {
        match parse_strictly(&self.arguments) {
            Ok(arguments) => format!("{arguments:#}\n"),
            Err(_) => self.arguments.clone(),
        }
    }

    /// Reads what an editor gave back: `None` where the arguments are what they were, or were deleted. What is
    /// no object of JSON is an error.
    pub fn edited(&self, text: &str) -> Result<Option<ApprovalChoice>, String> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let new = parse_strictly(text).map_err(|error| format!("not JSON: {error}"))?;
        if !new.is_object() {
            return Err("the arguments must be a JSON object".to_owned());
        }
        let is_same = parse_strictly(&self.arguments).is_ok_and(|old| old == new);
        Ok((!is_same).then(|| ApprovalChoice::Edit { arguments: new.to_string() }))
    }
}

impl AnsweredCall {
    /// An answer without a fingerprint of its own.
    pub fn new(id: &str, choice: ApprovalChoice) -> Self {
        Self { id: id.to_owned(), fingerprint: None, choice }
    }
}

impl ApprovalAnswer {
    /// The choice for a call; one that is left out is not approved.
    pub fn choice(&self, id: &str) -> ApprovalChoice {
        let answered = self.calls.iter().find(|answered| answered.id == id);
        answered.map_or(ApprovalChoice::No { reason: None }, |answered| answered.choice.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> ApprovalQuestion {
        let call = |id: &str, can_edit: bool, always: Vec<AlwaysOffer>| CallQuestion {
            arguments: "{}".to_owned(),
            can_edit,
            always,
            fingerprint: "f".to_owned(),
            ..CallQuestion::new(id, "run_command", "ls", RiskLevel::Low)
        };
        let offer =
            AlwaysOffer { rules: vec!["run_command: ls *".into()], scope: OfferedScope::Project };
        let calls = vec![call("c1", true, vec![offer]), call("c2", false, Vec::new())];
        ApprovalQuestion { calls, diff: None }
    }

    fn answer(json: &str) -> ApprovalAnswer {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_answer_chooses_what_was_offered_for_calls_that_were_asked_about() {
        let cases = [
            (r#"{"calls": []}"#, Ok(())),
            (r#"{"calls": [{"id": "c1", "decision": "once"}]}"#, Ok(())),
            (r#"{"calls": [{"id": "c1", "decision": "always", "scope": "project"}]}"#, Ok(())),
            (r#"{"calls": [{"id": "c1", "decision": "edit", "arguments": "{}"}]}"#, Ok(())),
            (r#"{"calls": [{"id": "c2", "decision": "no", "reason": "why"}]}"#, Ok(())),
            (r#"{"calls": [{"id": "c1", "decision": "once", "fingerprint": "f"}]}"#, Ok(())),
            (
                r#"{"calls": [{"id": "c1", "decision": "once", "fingerprint": "g"}]}"#,
                Err(AnswerFault::Changed("c1".into())),
            ),
            (
                r#"{"calls": [{"id": "c3", "decision": "once"}]}"#,
                Err(AnswerFault::NotAsked("c3".into())),
            ),
            (
                r#"{"calls": [{"id": "c1", "decision": "once"}, {"id": "c1", "decision": "no"}]}"#,
                Err(AnswerFault::Twice("c1".into())),
            ),
            (
                r#"{"calls": [{"id": "c1", "decision": "always", "scope": "everywhere"}]}"#,
                Err(AnswerFault::NotOffered("c1".into())),
            ),
            (
                r#"{"calls": [{"id": "c2", "decision": "edit", "arguments": "{}"}]}"#,
                Err(AnswerFault::NotEditable("c2".into())),
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(question().check(&answer(json)), expected, "{json}");
        }
    }

    #[test]
    fn what_an_editor_gives_back_is_an_object_or_changes_nothing() {
        let mut call = question().calls[0].clone();
        call.arguments = r#"{"command":"ls","n":1}"#.to_owned();
        assert_eq!(call.draft(), "{\n  \"command\": \"ls\",\n  \"n\": 1\n}\n");
        for unchanged in ["", " \n", &call.draft()] {
            assert_eq!(call.edited(unchanged), Ok(None));
        }
        for wrong in ["ls -l", "[]", "{\"a\": 1, \"a\": 2}", "{"] {
            assert!(call.edited(wrong).is_err(), "{wrong}");
        }
        let new = ApprovalChoice::Edit { arguments: r#"{"command":"ls -l"}"#.to_owned() };
        assert_eq!(call.edited("{\n\"command\":\n\"ls -l\"}"), Ok(Some(new)));
    }

    #[test]
    fn always_is_for_what_it_is_offered_for() {
        let (rules, scopes) = question().offered();
        assert_eq!(
            (rules.as_slice(), scopes.as_slice()),
            (&["run_command: ls *".to_owned()][..], &[OfferedScope::Project][..])
        );
        let answer = question().answer_always(OfferedScope::Project, Some(60));
        let always = ApprovalChoice::Always { scope: OfferedScope::Project, seconds: Some(60) };
        assert_eq!((answer.choice("c1"), answer.choice("c2")), (always, ApprovalChoice::Once));
        assert_eq!(question().check(&answer), Ok(()));
    }

    #[test]
    fn what_an_answer_leaves_out_is_not_approved() {
        let given = answer(r#"{"calls": [{"id": "c1", "decision": "once"}]}"#);
        assert_eq!(given.choice("c1"), ApprovalChoice::Once);
        assert_eq!(given.choice("c2"), ApprovalChoice::No { reason: None });
        for unclear in ["{}", r#"{"calls": [{"id": "c1"}]}"#, r#"{"calls": [], "all": true}"#] {
            assert!(serde_json::from_str::<ApprovalAnswer>(unclear).is_err(), "{unclear}");
        }
    }
}
