//! The length of a text as JSON, without writing it.

/// How many bytes a string takes inside the quotes of JSON.
pub fn json_length(text: &str) -> usize {
    text.chars().map(json_length_of).sum()
}

/// The same of one character.
pub fn json_length_of(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_length_in_json_is_what_the_serialiser_writes() {
        let all: String = (0..0x300).filter_map(char::from_u32).chain(['😀', '\u{2028}']).collect();
        for c in all.chars() {
            let written = Value::from(c.to_string()).to_string().len() - 2;
            assert_eq!(json_length(&c.to_string()), written, "{c:?}");
        }
        assert_eq!(json_length(&all), Value::from(all).to_string().len() - 2);
    }
}
