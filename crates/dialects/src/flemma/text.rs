//! The document's numbers, and how its text is cut and shown.

use jm_tools::ops::tail::Last;

/// Longer outputs are cut.
pub(super) const MOST_LINES: u64 = 2000;
pub(super) const MOST_BYTES: usize = 50 * 1024;

/// The end of an output, which is where a command says what came of it (FL-EXEC).
pub(super) const LAST: Last = Last { lines: 2000, bytes: MOST_BYTES };

/// `12345` as `12.1 KB`.
pub(super) fn format_size(bytes: usize) -> String {
    const STEP: f64 = 1024.0;
    let size = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KB", size / STEP),
        _ => format!("{:.1} MB", size / STEP / STEP),
    }
}

/// The summary of a call, and behind it the reason in the caller's own words.
pub(super) fn labelled(what: String, label: Option<&str>) -> String {
    match label.filter(|label| !label.is_empty()) {
        Some(label) => format!("{what}  # {label}"),
        None => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!([0, 12_345, 3 << 20].map(format_size), ["0 B", "12.1 KB", "3.0 MB"]);
    }
}
