//! Words as they are typed at a prompt, with quotes around those that hold spaces, as in a shell.

/// Splits a line at separators that are neither quoted nor behind a backslash. A quote that is not closed is a letter.
pub fn quoted_words(line: &str, is_separator: impl Fn(char) -> bool) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(letter) = rest.next() {
        let ahead = rest.as_str();
        match letter {
            '\'' | '"' if ahead.contains(letter) => {
                let (inside, behind) = ahead.split_once(letter).unwrap_or((ahead, ""));
                word.get_or_insert_default().push_str(inside);
                rest = behind.chars();
            }
            '\\' if ahead.starts_with(|next| is_escaped(next) || is_separator(next)) => {
                word.get_or_insert_default().extend(rest.next());
            }
            letter if is_separator(letter) => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn is_escaped(letter: char) -> bool {
    matches!(letter, '\'' | '"' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_a_word_together() {
        let cases: [(&str, &[&str]); 9] = [
            ("a  b", &["a", "b"]),
            ("'sp ace' b", &["sp ace", "b"]),
            ("d/\"sp ace\"", &["d/sp ace"]),
            (r"sp\ ace", &["sp ace"]),
            (r"back\slash", &[r"back\slash"]),
            ("it's b", &["it's", "b"]),
            ("\"it's\" b", &["it's", "b"]),
            (r"it\'s that\'s", &["it's", "that's"]),
            (" '' ", &[""]),
        ];
        for (line, expected) in cases {
            assert_eq!(quoted_words(line, char::is_whitespace), expected, "{line}");
        }
    }
}
