//! The refusals of confinement that a command ran into.

use jm_workspace::Unended;
use jm_workspace::confine::{Backend, Bite, SIGSYS, Walls, bites};
use jm_workspace::process::{Ending, Finished};

/// So much of each stream is searched.
const SEARCHED: usize = 64 * 1024;

/// The refusals met by a command that failed. One that did not has got what it needed.
pub(crate) fn find_refusals(finished: &Finished, walls: Option<&Walls>) -> Vec<Bite> {
    let Some(walls) = walls else { return Vec::new() };
    let mut found = finished.refused_by_proxy.clone();
    if walls.backend != Backend::None {
        let said = [&finished.stderr, &finished.stdout].map(|stream| stream.render(SEARCHED));
        found.extend(bites(&said.concat(), walls));
    }
    if finished.ending == Ending::Signalled(SIGSYS) {
        found.push(Bite::Call);
    }
    found
}

/// A failure in one sentence, with what confinement had to do with it.
pub(crate) fn with_refusals(failure: &str, finished: &Finished, walls: Option<&Walls>) -> String {
    let found = find_refusals(finished, walls);
    let words = std::iter::once(failure.to_owned()).chain(found.iter().map(Bite::in_words));
    let words = words.chain(finished.unended.iter().map(Unended::in_words));
    words.collect::<Vec<_>>().join("; ")
}
