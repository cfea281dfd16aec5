//! The document's numbers, and how its text is cut and shown.

/// Longer outputs are cut.
pub(super) const MOST_LINES: u64 = 2000;
pub(super) const MOST_BYTES: usize = 50 * 1024;

/// The end of an output, which is where a command says what came of it.
pub(super) fn tail(text: &str, room: usize) -> String {
    let total = text.lines().count();
    let note_room = 80;
    let most_bytes = MOST_BYTES.min(room);
    let most_lines = usize::try_from(MOST_LINES).unwrap_or(usize::MAX);
    if total <= most_lines && text.len() <= most_bytes {
        return text.to_owned();
    }
    let bytes = most_bytes.saturating_sub(note_room);
    let mut start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    // Whole lines, unless there is only one.
    if start > 0
        && !text[..start].ends_with('\n')
        && let Some(end) = text[start..].find('\n')
    {
        start += end + 1;
    }
    let skipped = text[start..].lines().count().saturating_sub(most_lines);
    let start =
        (0..skipped).fold(start, |at, _| at + text[at..].find('\n').map_or(0, |end| end + 1));
    let shown = text[start..].lines().count();
    format!("[the last {shown} of {total} lines]\n{}", &text[start..])
}

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

/// What is done, and in the person's words why.
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
    fn sizes_and_ends() {
        assert_eq!([0, 12_345, 3 << 20].map(format_size), ["0 B", "12.1 KB", "3.0 MB"]);
        let lines = |count: usize| (1..=count).map(|n| format!("{n}\n")).collect::<String>();
        assert_eq!(tail(&lines(2000), 99_999), lines(2000));
        let cut = tail(&lines(2001), 99_999);
        assert!(cut.starts_with("[the last 2000 of 2001 lines]\n2\n"), "{cut:.60}");
        for room in [100, 1000, 5000] {
            let cut = tail(&lines(30_000), room);
            assert!(cut.len() <= room && cut.ends_with("30000\n"), "{room} {}", cut.len());
        }
    }
}
