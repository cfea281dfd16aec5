//! A change as a person reads it.

use std::time::Duration;

use jm_types::text::one_line;
use similar::{Algorithm, TextDiff};

/// Past this, finding the smallest diff gives way to finding one soon.
const PATIENCE: Duration = Duration::from_millis(200);
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// A unified diff; a missing side is `/dev/null`.
pub fn unified_diff(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    // A name must not be able to look like lines of the diff.
    let path = one_line(path);
    let name = |side: &str, bytes: Option<&[u8]>| match bytes {
        Some(_) => format!("{side}/{}", path.trim_start_matches('/')),
        None => "/dev/null".to_owned(),
    };
    let (old_name, new_name) = (name("a", before), name("b", after));
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    if old.len() + new.len() > MOST_BYTES || is_binary(old) || is_binary(new) {
        let (was, is) = (old.len(), new.len());
        return format!("--- {old_name}\n+++ {new_name}\n({was} bytes become {is} bytes)\n");
    }
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_lines(&*old, &*new);
    diff.unified_diff().context_radius(3).header(&old_name, &new_name).to_string()
}

/// One NUL must not hide the text around it from whoever is asked.
fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some() && std::str::from_utf8(bytes).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_a_creation_and_a_binary_file() {
        let change = unified_diff("f", Some(b"a\nb\n"), Some(b"a\nc\n"));
        assert_eq!(change, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert!(unified_diff("f", None, Some(b"x\n")).starts_with("--- /dev/null\n+++ b/f\n"));
        assert!(unified_diff("/abs/f", None, Some(b"x\n")).contains("+++ b/abs/f\n"));
        assert!(unified_diff("f", Some(b"\xff\0"), Some(b"")).contains("2 bytes become 0 bytes"));
    }

    #[test]
    fn a_nul_hides_nothing() {
        let change = unified_diff("f", Some(b"a\n"), Some(b"a\nrm -rf ~ #\0\n"));
        assert!(change.ends_with("+rm -rf ~ #\0\n"), "{change:?}");
    }
}
