//! Refusals that a job met, as far as they can be known by now.
//!
//! Law: a session is told of each refusal once. Only whole lines are searched, because half a path
//! names something else.

use std::io::Result;

use jm_system::state::read_text;
use jm_types::text::sanitize;

use super::folder::{Job, JobEnd, JobEnding, JobSeen, JobState, RULES_FILE};
use super::protocol::{JobAnswer, JobRequest};
use super::reading::JobExcerpt;
use crate::contract::confinement_rules::{Backend, ConfinementRules, Network};
use crate::contract::ending::{CommandEnding, Exit};
use crate::outside::confine::find_refusals;
use crate::outside::refusal::{Refusal, SIGSYS};

/// So much of what was printed since is searched, the first and the last of it.
const SEARCHED: usize = 64 * 1024;
const MOST_RULES_BYTES: u64 = 64 * 1024 * 1024;
/// Refusals that are remembered as told; what was told before these may be told again.
const MOST_TOLD: usize = 64;

impl Job {
    /// The refusals that its session was not told yet; notes in `seen` that it is now. A job that ended well
    /// has got what it needed.
    pub fn newly_refused(&self, seen: &mut JobSeen) -> Result<Vec<String>> {
        let state = self.state()?;
        if matches!(
            &state,
            JobState::Ended(JobEnd { how: JobEnding::Ended(CommandEnding::SUCCESS), .. })
        ) {
            return Ok(Vec::new());
        }
        // A job from before there were notes of confinement rules has none.
        let Some(rules) = self.rules() else { return Ok(Vec::new()) };
        let mut found = match &state {
            JobState::Running { .. } => self.refused_by_proxy(&rules),
            JobState::Ended(end) => end.refused.clone(),
        };
        if rules.backend != Backend::None {
            let excerpt = self.read(seen.searched, None, SEARCHED)?;
            let has_ended = matches!(state, JobState::Ended(_));
            let (lines, end) = whole_lines(&excerpt, has_ended);
            found.extend(find_refusals(&sanitize(&lines), &rules).iter().map(Refusal::in_words));
            seen.searched = end;
        }
        if matches!(
            &state,
            JobState::Ended(JobEnd {
                how: JobEnding::Ended(CommandEnding::Exited(Exit::Signal(SIGSYS))),
                ..
            })
        ) {
            found.push(Refusal::Call.in_words());
        }
        found.retain(|refusal| !seen.told.contains(refusal));
        seen.told.extend(found.iter().cloned());
        seen.told.drain(..seen.told.len().saturating_sub(MOST_TOLD));
        Ok(found)
    }

    /// As they were when it started.
    fn rules(&self) -> Option<ConfinementRules> {
        let text = read_text(&self.folder().join(RULES_FILE), MOST_RULES_BYTES).ok()??;
        serde_json::from_str(&text).ok()
    }

    /// The egress proxy is the daemon's, so that is asked. One that has just ended has written it down.
    fn refused_by_proxy(&self, rules: &ConfinementRules) -> Vec<String> {
        match rules.network {
            Network::Off | Network::On => Vec::new(),
            Network::Listed(_) => match self.ask(&JobRequest::RefusedByProxy) {
                Ok(JobAnswer::RefusedByProxy(refused)) => refused,
                _ => Vec::new(),
            },
        }
    }
}

/// The lines of an excerpt that are whole, and where the last of them ends.
fn whole_lines(excerpt: &JobExcerpt, has_ended: bool) -> (String, u64) {
    let mut lines = String::new();
    let mut searched = excerpt.start;
    for (place, bytes) in &excerpt.pieces {
        let is_last = has_ended && place + bytes.len() as u64 == excerpt.total;
        let begin = if *place == excerpt.start {
            Some(0)
        } else {
            memchr::memchr(b'\n', bytes).map(|at| at + 1)
        };
        let end = if is_last {
            Some(bytes.len())
        } else {
            memchr::memrchr(b'\n', bytes).map(|at| at + 1)
        };
        if let (Some(begin), Some(end)) = (begin, end)
            && begin < end
        {
            lines.push_str(&String::from_utf8_lossy(&bytes[begin..end]));
            searched = place + end as u64;
        }
    }
    (lines, searched)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[(u64, &str)], total: u64, has_ended: bool, expected: (&str, u64)) {
        let pieces = pieces.iter().map(|(place, text)| (*place, text.as_bytes().to_vec()));
        let pieces: Vec<_> = pieces.collect();
        let start = 10;
        let excerpt = JobExcerpt { start, end: total, total, dropped: 0, pieces };
        let (lines, searched) = whole_lines(&excerpt, has_ended);
        assert_eq!((lines.as_str(), searched), expected, "{excerpt:?}");
    }

    #[test]
    fn half_a_line_is_left_for_later() {
        check(&[], 10, false, ("", 10));
        check(&[(10, "one\ntwo\n")], 18, false, ("one\ntwo\n", 18));
        check(&[(10, "one\ntw")], 16, false, ("one\n", 14));
        check(&[(10, "one\ntw")], 16, true, ("one\ntw", 16));
        check(&[(10, "on")], 12, false, ("", 10));
        check(&[(10, "on")], 12, true, ("on", 12));
    }

    #[test]
    fn a_line_that_was_cut_is_none() {
        check(&[(10, "one\ntw"), (90, "o\nthree\nfo")], 100, false, ("one\nthree\n", 98));
        check(&[(10, "one\ntw"), (90, "o\nthree\nfo")], 100, true, ("one\nthree\nfo", 100));
        check(&[(90, "o\nthree\n")], 98, false, ("three\n", 98));
        check(&[(90, "ooooooo")], 97, false, ("", 10));
        check(&[(90, "ooooooo")], 97, true, ("", 10));
    }
}
