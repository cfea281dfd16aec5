//! The word that a person probably meant.

/// The candidate nearest to a word, if one is near enough to be a slip.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Distance costs the product of the lengths, and a file may hold a name of a megabyte.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let slips = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The hint that goes with [`nearest`].
pub(super) fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let words = ["allow_absolute", "denied_patterns", "mode", "auto"];
        for (word, expected) in [
            ("alow_absolute", Some("allow_absolute")),
            ("Mode", Some("mode")),
            ("moed", Some("mode")),
            ("denied-patterns", Some("denied_patterns")),
            ("otua", None),
            ("temperature", None),
            ("", None),
            (&"m".repeat(65), None),
        ] {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
