//! NAME: names that are hard to show, to compare or to pass on. All of them are only names.

use super::{FILE, Fails, LITERAL, Row, Skip, Wants, Works, row};

/// list_directory trims what it is given, so blanks at the ends reach another name.
const TRIMMED: Wants = [Works, Skip, Fails("io_error"), Works];
/// LP1 has no way to write a line break in a path.
const NOT_IN_A_PATCH: Wants = [Works, Fails("io_error"), Fails("io_error"), Fails("patch_failed")];

pub(super) fn rows() -> Vec<Row> {
    let existing: &[(u16, &'static str, &str, Wants)] = &[
        (84, "a newline", "a\nb", NOT_IN_A_PATCH),
        (84, "a carriage return", "a\rb", FILE),
        (84, "an escape", "\u{1b}[31mred", FILE),
        (84, "a title", "\u{1b}]0;owned\u{7}", FILE),
        (84, "a clipboard", "\u{1b}]52;c;b3duZWQ=\u{7}", FILE),
        (84, "delete", "a\u{7f}b", FILE),
        (84, "a C1 control", "a\u{9b}31mb", FILE),
        (84, "a bell", "a\u{7}b", FILE),
        (86, "an option", "-rf", FILE),
        (86, "a long option", "--help", FILE),
        (86, "an option with a value", "--pre=x", FILE),
        (88, "composed", "caf\u{e9}", FILE),
        (88, "decomposed", "cafe\u{301}", FILE),
        (89, "right to left", "a\u{202e}sr.txt", FILE),
        (89, "a zero width blank", "a\u{200b}b", FILE),
        (89, "tag characters", "a\u{e0041}\u{e0042}", FILE),
        (89, "a homoglyph", "\u{441}onfig", FILE),
        (90, "a trailing blank", "name ", TRIMMED),
        (90, "a leading blank", " name", TRIMMED),
        (90, "a trailing dot", "name.", FILE),
        (90, "quotes", "a\"b'c", FILE),
        (90, "a backslash", r"a\b", FILE),
        (90, "a format", "%n%s%x", FILE),
        (90, "a glob", "*.rs", FILE),
        (90, "a class", "[a-z]?{x,y}", FILE),
        (90, "the end of a patch", "END", FILE),
        (90, "a hash", "#comment", FILE),
        (90, "an emoji", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}", FILE),
    ];
    let long = "n".repeat(255);
    let mut rows: Vec<Row> = existing
        .iter()
        .map(|(case, what, name, wants)| row(*case, what, *name, *wants).file(name))
        .collect();
    rows.push(row(91, "255 bytes, new", &*long, LITERAL));
    rows.push(row(91, "255 bytes, there", &*long, FILE).file(&long));
    rows.push(row(90, "all globs are literal", "*", LITERAL));
    rows.push(row(94, "a hundred levels", format!("{}f", "d/".repeat(100)), LITERAL));
    rows.push(row(16, "beside an empty directory", "e/f", LITERAL).directory("e"));
    rows
}
