//! The Gemini agent's manual test plan, automated.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::desk::{Desk, Ran, lines, on_every_wire};

/// One message with these calls, and the model's last word.
fn turns(calls: &[&str]) -> String {
    format!(
        "[[turn]]\nsteps = [{}]\n[[turn]]\nsteps = [{{ text = \"Seen.\" }}]\n",
        calls.join(", ")
    )
}

fn run(desk: &Desk, calls: &[&str]) -> (Ran, Vec<Value>) {
    let ran = desk.run(&turns(calls), &["--toolset", "gemini", "--json"]);
    assert_eq!((ran.code, ran.requests.len()), (0, 2), "{ran:?}");
    let results = lines(&ran.out, |line| line["type"] == "result");
    let contents = results
        .iter()
        .map(|line| serde_json::from_str(line["result"]["content"].as_str().unwrap()).unwrap());
    let contents = contents.collect();
    (ran, contents)
}

/// GO-PLAN, first point: nothing outside the root is read or written.
#[test]
fn sandboxing() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire);
        let outside = tempfile::tempdir().unwrap();
        symlink("/etc", desk.path("etc")).unwrap();
        symlink(outside.path(), desk.path("out")).unwrap();
        let calls = [
            r#"{ call = "read_file", args = { path = "../" } }"#,
            r#"{ call = "read_file", args = { path = "etc/hosts" } }"#,
            r#"{ call = "read_file", args = { path = "/etc/hosts" } }"#,
            r#"{ call = "write_file", args = { path = "out/made", content = "" } }"#,
            r#"{ call = "list_files", args = { path = "etc" } }"#,
        ];
        let (_, results) = run(&desk, &calls);
        for result in &results {
            assert_eq!(result["error"]["code"], "permission_denied", "{wire}: {results:?}");
        }
        assert_eq!(results.len(), calls.len());
        assert!(std::fs::read_dir(outside.path()).unwrap().next().is_none());
    });
}

/// GO-PLAN, second point: two calls of one message both run, and one message answers both.
#[test]
fn two_calls_in_one_message() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("a", "first\n").with_file("b", "second\n");
        let calls = [
            r#"{ call = "read_file", args = { path = "a" } }"#,
            r#"{ call = "read_file", args = { path = "b" } }"#,
        ];
        let (ran, results) = run(&desk, &calls);
        let contents: Vec<&Value> = results.iter().map(|one| &one["data"]["content"]).collect();
        assert_eq!(contents, ["first\n", "second\n"], "{wire}");
        let answer = Value::from(ran.history(1)).to_string();
        assert!(answer.contains("first") && answer.contains("second"), "{wire}");
    });
}

/// GO-PLAN, fourth point: a file that is not there is an error with a suggestion. The third is the
/// terminal's own (`words_appear_as_they_come`).
#[test]
fn the_error_envelope() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("main.go", "package main\n");
        let (_, results) = run(&desk, &[r#"{ call = "read_file", args = { path = "mian.go" } }"#]);
        assert_eq!(results[0]["ok"], false, "{wire}");
        assert_eq!(results[0]["error"]["code"], "not_found", "{wire}");
        let suggestions = results[0]["error"]["suggestions"].to_string();
        assert!(suggestions.contains("main.go"), "{wire}: {suggestions}");
    });
}
