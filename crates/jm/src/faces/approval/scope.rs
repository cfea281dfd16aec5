//! The scope of an answer "always": how far the stored rules reach, and for how long.

use jm_types::OfferedScope;

/// Reads `p`, or `p 8h`: a scope that is offered, and seconds where it shall expire.
pub(super) fn parse_scope(
    answer: &str,
    scopes: &[OfferedScope],
) -> Option<(OfferedScope, Option<u64>)> {
    let answer = answer.to_lowercase();
    let mut words = answer.split_whitespace();
    let (letter, time) = (words.next()?, words.next());
    let scope = scopes.iter().find(|scope| letter == scope.letter().to_string())?;
    let seconds = time.map(parse_time);
    match (seconds, words.next()) {
        (None, None) => Some((*scope, None)),
        (Some(Some(seconds)), None) => Some((*scope, Some(seconds))),
        _ => None,
    }
}

/// `30m`, `8h`, `7d` in seconds.
fn parse_time(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let each = match unit {
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok().filter(|number| *number > 0)?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_may_expire() {
        let scopes = [OfferedScope::Session, OfferedScope::Project];
        let cases = [
            ("s", Some((OfferedScope::Session, None))),
            ("P", Some((OfferedScope::Project, None))),
            ("p 30m", Some((OfferedScope::Project, Some(1800)))),
            ("p  8h", Some((OfferedScope::Project, Some(28_800)))),
            ("s 7d", Some((OfferedScope::Session, Some(604_800)))),
            ("e", None),
            ("p 0d", None),
            ("p d", None),
            ("p 7", None),
            ("p 7d please", None),
            ("p 99999999999999999999d", None),
            ("p 7€", None),
            ("", None),
        ];
        for (answer, expected) in cases {
            assert_eq!(parse_scope(answer, &scopes), expected, "{answer:?}");
        }
    }
}
