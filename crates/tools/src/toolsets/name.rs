//! A file's name in an answer that has one name a line.
//!
//! Law: a name is one line, whatever is in it. What would break the line is written as a JSON string
//! writes it, so that the name can be sent back as it stands.

use std::borrow::Cow;

/// Writes a name so that it takes one line.
pub fn on_one_line(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let mut line = String::new();
    for c in name.chars() {
        match c {
            '\n' => line.push_str(r"\n"),
            '\r' => line.push_str(r"\r"),
            '\t' => line.push_str(r"\t"),
            '\\' => line.push_str(r"\\"),
            c if c.is_control() => line.push_str(&format!(r"\u{:04x}", u32::from(c))),
            c => line.push(c),
        }
    }
    Cow::Owned(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json_for_the_name() {
        for name in ["plain é", "a\nb", "tab\there", "esc\x1b[2J\\", "c1\u{9b}", "\r\x7f"] {
            let line = on_one_line(name);
            assert!(!line.contains(char::is_control), "{line:?}");
            assert_eq!(serde_json::from_str::<String>(&format!("\"{line}\"")).unwrap(), name);
        }
        assert_eq!(on_one_line(r"back\slash"), r"back\slash");
    }
}
