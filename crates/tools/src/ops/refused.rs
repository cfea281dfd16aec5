//! The refusals of confinement that a command ran into.

use jm_process::Unended;
use jm_process::command::{CommandEnding, Exit, FinishedCommand};
use jm_process::confine::{Backend, ConfinementRules, Refusal, SIGSYS, find_refusals};

/// So much of each stream is searched.
const SEARCHED: usize = 64 * 1024;

/// The refusals met by a command that failed. One that did not has got what it needed.
pub(crate) fn refusals_of(
    finished: &FinishedCommand,
    rules: Option<&ConfinementRules>,
) -> Vec<Refusal> {
    let Some(rules) = rules else { return Vec::new() };
    let mut found = finished.refused_by_proxy.clone();
    if rules.backend != Backend::None {
        let said = [&finished.stderr, &finished.stdout].map(|stream| stream.render(SEARCHED));
        found.extend(find_refusals(&said.concat(), rules));
    }
    if finished.ending == CommandEnding::Exited(Exit::Signal(SIGSYS)) {
        found.push(Refusal::Call);
    }
    found
}

/// A failure in one sentence, with what confinement had to do with it.
pub(crate) fn with_refusals(
    failure: &str,
    finished: &FinishedCommand,
    rules: Option<&ConfinementRules>,
) -> String {
    let found = refusals_of(finished, rules);
    let words = std::iter::once(failure.to_owned()).chain(found.iter().map(Refusal::in_words));
    let words = words.chain(finished.unended.iter().map(Unended::in_words));
    words.collect::<Vec<_>>().join("; ")
}
