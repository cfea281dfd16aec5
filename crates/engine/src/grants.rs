//! Grants: asking if a command may have what confinement refused it, and run again.
//!
//! Law: it runs again only by a person's word, with what was shown and nothing else; without that
//! word the result it had stands.

use jm_process::confine::Grant;
use jm_types::{CallQuestion, RiskLevel};

use crate::batch::CallEntry;

/// Most of what is known of a refusal is what the command itself printed.
const RULE: &str =
    "blocked by the sandbox, going by its output: allow it for this command and run again?";
const READ_ONLY: &str =
    "it ran unasked and therefore read-only: run it again as an ordinary command?";

/// The grants it had together with those it lacked; `None` if that is nothing new.
pub(crate) fn wanted(had: Vec<Grant>, refused: Vec<Grant>) -> Option<Vec<Grant>> {
    let new: Vec<Grant> = refused.into_iter().filter(|grant| !had.contains(grant)).collect();
    (!new.is_empty()).then(|| [had, new].concat())
}

/// The question if a command may have what it was refused.
pub(crate) fn request(entry: &CallEntry, grants: &[Grant]) -> CallQuestion {
    let rule = if grants.contains(&Grant::Ordinary) { READ_ONLY } else { RULE };
    // It ran with its arguments, so these cannot be edited.
    CallQuestion {
        reason: rule.to_owned(),
        needs_person: true,
        warnings: grants.iter().map(|grant| format!("If approved: {}", grant.in_words())).collect(),
        preview: entry.shown.clone(),
        arguments: entry.call.arguments.clone(),
        fingerprint: in_words(grants),
        ..CallQuestion::new(&entry.call.id, &entry.call.name, &entry.summary, RiskLevel::High)
    }
}

/// The grants as the journal keeps them.
pub(crate) fn in_words(grants: &[Grant]) -> String {
    let words: Vec<String> = grants.iter().map(Grant::in_words).collect();
    format!("again: {}", words.join(", "))
}
