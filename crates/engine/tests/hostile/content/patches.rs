//! LP1 through `apply_patch`, byte for byte.

use serde_json::json;

use super::{PATH, world};
use crate::world::OPENINGS;

enum After {
    Is(&'static [u8]),
    Refused,
}

use After::{Is, Refused};

type Case = (&'static str, &'static [u8], &'static str, After);

/// The file before, the operations, the file after.
const CASES: &[Case] = &[
    ("97 LF", b"a\nb\nc\n", "R\nb\n.\nB\n.", Is(b"a\nB\nc\n")),
    ("97 CRLF", b"a\r\nb\r\nc\r\n", "R\nb\n.\nB\nC\n.", Is(b"a\r\nB\r\nC\r\nc\r\n")),
    ("97 lone CR", b"a\rb\n", "T\nx\n.", Refused),
    ("97 mixed", b"a\nb\r\n", "T\nx\n.", Refused),
    ("98 BOM", b"\xEF\xBB\xBFa\nb\n", "R\na\n.\nA\n.", Is(b"\xEF\xBB\xBFA\nb\n")),
    ("98 BOM, prepended", b"\xEF\xBB\xBFa\n", "B\nx\n.", Is(b"\xEF\xBB\xBFx\na\n")),
    ("99 UTF-16 LE", b"\xFF\xFEa\0\n\0", "T\nx\n.", Refused),
    ("99 UTF-16 BE", b"\xFE\xFF\0a\0\n", "T\nx\n.", Refused),
    ("99 UTF-32 BE", b"\0\0\xFE\xFF\0\0\0a", "T\nx\n.", Refused),
    ("100 Latin-1 elsewhere", b"caf\xe9\nb\n", "R\nb\n.\nB\n.", Is(b"caf\xe9\nB\n")),
    ("100 Latin-1 and new text that is not ASCII", b"caf\xe9\nb\n", "R\nb\n.\n\u{e9}\n.", Refused),
    ("101 NUL elsewhere", b"\0\x01\nb\n", "R\nb\n.\nB\n.", Is(b"\0\x01\nB\n")),
    ("102 no final newline", b"a\nb", "R\nb\n.\nB\n.", Is(b"a\nB")),
    ("102 no final newline, appended", b"a", "T\nb\n.", Is(b"a\nb")),
    ("102 a final newline asked for", b"a", "N +", Is(b"a\n")),
    ("102 a final newline taken", b"a\n", "N -", Is(b"a")),
    ("103 literal", b"a\n", "R\na\n.\n$& $1 \\1 %s &\n.", Is(b"$& $1 \\1 %s &\n")),
    ("104 literal find", b"a.*b\naxxb\n", "R\na.*b\n.\nX\n.", Is(b"X\naxxb\n")),
    ("105 none", b"a\n", "R\nx\n.\ny\n.", Refused),
    ("105 two", b"a\na\n", "R\na\n.\ny\n.", Refused),
    ("105 the second", b"a\na\n", "R 2\na\n.\ny\n.", Is(b"a\ny\n")),
    ("105 overlapping", b"a\na\na\n", "R 2\na\na\n.\nB\n.", Is(b"a\nB\n")),
    ("106 empty find", b"a\n", "R\n.\nx\n.", Refused),
    (
        "107 untouched",
        "\u{201c}q\u{201d} e\u{301}\t \nb\n".as_bytes(),
        "E\nb\n.",
        Is("\u{201c}q\u{201d} e\u{301}\t \n".as_bytes()),
    ),
    ("108 other blanks", b"a\tb\n", "R\na b\n.\nx\n.", Refused),
    ("108 trailing blank", b"a \n", "R\na\n.\nx\n.", Refused),
    (
        "111 no line ends",
        "a\u{2028}b\u{85}c\x0bd\x0ce\nf\n".as_bytes(),
        "R\nf\n.\nF\n.",
        Is("a\u{2028}b\u{85}c\x0bd\x0ce\nF\n".as_bytes()),
    ),
    ("115 a dot", b"a\n", "T\n..\n.", Is(b"a\n.\n")),
    ("115 two dots", b"a\n", "T\n...\n.", Is(b"a\n..\n")),
    (
        "115 the end",
        b"a\n",
        "T\nEND\nLP1\nF x\nR\n# no comment\n\n@@ -1 +1 @@\n.",
        Is(b"a\nEND\nLP1\nF x\nR\n# no comment\n\n@@ -1 +1 @@\n"),
    ),
    ("115 find a dot", b".\nx\n", "R\n..\n.\ny\n.", Is(b"y\nx\n")),
    ("118 empty", b"", "T\nx\n.", Is(b"x")),
    ("118 only newlines", b"\n\n\n", "R 2\n\n.\nx\n.", Is(b"\nx\n\n")),
    ("118 empty with a newline asked for", b"", "N +", Is(b"\n")),
    ("119 a dot file unstuffed", b"a\n", "T\n.env\n.", Refused),
    ("119 occurrence 0", b"a\n", "R 0\na\n.\nx\n.", Refused),
    ("119 occurrence -1", b"a\n", "R -1\na\n.\nx\n.", Refused),
    ("119 occurrence huge", b"a\n", "R 99999999999999999999999\na\n.\nx\n.", Refused),
    ("119 occurrence beyond", b"a\n", "R 4294967296\na\n.\nx\n.", Refused),
    ("119 occurrence with zeroes", b"a\n", "R 01\na\n.\nx\n.", Refused),
    ("119 glued occurrence", b"a\n", "R1\na\n.\nx\n.", Refused),
    ("119 unknown operation", b"a\n", "Foo", Refused),
    ("119 lower case", b"a\n", "t\nx\n.", Refused),
    ("119 text after T", b"a\n", "T now\nx\n.", Refused),
    ("119 no final newline state", b"a\n", "N", Refused),
    ("119 a block without its end", b"a\n", "T\nx", Refused),
    ("119 a missing new block", b"a\n", "R\na\n.", Refused),
];

/// CONT 97-119, FR-TOOL-PATCH-01, the format of `lp1.md`
#[test]
fn every_case_gives_exactly_these_bytes() {
    for opening in OPENINGS {
        let mut world = world(opening);
        for (what, before, operations, after) in CASES {
            world.write(PATH, before);
            world.read(PATH);
            let result = world.patch(&format!("LP1\nF {PATH}\n{operations}\nEND\n"));
            match after {
                Is(bytes) => {
                    assert_eq!(result.error, None, "{what}: {}", result.content);
                    let now = world.file(PATH);
                    assert_eq!(now, *bytes, "{what}: {}", String::from_utf8_lossy(&now));
                }
                Refused => {
                    let told = (what, &result.content);
                    assert_eq!(
                        result.error.map(|code| code.name()),
                        Some("patch_failed"),
                        "{told:?}"
                    );
                    assert_eq!(world.file(PATH), *before, "{what}");
                }
            }
        }
    }
}

/// CONT 116, 119: frames that are no patch.
#[test]
fn a_broken_frame_is_refused() {
    let mut world = world(OPENINGS[0]);
    world.write(PATH, "a\n");
    world.read(PATH);
    let frames = [
        "",
        "LP1",
        "END",
        "LP1\nF edited\nT\nx\n.\n",
        "LP1\nF edited\nT\nx\n.\nEND\njunk\n",
        "LP2\nF edited\nT\nx\n.\nEND\n",
        "lp1\nF edited\nT\nx\n.\nend\n",
        "F edited\nT\nx\n.\nEND\n",
        "LP1\nT\nx\n.\nEND\n",
        "LP1\nF\nT\nx\n.\nEND\n",
        "LP1\nF \"\"\nT\nx\n.\nEND\n",
        "LP1\nF \"edited\nF other\"\nT\nx\n.\nEND\n",
        "LP1\nF \"edited\" other\nT\nx\n.\nEND\n",
        "LP1\nF two words\nT\nx\n.\nEND\n",
        "LP1\nF \"edited\nT\nx\n.\nEND\n",
        "LP1\nF \"a\\nb\"\nT\nx\n.\nEND\n",
        "LP1\nF edited\nT\nx\n.\nLP1\nEND\n",
        "--- a/edited\n+++ b/edited\n@@ -1 +1 @@\n-a\n+b\n",
        "*** Begin Patch\n*** Update File: edited\n*** End Patch\n",
        "\0",
    ];
    for frame in frames {
        let result = world.patch(frame);
        assert_eq!(
            result.error.map(|code| code.name()),
            Some("patch_failed"),
            "{frame:?}: {}",
            result.content
        );
    }
    let result = world.patch(
        "\u{20}LP1 \r\n# comment\r\n\r\nF edited\r\nT\r\nx\r\n.\r\n END\t\r\n\r\n# more\r\n",
    );
    assert_eq!(result.error, None, "I10: {}", result.content);
    assert_eq!(world.file(PATH), b"a\nx\n", "CRLF is the patch's own affair");
}

/// CONT 112, 117: very long lines, and content that JSON can spell but text cannot be.
#[test]
fn a_line_of_twenty_megabytes() {
    let mut world = world(OPENINGS[0]);
    let long = [vec![b'x'; 20 * 1024 * 1024], b"\nshort\n".to_vec()].concat();
    world.write(PATH, &long);
    assert_eq!(world.read(PATH).error.map(|code| code.name()), Some("limits_exceeded"));
    let line = json!({ "path": PATH, "start_line": 1, "end_line": 1 });
    assert_eq!(
        world.call("read_file", line).error.map(|code| code.name()),
        Some("limits_exceeded")
    );
    let far = json!({ "path": PATH, "start_line": 2, "end_line": 2 });
    assert_eq!(world.call("read_file", far).error.map(|code| code.name()), Some("limits_exceeded"));
    let patch = "LP1\nF edited\nR\nshort\n.\nSHORT\n.\nEND\n";
    let refusal = world.patch(patch);
    assert_eq!(refusal.error.map(|code| code.name()), Some("stale_file"));
    assert!(refusal.content.len() < 4000, "the fresh lines are cut: {}", refusal.content.len());
    let result = world.patch(patch);
    assert_eq!(result.error, None, "{}", result.content);
    assert!(world.file(PATH).ends_with(b"x\nSHORT\n"));
    assert_eq!(world.file(PATH).len(), long.len());
}
