//! A command that the walls refused something: asking whether it may have it, and run again.
//!
//! Law: it runs again only by a person's word, with what was shown and nothing else; without that
//! word the result it had stands.

use jm_types::RiskLevel;
use jm_workspace::confine::Grant;

use crate::batch::{Bitten, ConfirmationRequest, Status};
use crate::session::Session;

/// Most of what is known of a refusal is what the command itself printed.
const RULE: &str = "the command's output says that the sandbox refused it this; yes gives it that, \
                    for this command alone, and runs it again";
const READ_ONLY: &str = "it ran without a question and therefore read-only; yes runs it again as an \
                         ordinary command";

/// What it had before together with what it was refused; nothing if that is nothing new.
pub(crate) fn wanted(had: Vec<Grant>, refused: Vec<Grant>) -> Option<Vec<Grant>> {
    let new: Vec<Grant> = refused.into_iter().filter(|grant| !had.contains(grant)).collect();
    (!new.is_empty()).then(|| [had, new].concat())
}

/// Puts the question.
pub(crate) fn ask(session: &mut Session, index: usize, bitten: Bitten) {
    let entry = &mut session.batch_mut().entries[index];
    let rule = if bitten.grants.contains(&Grant::Ordinary) { READ_ONLY } else { RULE };
    entry.status = Status::Pending(ConfirmationRequest {
        tool_call_id: entry.call.id.clone(),
        tool_name: entry.call.name.clone(),
        summary: entry.summary.clone(),
        is_cut: false,
        risk_level: RiskLevel::High,
        rule: rule.to_owned(),
        needs_person: true,
        warnings: bitten.grants.iter().map(Grant::in_words).collect(),
        preview: entry.shown.clone(),
        fingerprint: told(&bitten.grants),
    });
    entry.bitten = Some(bitten);
}

/// What was granted, as the journal keeps it.
pub(crate) fn told(grants: &[Grant]) -> String {
    let words: Vec<String> = grants.iter().map(Grant::in_words).collect();
    format!("again: {}", words.join(", "))
}
