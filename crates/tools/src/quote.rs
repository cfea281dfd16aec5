//! Words and values as a question shows them.

/// One line, or a heading with indented lines, so that no value looks like another question_entry.
pub(crate) fn question_entry(name: &str, value: &str) -> String {
    if !value.contains('\n') {
        return format!("{name}: {value}\n");
    }
    let lines: String = value.lines().map(|line| format!("  {line}\n")).collect();
    format!("{name}:\n{lines}")
}

/// The words of a command as one would type them, so that their borders can be seen.
pub fn quote_words(words: &[String]) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(is_safe) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
