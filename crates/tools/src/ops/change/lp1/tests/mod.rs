//! The format against its tables, and against any bytes at all.

mod apply;
mod grammar;
mod locate;
mod messages;
mod properties;

use super::*;

/// The notation of the format's own tables: `⏎` is LF, `␍` is CR, `<BOM>` the byte order mark.
fn plain(text: &str) -> String {
    text.replace('⏎', "\n").replace('␍', "\r").replace("<BOM>", "\u{FEFF}")
}

/// A patch of one section; `body` has its lines separated by `|`.
fn section_text(body: &str) -> String {
    format!("LP1\nF file\n{}\nEND\n", body.replace('|', "\n"))
}

fn section(body: &str) -> Section {
    let mut patch = parse(&section_text(body)).unwrap();
    assert_eq!(patch.sections.len(), 1);
    patch.sections.remove(0)
}
