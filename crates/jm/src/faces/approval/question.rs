//! The dialogue at a plain terminal, until one answer is clear.

use anyhow::Result;
use jm_engine::{ApprovalDecision, ConfirmationRequest};
use jm_policy::OfferedScope;
use jm_system::page::page;
use jm_system::terminal::Terminal;
use jm_types::Cancel;
use jm_types::text::{one_line, reveal};

use super::answer::{Choices, Typed};
use crate::faces::prompt::{describe, show};

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) decision: ApprovalDecision,
    /// The reason for what is denied; the model is told.
    pub(crate) reason: Option<String>,
    /// Rules to be stored.
    pub(crate) always: Option<(Vec<String>, OfferedScope)>,
}

impl Answered {
    fn new(decision: ApprovalDecision) -> Self {
        Self { decision, reason: None, always: None }
    }
}

/// Asks until the answer is clear. The end of input, and a question that was cancelled, are no.
pub(crate) fn ask(
    terminal: &mut Terminal,
    requests: &[ConfirmationRequest],
    cancel: &Cancel,
) -> Result<Answered> {
    for (index, request) in requests.iter().enumerate() {
        show(&describe(request, index + 1, requests.len()))?;
    }
    let choices = Choices::of(requests);
    loop {
        show(&choices.question())?;
        let Some(answer) = terminal.answer_unless(cancel)? else {
            if !cancel.is_cancelled() {
                show("\n")?;
            }
            return Ok(Answered::new(ApprovalDecision::DenyAll));
        };
        match choices.parse(&answer) {
            Some(Typed::All) => return Ok(Answered::new(ApprovalDecision::ApproveAll)),
            Some(Typed::None { reason }) => {
                return Ok(Answered { reason, ..Answered::new(ApprovalDecision::DenyAll) });
            }
            Some(Typed::Some(places)) => {
                let chosen = places.iter().filter_map(|place| requests.get(*place));
                let ids = chosen.map(|request| request.tool_call_id.clone()).collect();
                return Ok(Answered::new(ApprovalDecision::ApproveSelected(ids)));
            }
            Some(Typed::Always) => {
                if let Some(always) = choose_scope(terminal, requests, cancel)? {
                    let decision = ApprovalDecision::ApproveAll;
                    return Ok(Answered { always: Some(always), ..Answered::new(decision) });
                }
            }
            Some(Typed::Details) => {
                if let Err(error) = page(&details(requests)) {
                    show(&format!("No pager: {error} (name one with PAGER)\n"))?;
                }
            }
            Some(Typed::Help) => show(&choices.help())?,
            None => show(&choices.please())?,
        }
    }
}

fn details(requests: &[ConfirmationRequest]) -> String {
    let described = requests.iter().enumerate();
    let described = described.map(|(at, request)| describe(request, at + 1, requests.len()));
    described.collect()
}

/// Shows the rules that "always" would store, and asks for their scope; `None` goes back to the question.
fn choose_scope(
    terminal: &mut Terminal,
    requests: &[ConfirmationRequest],
    cancel: &Cancel,
) -> Result<Option<(Vec<String>, OfferedScope)>> {
    let (rules, scopes) = offered(requests);
    let mut text = "Always allow:\n".to_owned();
    rules.iter().for_each(|rule| text.push_str(&format!("  {}\n", reveal(&one_line(rule)))));
    if requests.iter().any(|request| request.always.is_empty()) {
        text.push_str("No rule is offered for the other calls; they run this once.\n");
    }
    show(&text)?;
    loop {
        let words = scopes.iter().map(|scope| scope_in_words(*scope));
        let words: Vec<String> =
            words.map(|(letter, words)| format!("{letter} = {words}")).collect();
        show(&format!("Where? [{}, Enter = back] ", words.join(", ")))?;
        let Some(answer) = terminal.answer_unless(cancel)? else { return Ok(None) };
        if answer.is_empty() {
            return Ok(None);
        }
        let answer = answer.to_lowercase();
        match scopes.iter().find(|scope| answer == scope_in_words(**scope).0.to_string()) {
            Some(scope) => return Ok(Some((rules, *scope))),
            None => {
                let letters = scopes.iter().map(|scope| scope_in_words(*scope).0.to_string());
                let letters: Vec<String> = letters.collect();
                show(&format!("Please answer {}, or press Enter.\n", letters.join(", ")))?;
            }
        }
    }
}

/// All rules that are offered, and the scopes that all of them may have.
pub(crate) fn offered(requests: &[ConfirmationRequest]) -> (Vec<String>, Vec<OfferedScope>) {
    let mut rules: Vec<String> = Vec::new();
    let mut scopes = vec![OfferedScope::Session, OfferedScope::Project, OfferedScope::Everywhere];
    for request in requests.iter().filter(|request| !request.always.is_empty()) {
        for rule in request.always.iter().flat_map(|offer| &offer.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        scopes.retain(|scope| request.always.iter().any(|offer| offer.scope == *scope));
    }
    (rules, scopes)
}

/// The letter that chooses a scope, and its name.
pub(crate) fn scope_in_words(scope: OfferedScope) -> (char, &'static str) {
    match scope {
        OfferedScope::Session => ('s', "this session"),
        OfferedScope::Project => ('p', "this project"),
        OfferedScope::Everywhere => ('e', "everywhere"),
    }
}
