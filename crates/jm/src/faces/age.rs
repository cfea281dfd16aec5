//! Times as people say them: how long ago.

use jm_system::clock::now_epoch_ms;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long ago a moment was.
pub(crate) fn ago(at: u64) -> String {
    between(at, now_epoch_ms())
}

fn between(at: u64, now: u64) -> String {
    let seconds = now.saturating_sub(at) / 1000;
    match seconds {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ => match seconds / DAY {
            1 => "1 day ago".to_owned(),
            days => format!("{days} days ago"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_the_largest_unit() {
        let now = 1_794_787_199_999;
        for (seconds, expected) in [
            (0, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3_599, "59 min ago"),
            (7_200, "2 h ago"),
            (86_400, "1 day ago"),
            (40 * 86_400, "40 days ago"),
        ] {
            assert_eq!(between(now - seconds * 1000, now), expected);
        }
        assert_eq!(between(now + 5_000, now), "just now");
    }
}
