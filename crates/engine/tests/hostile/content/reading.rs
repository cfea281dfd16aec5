//! Reading: what is text, what is binary, how much of it.

use jm_types::Limits;
use serde_json::{Value, json};

use super::{PATH, world};
use crate::world::{OPENINGS, Setting, World, quick_disk};

const SNIFF: usize = 8192;

/// CONT 100, 101, 113, FR-TOOL-READ-01: text comes as it is, everything else as base64.
#[test]
fn text_and_binary_are_told_apart() {
    let padded = |tail: &[u8], at: usize| [vec![b'a'; at], tail.to_vec()].concat();
    let cases: Vec<(&str, Vec<u8>, bool)> = vec![
        ("plain", b"text\n".to_vec(), true),
        ("empty", Vec::new(), true),
        ("UTF-8", "\u{e9}\u{1f600}\n".into(), true),
        ("a BOM", b"\xEF\xBB\xBFa\n".to_vec(), true),
        ("CRLF and a lone CR", b"a\r\nb\rc".to_vec(), true),
        ("Latin-1", b"caf\xe9\n".to_vec(), false),
        ("a NUL", b"a\0b".to_vec(), false),
        ("UTF-16", b"\xFF\xFEa\0".to_vec(), false),
        ("cut at the end of the file", b"a\xe2\x82".to_vec(), false),
        ("113 whole before the border", padded("\u{e9}b".as_bytes(), SNIFF - 2), true),
        ("113 across the border", padded("\u{e9}b".as_bytes(), SNIFF - 1), true),
        ("113 four bytes across the border", padded("\u{1f600}b".as_bytes(), SNIFF - 2), true),
        ("113 broken across the border", padded(b"\xc3x", SNIFF - 1), false),
        ("113 cut at the border, which is the end", padded(b"\xc3", SNIFF - 1), false),
        ("113 a NUL behind the border", padded(b"a\0", SNIFF), true),
        ("113 Latin-1 behind the border", padded(b"a\xe9b", SNIFF), false),
    ];
    for opening in OPENINGS {
        let mut world = world(opening);
        for (what, bytes, is_text) in &cases {
            world.write(PATH, bytes);
            let result = world.read(PATH);
            assert_eq!(result.error, None, "{what}: {}", result.content);
            if *is_text {
                assert_eq!(result.content.as_bytes(), bytes, "{what}");
            } else {
                assert!(result.content.starts_with("[binary:base64]\n"), "{what}");
            }
        }
    }
}

/// CONT 114, FR-TOOL-READ-01b, T-OUT-01: base64 is whole, and never longer than the limit.
#[test]
fn base64_keeps_to_the_limit_by_itself() {
    for limit in (0..64).chain([100, 1000, 65_536]) {
        let limits = Limits { output_bytes: limit, ..Limits::default() };
        let setting = Setting { limits, disk: quick_disk(), ..Setting::new(OPENINGS[0]) };
        let mut world = World::with(setting);
        world.write(PATH, [0_u8, 0xff].repeat(100_000));
        let result = world.read(PATH);
        assert!(result.content.len() <= limit, "{limit}: {}", result.content.len());
        if let Some((header, body)) = result.content.split_once('\n').filter(|_| !result.is_error())
        {
            assert_eq!(header, "[binary:base64][truncated]");
            assert_eq!(body.len() % 4, 0, "{limit}");
        }
    }
}

/// CONT 110, 111, T-READ-01: ranges that are none.
#[test]
fn ranges_of_lines() {
    let cases: Vec<(Value, Result<&str, &str>)> = vec![
        (json!({ "start_line": 2 }), Ok("two\r\nthree\u{2028}3\n")),
        (json!({ "start_line": 1, "end_line": 1 }), Ok("one\n")),
        (json!({ "end_line": 2 }), Ok("one\ntwo\r\n")),
        (json!({ "start_line": 2, "end_line": 4_294_967_295_u64 }), Ok("two\r\nthree\u{2028}3\n")),
        (json!({ "start_line": 0 }), Err("bad_args")),
        (json!({ "end_line": 0 }), Err("bad_args")),
        (json!({ "start_line": -1 }), Err("bad_args")),
        (json!({ "start_line": 1.5 }), Err("bad_args")),
        (json!({ "start_line": "1" }), Err("bad_args")),
        (json!({ "start_line": 4_294_967_296_u64 }), Err("bad_args")),
        (json!({ "start_line": u64::MAX }), Err("bad_args")),
        (json!({ "start_line": 1e300 }), Err("bad_args")),
        (json!({ "start_line": 3, "end_line": 2 }), Err("bad_args")),
        (json!({ "start_line": 4 }), Err("bad_args")),
        (json!({ "start_line": [1] }), Err("bad_args")),
        (json!({ "start_line": true }), Err("bad_args")),
    ];
    for opening in OPENINGS {
        let mut world = world(opening);
        world.write(PATH, "one\ntwo\r\nthree\u{2028}3\n");
        for (args, expected) in &cases {
            let mut args = args.clone();
            args["path"] = json!(PATH);
            let result = world.call("read_file", args.clone());
            let answer = match &result.error {
                None => Ok(result.content.as_str()),
                Some(kind) => Err(kind.name()),
            };
            assert_eq!(answer, *expected, "{args}: {}", result.content);
        }
        world.write(PATH, b"a\0b\n");
        let binary = world.call("read_file", json!({ "path": PATH, "start_line": 1 }));
        assert_eq!(binary.error.map(|code| code.name()), Some("bad_args"));
    }
}

/// FR-LIM-05, FR-TOOL-READ-01a, T-READ-02: scanning for lines is bounded.
#[test]
fn lines_far_from_the_start() {
    let mut world = world(OPENINGS[0]);
    world.write(PATH, "0123456789abcde\n".repeat(200_000));
    let near = world
        .call("read_file", json!({ "path": PATH, "start_line": 100_000, "end_line": 100_001 }));
    assert_eq!(near.content, "0123456789abcde\n0123456789abcde\n", "I10");
    let far = json!({ "path": PATH, "start_line": 150_000, "end_line": 150_001 });
    let far = world.call("read_file", far);
    assert_eq!(far.error.map(|code| code.name()), Some("limits_exceeded"));
    assert!(far.content.contains("narrow the range"), "{}", far.content);
    let whole = world.read(PATH);
    assert_eq!(whole.error.map(|code| code.name()), Some("limits_exceeded"));
    assert!(whole.content.contains("start_line"), "{}", whole.content);
}

/// CONT 117: escapes that JSON has and text has not.
#[test]
fn content_that_json_can_spell() {
    let mut world = world(OPENINGS[0]);
    let result = world.call("write_file", json!({ "path": "nul", "content": "a\u{0}b" }));
    assert_eq!(result.error, None, "{}", result.content);
    assert_eq!(world.file("nul"), b"a\0b");
    let raw = r#"{"path": "lone", "content": "\ud800"}"#;
    let call =
        jm_types::ToolCall { id: "c".into(), name: "write_file".into(), arguments: raw.into() };
    let result = world.batch(vec![call]).remove(0);
    assert_eq!(result.error.map(|code| code.name()), Some("bad_args"), "{}", result.content);
}
