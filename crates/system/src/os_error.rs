//! The system's words for an error number (errno).

use rustix::io::Errno;

/// The text of an error without its number, beginning with a small letter.
pub fn errno_text(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_left_out() {
        assert_eq!(errno_text(Errno::NOENT), "no such file or directory");
        assert_eq!(errno_text(Errno::PERM), "operation not permitted");
    }
}
