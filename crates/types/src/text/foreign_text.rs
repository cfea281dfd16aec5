//! Letters of other scripts that look like ASCII ones, found where they stand among ASCII letters.
//!
//! Law: a word of one script is left as it is; only a word that mixes them is suspicious.

/// Letters whose usual shapes are those of ASCII letters: Cyrillic, Greek, Armenian, and a few others.
const ALIKE: &str = "\
    аеорсухіјѕһԁԛԝӏАВЕЗКМНОРСТУХІЈЅҮԌԚԜ\
    οανιυρχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ\
    օոսցհ\
    ıɑɡɩʏꞌℓ";

/// Tells whether a letter of another script looks like an ASCII letter, digit or sign.
fn is_alike(c: char) -> bool {
    let is_wide = matches!(c, '\u{ff01}'..='\u{ff5e}');
    let is_mathematical = matches!(c, '\u{1d400}'..='\u{1d7ff}');
    is_wide || is_mathematical || ALIKE.contains(c)
}

/// The places of look-alikes, as byte offsets in order: those in a word that has ASCII letters too. A Greek
/// question mark counts wherever it stands, because it is a semicolon to the eye.
pub(crate) fn look_alike_places(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut places = Vec::new();
    let (mut found, mut has_ascii) = (Vec::new(), false);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphanumeric() || is_alike(c) {
            has_ascii |= c.is_ascii_alphabetic();
            if is_alike(c) {
                found.push(at);
            }
            continue;
        }
        if has_ascii {
            places.append(&mut found);
        }
        (found, has_ascii) = (Vec::new(), false);
        if c == '\u{37e}' {
            places.push(at);
        }
    }
    places
}

/// The words that hold look-alikes, each once, for a warning.
pub fn words_with_look_alikes(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for place in look_alike_places(text) {
        let is_end = |c: char| c.is_whitespace();
        let start = text[..place]
            .rfind(is_end)
            .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let end = text[place..].find(is_end).map_or(text.len(), |length| place + length);
        let word = &text[start..end];
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_mix_scripts_are_suspicious() {
        let cases: &[(&str, &[&str])] = &[
            ("cat notes", &[]),
            ("cаt notes", &["cаt"]),
            ("привет мир сор", &[]),
            ("echo сор", &[]),
            ("./gіt status; gіt log", &["./gіt", "gіt"]),
            ("ｌs -la ls\u{37e} rm", &["ｌs", "ls\u{37e}"]),
            ("Δt in μs, größe, naïve, 東京tower", &[]),
            ("exаmple.com", &["exаmple.com"]),
            ("𝚛m x", &["𝚛m"]),
        ];
        for (text, words) in cases {
            assert_eq!(words_with_look_alikes(text), *words, "{text}");
        }
    }
}
