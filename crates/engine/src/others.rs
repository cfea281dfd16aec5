//! What other sessions changed while a command ran.
//!
//! Law: what the journal knows to be another session's is not the command's. Otherwise taking the command
//! back would take back their work too.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jm_store::{Effect, FileState};

/// A change is on record a moment before it happens.
pub(crate) const A_MOMENT: u64 = 2_000;

/// What is left for the command when theirs, in the order of time, is taken away. Where both changed a
/// file and the command was the last, it stays the command's.
pub(crate) fn without_theirs(found: Vec<Effect>, theirs: Vec<Effect>) -> Vec<Effect> {
    let mut paths: BTreeMap<PathBuf, (FileState, FileState)> = BTreeMap::new();
    for Effect { path, before, after, .. } in theirs {
        paths.entry(path).or_insert((before, after)).1 = after;
    }
    let left = |effect: Effect| match paths.get(&effect.path) {
        Some((before, after)) if *after == effect.after => {
            let effect = Effect { after: *before, ..effect };
            (effect.before != effect.after).then_some(effect)
        }
        Some(_) | None => Some(effect),
    };
    found.into_iter().filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use jm_types::Digest;

    use super::*;

    fn state(text: &str) -> FileState {
        match text {
            "" => FileState::Missing,
            "/" => FileState::Directory { mode: 0o755 },
            text => FileState::File { sha256: Digest::of(text.as_bytes()), mode: 0o644 },
        }
    }

    /// Before and after.
    type Step = (&'static str, &'static str);

    fn effect((before, after): Step) -> Effect {
        let (before, after) = (state(before), state(after));
        Effect { path: PathBuf::from("/w/f"), before, after, temporary: None }
    }

    #[test]
    fn theirs_is_taken_away() {
        let cases: &[(Step, &[Step], Option<Step>)] = &[
            // Nobody else was there.
            (("a", "b"), &[], Some(("a", "b"))),
            // All of it is theirs, in one step or in several; also what came and what went.
            (("a", "b"), &[("a", "b")], None),
            (("a", "c"), &[("a", "b"), ("b", "c")], None),
            (("", "b"), &[("", "b")], None),
            (("a", ""), &[("a", "")], None),
            (("", "/"), &[("", "/")], None),
            // The command was first, then they.
            (("a", "c"), &[("b", "c")], Some(("a", "b"))),
            // They were first, then the command.
            (("a", "c"), &[("a", "b")], Some(("a", "c"))),
            // Theirs was before the command's first look.
            (("b", "c"), &[("a", "b")], Some(("b", "c"))),
        ];
        for (found, theirs, expected) in cases {
            let theirs = theirs.iter().copied().map(effect).collect();
            let left = without_theirs(vec![effect(*found)], theirs);
            let expected: Vec<Effect> = expected.iter().copied().map(effect).collect();
            assert_eq!(left, expected, "{found:?}");
        }
    }
}
