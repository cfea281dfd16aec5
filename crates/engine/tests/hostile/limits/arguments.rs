//! JSON/LIM 256-266: arguments, names, sizes, numbers.

use std::time::Instant;

use jm_tools::ToolRegistry;
use jm_types::{Limits, ToolCall};
use serde_json::{Value, json};

use super::{errors, raw};
use crate::probe::Probe;
use crate::world::{NOT_HANGING, OPENINGS, Setting, World, quick_disk};

fn world() -> World {
    World::with(Setting { disk: quick_disk(), ..Setting::new(OPENINGS[0]) })
}

/// PATH 26, 27, JSON 256, 258-260, T-VAL-02, FR-VAL-01, FR-VAL-02, FR-REG-02, ARGS 239
#[test]
fn arguments_that_are_not_what_the_schema_says() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let nested = |levels: usize| format!(r#"{{"path": {}}}"#, deep(levels));
    let keys: Vec<String> = (0..20_000).map(|number| format!(r#""k{number}":0"#)).collect();
    let cases: Vec<(&str, String)> = vec![
        ("26 a list", r#"{"path": ["src/a.rs"]}"#.into()),
        ("26 an object", r#"{"path": {"path": "src/a.rs"}}"#.into()),
        ("26 a number", r#"{"path": 1}"#.into()),
        ("26 null", r#"{"path": null}"#.into()),
        ("26 a boolean", r#"{"path": true}"#.into()),
        ("26 missing", "{}".into()),
        ("26 another case", r#"{"Path": "src/a.rs"}"#.into()),
        ("27 a lone surrogate", r#"{"path": "\ud800"}"#.into()),
        ("27 surrogates the wrong way round", r#"{"path": "\udc00\ud800"}"#.into()),
        ("239 switches off the sandbox", r#"{"path": "src/a.rs", "sandbox": false}"#.into()),
        ("239 approves itself", r#"{"path": "src/a.rs", "approve": true}"#.into()),
        ("239 takes its time", r#"{"path": "src/a.rs", "timeout": 999999}"#.into()),
        ("256 127 deep", nested(126)),
        ("256 128 deep", nested(127)),
        ("256 129 deep", nested(128)),
        ("256 100 000 deep", nested(100_000)),
        ("256 unclosed", format!(r#"{{"path": {}"#, "[".repeat(100_000))),
        ("256 objects unclosed", r#"{"a":"#.repeat(40_000)),
        ("257 20 000 keys", format!("{{{}}}", keys.join(","))),
        ("258 a key twice", r#"{"path": "src/a.rs", "path": "../x/secret"}"#.into()),
        ("258 a key twice, escaped", r#"{"path": "src/a.rs", "p\u0061th": "x"}"#.into()),
        ("258 a long key twice", {
            let key = "k".repeat(100_000);
            format!(r#"{{"{key}": 1, "{key}": 2}}"#)
        }),
        ("259 not a number", r#"{"path": "src/a.rs", "start_line": NaN}"#.into()),
        ("259 infinity", r#"{"path": "src/a.rs", "start_line": 1e400}"#.into()),
        ("259 minus zero", r#"{"path": "src/a.rs", "start_line": -0}"#.into()),
        ("259 2^53 + 1", r#"{"path": "src/a.rs", "start_line": 9007199254740993}"#.into()),
        ("259 2^64", r#"{"path": "src/a.rs", "start_line": 18446744073709551616}"#.into()),
        ("259 hexadecimal", r#"{"path": "src/a.rs", "start_line": 0x1}"#.into()),
        ("260 a mark", "\u{feff}{\"path\": \"src/a.rs\"}".into()),
        ("260 a comment", r#"{"path": "src/a.rs" /* c */}"#.into()),
        ("260 a trailing comma", r#"{"path": "src/a.rs",}"#.into()),
        ("260 text behind", r#"{"path": "src/a.rs"} and more"#.into()),
        ("260 two documents", r#"{"path": "src/a.rs"}{"path": "src/a.rs"}"#.into()),
        ("260 single quotes", "{'path': 'src/a.rs'}".into()),
        ("260 a bare string", r#""src/a.rs""#.into()),
        ("260 a bare word", "src/a.rs".into()),
        ("260 a bare list", r#"["src/a.rs"]"#.into()),
        ("260 null", "null".into()),
        ("260 nothing", String::new()),
        ("260 blanks", "  \n".into()),
        ("260 a raw newline in a string", "{\"path\": \"src/\na.rs\"}".into()),
        ("260 a raw NUL", "{\"path\": \"src/a.rs\"}\0".into()),
        ("260 cut", r#"{"path": "src/a."#.into()),
    ];
    let mut world = world();
    for (what, arguments) in cases {
        let began = Instant::now();
        let result = world.batch(vec![raw("read_file", arguments)]).remove(0);
        assert_eq!(
            result.error.map(|code| code.name()),
            Some("bad_args"),
            "{what}: {}",
            result.content
        );
        assert!(began.elapsed() < NOT_HANGING, "{what}: {:?}", began.elapsed());
    }
    let padded = format!("{}{}", " ".repeat(1000), r#"{ "path" : "src\/a.rs" }"#);
    let result = world.batch(vec![raw("read_file", padded)]).remove(0);
    assert_eq!(result.content, "one\ntwo\nthree\n", "I10");
}

/// LIM 257, FR-LIM-03, FR-LIM-06: at the limit, one above, far above; the others still run.
#[test]
fn arguments_at_and_above_the_limit() {
    let mut world = world();
    let limit = Limits::default().args_bytes;
    let of_size = |path: &str, size: usize| {
        let empty = json!({ "path": path, "content": "" }).to_string().len();
        json!({ "path": path, "content": "c".repeat(size - empty) })
    };
    let calls = vec![
        ToolCall::new("1", "write_file", &of_size("at", limit)),
        ToolCall::new("2", "write_file", &of_size("above", limit + 1)),
        ToolCall::new("3", "write_file", &of_size("far", 1 << 20)),
        ToolCall::new("4", "read_file", &json!({ "path": "src/a.rs" })),
    ];
    assert_eq!(calls[0].arguments.len(), limit);
    let results = world.batch(calls);
    let over = Some("limits_exceeded");
    assert_eq!(errors(&results), [None, over, over, None]);
    assert!(results[1].content.contains(&limit.to_string()), "{}", results[1].content);
}

/// LIM 265, FR-LIM-04, FR-LIM-06
#[test]
fn a_patch_at_and_above_the_limit() {
    let limits = Limits { args_bytes: 4 << 20, ..Limits::default() };
    let mut world =
        World::with(Setting { limits, disk: quick_disk(), ..Setting::new(OPENINGS[0]) });
    let of_size = |size: usize| {
        let frame = "LP1\nF new\nT\n\n.\nEND\n".len();
        format!("LP1\nF new\nT\n{}\n.\nEND\n", "l".repeat(size - frame))
    };
    let most = Limits::default().patch_bytes;
    assert_eq!(
        world.patch(&of_size(most + 1)).error.map(|code| code.name()),
        Some("limits_exceeded")
    );
    assert_eq!(world.patch(&of_size(most)).error, None);
}

fn reads(count: usize) -> Vec<ToolCall> {
    let call =
        |number| ToolCall::new(format!("c{number}"), "read_file", &json!({ "path": "src/a.rs" }));
    (0..count).map(call).collect()
}

/// T-LIM-01, FR-LIM-01, FR-LIM-06, FR-EXE-02, NFR-REL-01: the first eight run, each of the others
/// is told.
#[test]
fn more_calls_than_a_batch_may_have() {
    for count in [8, 9, 1000] {
        let results = world().batch(reads(count));
        assert_eq!(results.len(), count);
        for (number, result) in results.iter().enumerate() {
            let expected = (number >= 8).then_some("limits_exceeded");
            assert_eq!(result.error.map(|code| code.name()), expected, "{number} of {count}");
        }
    }
    assert!(world().batch(Vec::new()).is_empty());
}

/// LIM 263, FR-VAL-02a: the first of two with one id runs, the second does not.
#[test]
fn ids_that_are_the_same_missing_or_used_before() {
    let mut world = world();
    let twice = |id: &str, path: &str| {
        ToolCall::new(id, "write_file", &json!({ "path": path, "content": "" }))
    };
    let results =
        world.batch(vec![twice("a", "1"), twice("a", "2"), twice("b", "3"), twice("a", "4")]);
    let duplicate = Some("duplicate_tool_call_id");
    assert_eq!(errors(&results), [None, duplicate, None, duplicate]);
    assert!(!world.root.join("2").exists() && !world.root.join("4").exists());
    let results = world.batch(vec![twice("a", "5")]);
    assert_eq!(errors(&results), [None], "an id of an earlier batch");
    let results = world.batch(vec![twice("", "6"), twice("", "7")]);
    assert_eq!(errors(&results), [None, None], "no ids");
    assert_ne!(results[0].call_id, results[1].call_id);
    let hostile = format!("\u{1b}]0;x\u{7}\n{}", "i".repeat(200_000));
    let results = world.batch(vec![twice(&hostile, "8"), twice(&hostile, "9")]);
    assert_eq!(errors(&results), [None, duplicate]);
}

/// LIM 264, FR-LIM-02, FR-RES-03: the fifth batch of a turn is refused, the next turn starts anew.
#[test]
fn more_iterations_than_a_turn_may_have() {
    let mut world = world();
    for number in 1..=6 {
        world.sessions[0].submit(reads(2)).unwrap();
        world.run(0);
        let results: Vec<_> = world.sessions[0].results().unwrap().into_iter().cloned().collect();
        let expected = (number > 4).then_some("limits_exceeded");
        assert_eq!(errors(&results), [expected, expected], "batch {number}");
        if number > 4 {
            assert!(results[0].content.contains("Max tool iterations reached"));
        }
    }
    assert_eq!(errors(&world.batch(reads(1))), [None]);
}

/// ARGS 241, T-VAL-01, FR-VAL-01: names that are nearly a tool's are no tool's, and nobody is
/// asked.
#[test]
fn names_that_no_tool_has() {
    let mut world = world();
    let long = "n".repeat(10_000);
    let longer = "n".repeat(1_000_000);
    let names = [
        "",
        " ",
        "Read_File",
        "read_file ",
        " read_file",
        "read_file\0",
        "read-file",
        "readfile",
        "r\u{435}ad_file",
        "read_file\u{200b}",
        "../read_file",
        "read_file\n",
        "\u{1b}[31m",
        "*",
        "nope",
        &long,
        &longer,
    ];
    for name in names {
        let calls = vec![raw(name, r#"{"path": "src/a.rs"}"#)];
        world.sessions[0].begin_turn();
        world.sessions[0].submit(calls.clone()).unwrap();
        let moment = world.moment();
        assert_eq!(world.run(0), jm_engine::Pause::Finished, "{name:.20}: no prompt");
        let results: Vec<_> = world.sessions[0].results().unwrap().into_iter().cloned().collect();
        assert_eq!(errors(&results), [Some("unknown_tool")], "{name:.20}");
        world.check(&moment, &calls, &results);
    }
}

/// FR-REG-02: what fits is parsed once, and what was parsed is what the tool works with.
#[test]
fn arguments_that_fit_reach_the_tool_as_they_were_parsed() {
    let mut world = world();
    let whole = world.batch(vec![raw("read_file", r#"{"path": "src/a.rs"}"#)]).remove(0);
    assert_eq!(whole.error, None, "{}", whole.content);
    let first = whole.content.lines().next().unwrap();
    for spelling in [
        r#"{"path": "src/\u0061.rs", "start_line": 1, "end_line": 1}"#,
        "{ \"end_line\" : 1.0,\n\"start_line\":1 , \"path\":\"src/a.rs\" }",
        r#"{"path": "src/./a.rs", "start_line": 1e0, "end_line": 1}"#,
    ] {
        world.sessions[0].begin_turn();
        let read = world.batch(vec![raw("read_file", spelling)]).remove(0);
        assert_eq!(read.error, None, "{spelling}: {}", read.content);
        assert_eq!(read.content.trim_end(), first, "{spelling}");
    }
}

/// LIM 266, FR-VAL-01a: schemas of tools that somebody else wrote. Whatever draft one names, it is read
/// as Draft 2020-12.
#[test]
fn schemas_that_loop_or_lead_elsewhere() {
    let doubling = |levels: usize| {
        let mut schemas = json!({ "s0": { "type": "string" } });
        for level in 1..=levels {
            let below = json!({ "$ref": format!("#/$defs/s{}", level - 1) });
            schemas[format!("s{level}")] = json!({ "allOf": [below, below] });
        }
        json!({ "$defs": schemas, "properties": { "a": { "$ref": format!("#/$defs/s{levels}") } } })
    };
    let elsewhere = |address: &str| json!({ "properties": { "a": { "$ref": address } } });
    let cases: Vec<(&str, Value, Option<bool>)> = vec![
        ("itself", json!({ "properties": { "a": { "$ref": "#" } } }), Some(true)),
        ("a loop of nothing", json!({ "$ref": "#" }), None),
        ("the network", elsewhere("http://127.0.0.1:9/schema.json"), Some(false)),
        ("a file", elsewhere("file:///etc/passwd"), Some(false)),
        ("a relative file", elsewhere("other.json"), Some(false)),
        ("no schema", json!({ "type": "nonsense" }), Some(false)),
        ("not an object", json!([1]), Some(false)),
        (
            "another draft, which knows no prefixItems",
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": { "a": { "type": "object" }, "b": { "prefixItems": [{ "type": "string" }] } },
            }),
            Some(false),
        ),
        (
            "another draft, in which this word is a boolean",
            json!({
                "$schema": "http://json-schema.org/draft-04/schema#",
                "properties": { "b": { "minimum": 0, "exclusiveMinimum": true } },
            }),
            Some(false),
        ),
        ("a bad expression", json!({ "properties": { "a": { "pattern": "(" } } }), Some(false)),
        (
            "ten thousand properties",
            {
                let names = (0..10_000).map(|n| (format!("p{n}"), json!({ "type": "string" })));
                json!({ "properties": Value::Object(names.collect()) })
            },
            Some(true),
        ),
        ("doubled twelve times", doubling(12), Some(true)),
    ];
    for (what, schema, expected) in cases {
        let began = Instant::now();
        let mut probe = Probe::says("probe");
        probe.schema = schema;
        let registry = ToolRegistry::new([probe.boxed()]).unwrap();
        let tool = registry.lookup("probe").unwrap();
        let outcome = tool.validate(&json!({ "a": {}, "b": [1] }));
        let outcome = match what {
            "doubled twelve times" => tool.validate(&json!({ "a": "text" })),
            _ => outcome,
        };
        if let Some(fine) = expected {
            assert_eq!(outcome.is_ok(), fine, "{what}: {outcome:?}");
        }
        assert!(began.elapsed() < NOT_HANGING, "{what}: {:?}", began.elapsed());
    }
}
