//! Names that a mistyped one may have meant.
//!
//! Law: the same names give the same answer, best first, and no suggestion is better than a
//! far-fetched one.

use std::cmp::Ordering;
use strsim::damerau_levenshtein;

/// How a candidate resembles what was wanted; a smaller value resembles it more.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    OtherCase,
    Slip,
    Beginning,
    Part,
    Typo { distance: usize },
}

/// The candidates nearest to `wanted`, at most `most`.
pub fn suggest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let folded = wanted.to_lowercase();
    let mut found: Vec<(Likeness, &str)> = candidates
        .into_iter()
        .filter(|&candidate| candidate != wanted)
        .filter_map(|candidate| Some((likeness(&folded, &candidate.to_lowercase())?, candidate)))
        .collect();
    found.sort_by(order);
    found.dedup();
    found.into_iter().take(most).map(|(_, name)| name.to_owned()).collect()
}

/// Among equals the shorter name, which adds least to what was typed.
fn order(left: &(Likeness, &str), right: &(Likeness, &str)) -> Ordering {
    let key = |name: &str| name.chars().count();
    left.0
        .cmp(&right.0)
        .then_with(|| key(left.1).cmp(&key(right.1)))
        .then_with(|| left.1.cmp(right.1))
}

fn likeness(wanted: &str, candidate: &str) -> Option<Likeness> {
    let length = wanted.chars().count();
    if wanted == candidate {
        return Some(Likeness::OtherCase);
    }
    let distance = typo_distance(wanted, candidate);
    let is_one_letter = wanted.chars().nth(1) == Some('.');
    if distance == Some(1) && !is_one_letter {
        return Some(Likeness::Slip);
    }
    // Two letters are part of most names.
    if length >= 1 && candidate.starts_with(wanted) {
        return Some(Likeness::Beginning);
    }
    if length >= 3 && candidate.contains(wanted) {
        return Some(Likeness::Part);
    }
    distance.map(|distance| Likeness::Typo { distance })
}

/// The number of slips between the names, if few enough for the length of the wanted one.
fn typo_distance(wanted: &str, candidate: &str) -> Option<usize> {
    let length = wanted.chars().count();
    // An extension is a poor witness: `ab.rs` and `xy.rs` share most of their letters.
    let stem = wanted.rsplit_once('.').map_or(wanted, |(stem, _)| stem).chars().count();
    // Of a name like `2.txt` one letter may be wrong, and that is all there is to it.
    let most = if stem == 1 && length > 2 { 1 } else { (length / 3).max(1).min(stem / 2) };
    if most == 0 || length.abs_diff(candidate.chars().count()) > most {
        return None;
    }
    Some(damerau_levenshtein(wanted, candidate)).filter(|&distance| distance <= most)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    fn check(wanted: &str, candidates: &[&str], expected: &[&str]) {
        assert_eq!(suggest(wanted, candidates.iter().copied(), 3), expected, "{wanted}");
        let backwards = candidates.iter().rev().copied();
        assert_eq!(suggest(wanted, backwards, 3), expected, "{wanted}, backwards");
    }

    #[test]
    fn near_names_come_best_first() {
        check("mian.rs", &["lib.rs", "main.rs", "mod.rs"], &["main.rs"]);
        check("readme.md", &["README.md", "readme.txt", "src"], &["README.md", "readme.txt"]);
        check("confg", &["configuration", "config", "cargo"], &["config"]);
        check(
            "conf",
            &["config", "configuration", "my_conf.rs"],
            &["config", "configuration", "my_conf.rs"],
        );
        check("main.rss", &["main.rs", "main.c"], &["main.rs"]);
        check("a", &["ab", "abc", "b"], &["ab", "abc"]);
        check("2.txt", &["1.txt", "10.txt", "2.md", "notes.txt"], &["1.txt"]);
        check("2.txt", &["1.txt", "2.txt.bak"], &["2.txt.bak", "1.txt"]);
        check("Übung.txt", &["übung.txt", "ubung.txt"], &["übung.txt", "ubung.txt"]);
        check(
            "parser.rs",
            &["parsers.rs", "sparser.rs", "paser.rs"],
            &["paser.rs", "parsers.rs", "sparser.rs"],
        );
        check("test", &["test_d", "test_c", "test_b", "test_a"], &["test_a", "test_b", "test_c"]);
    }

    #[test]
    fn far_names_are_not_suggested() {
        check("", &["a", "b"], &[]);
        check("a", &["b", "ba", "xay"], &[]);
        check("ab.rs", &["xy.rs", "cd.rs"], &[]);
        check("main.rs", &["main.rs"], &[]);
        check("lib.rs", &["mod.rs", "bin.rs"], &[]);
        check("server.rs", &["client.rs", "store.rs"], &[]);
        check("main.rs", &[], &[]);
        // Half of a short word is another word.
        check("bash", &["task", "bush"], &["bush"]);
        check("grep", &["glob"], &[]);
    }

    #[test]
    fn the_same_name_twice_is_one_suggestion() {
        check("mian", &["main", "main"], &["main"]);
    }

    #[test]
    fn long_names_are_cheap() {
        let wanted = "w".repeat(255);
        let candidates: Vec<String> = (0..20_000).map(|index| format!("{index:0100}")).collect();
        assert_eq!(
            suggest(&wanted, candidates.iter().map(String::as_str), 3),
            Vec::<String>::new()
        );
    }
}
