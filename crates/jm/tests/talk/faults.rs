//! Faults of vendors on bad days, and what becomes of the turn.

use crate::desk::{DONE, Desk, WIRES, in_parallel};

struct Case {
    name: &'static str,
    turns: &'static str,
    code: i32,
    /// The text that the person sees: of the answer, and of the trouble.
    out: &'static str,
    err: &'static str,
    /// How often the model was asked.
    requests: usize,
}

const CASES: &[Case] = &[
    Case {
        name: "a call that the limit of tokens cut is answered, not run",
        turns: r#"
[[turn]]
stop = "max_tokens"
steps = [
  { text = "I write." },
  { call = "write_file", args = { path = "whole", content = "1" } },
  { call = "write_file", args = { path = "cut", content = "2" } },
]
[[turn]]
expect = { results_contain = ["Created whole", "limit of tokens"] }
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "I write.\nDone.\n",
        err: "reached its limit of tokens",
        requests: 2,
    },
    Case {
        name: "the only call is cut",
        turns: r#"
[[turn]]
stop = "max_tokens"
steps = [{ call = "write_file", args = { path = "cut", content = "2" } }]
[[turn]]
expect = { results_contain = ["limit of tokens"] }
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "Done.\n",
        err: "reached its limit of tokens",
        requests: 2,
    },
    Case {
        name: "too many requests",
        turns: r#"
[[turn]]
status = 429
headers = { retry-after = "0" }
[[turn]]
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "Done.\n",
        err: "retrying in 0 ms",
        requests: 2,
    },
    Case {
        name: "trouble at the vendor that passes",
        turns: r#"
[[turn]]
status = 500
[[turn]]
status = 500
[[turn]]
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "Done.\n",
        err: "retrying in 1000 ms",
        requests: 3,
    },
    Case {
        name: "trouble that stays",
        turns: r#"
[[turn]]
status = 429
headers = { retry-after = "0" }
[[turn]]
status = 429
headers = { retry-after = "0" }
[[turn]]
status = 429
headers = { retry-after = "0" }
[[turn]]
status = 429
headers = { retry-after = "0" }
[[turn]]
status = 429
headers = { retry-after = "0" }
"#,
        code: 1,
        out: "",
        err: "--resume S",
        requests: 5,
    },
    Case {
        name: "a request that is refused",
        turns: "[[turn]]\nstatus = 400\n",
        code: 1,
        out: "",
        err: "as the script says",
        requests: 1,
    },
    Case {
        name: "two calls with one id",
        turns: r#"
[[turn]]
steps = [
  { call = "write_file", id = "same", args = { path = "whole", content = "1" } },
  { call = "write_file", id = "same", args = { path = "cut", content = "2" } },
]
[[turn]]
expect = { results_contain = ["Created whole", "duplicate"] }
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "Done.\n",
        err: "write_file: ",
        requests: 2,
    },
    Case {
        name: "an id that was used in a batch before",
        turns: r#"
[[turn]]
steps = [{ call = "write_file", id = "same", args = { path = "whole", content = "1" } }]
[[turn]]
steps = [{ call = "read_file", id = "same", args = { path = "whole" } }]
[[turn]]
expect = { results_contain = ["1"] }
steps = [{ text = "Done." }]
"#,
        code: 0,
        out: "Done.\n",
        err: "→ read_file",
        requests: 3,
    },
    Case {
        name: "an empty answer",
        turns: "[[turn]]\nsteps = []\n",
        code: 1,
        out: "",
        err: "the model gave an empty answer",
        requests: 1,
    },
    Case {
        name: "a failure in the middle of the words",
        turns: r#"
[[turn]]
steps = [{ text = "again and ", repeat = 20 }]
fault = { inject = [{ after = 8, error = "overloaded_error" }] }
"#,
        code: 1,
        out: "again and ",
        err: "overloaded_error",
        requests: 1,
    },
];

fn check(wire: &'static str, case: &Case) {
    let desk = Desk::new(wire);
    let ran = desk.run(case.turns, &[]);
    let what = format!("{wire}, {}: {ran:?}", case.name);
    assert_eq!(ran.code, case.code, "{what}");
    assert!(ran.out.starts_with(case.out) && ran.out.is_empty() == case.out.is_empty(), "{what}");
    assert!(ran.err.contains(case.err), "{what}");
    assert_eq!(ran.requests.len(), case.requests, "{what}");
    assert!(!desk.has("cut"), "{what}");
    desk.resume(&[]);
    desk.verify();
}

/// NFR-REL-01: the program ends in a defined way, and the next prompt is understood.
#[test]
fn bad_days() {
    let cases: Vec<(&'static str, &Case)> =
        WIRES.iter().flat_map(|wire| CASES.iter().map(move |case| (*wire, case))).collect();
    for some in cases.chunks(8) {
        in_parallel(some, |(wire, case)| check(wire, case));
    }
}

/// The error of each vendor when the context is too long.
fn too_long(wire: &str) -> &'static str {
    match wire {
        "anthropic" => {
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#
        }
        "gemini" => {
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}"#
        }
        _ => {
            r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#
        }
    }
}

/// The model sums up what was said, and the turn goes on; the journal keeps the whole.
#[test]
fn a_context_that_is_too_long_is_summed_up() {
    in_parallel(&WIRES, |wire| {
        let desk = Desk::new(wire);
        let first = desk.run("[[turn]]\nsteps = [{ text = \"The secret word is plum.\" }]\n", &[]);
        assert_eq!(first.code, 0);
        let body = too_long(wire);
        let turns = format!(
            "[[turn]]\nstatus = 400\nbody = '''{body}'''\n\
             [[turn]]\nexpect = {{ user_contains = [\"please\", \"too long\"] }}\n\
             steps = [{{ text = \"We spoke of fruit.\" }}]\nusage = {{ input = 70, output = 7 }}\n\
             [[turn]]\nexpect = {{ user_contains = [\"We spoke of fruit.\", \"please\"] }}\n\
             steps = [{{ text = \"Done.\" }}]\nusage = {{ input = 30, output = 3 }}\n"
        );
        let ran = desk.run(&turns, &["--json"]);
        assert_eq!((ran.code, ran.requests.len()), (0, 3), "{wire}: {ran:?}");
        let history = serde_json::Value::from(ran.history(2)).to_string();
        assert!(!history.contains("plum"), "{wire}: {history}");
        assert!(ran.out.contains("\"usage\":{\"input\":100,\"output\":10"), "{wire}: {}", ran.out);
        let resumed = desk.resume(&[]);
        let history = serde_json::Value::from(resumed.history(0)).to_string();
        assert!(history.contains("We spoke of fruit.") && !history.contains("plum"), "{history}");
        assert!(desk.ask(&["log", "S"]).contains("plum"), "the journal keeps what was said");
        desk.verify();
    });
}

/// A summary that does not come loses nothing.
#[test]
fn a_summary_that_fails_loses_nothing() {
    in_parallel(&WIRES, |wire| {
        let desk = Desk::new(wire);
        desk.run("[[turn]]\nsteps = [{ text = \"The secret word is plum.\" }]\n", &[]);
        let refused = format!("[[turn]]\nstatus = 400\nbody = '''{}'''\n", too_long(wire));
        for answer in [refused.clone(), "[[turn]]\nsteps = []\n".to_owned()] {
            let ran = desk.run(&format!("{refused}{answer}{DONE}"), &[]);
            assert_eq!((ran.code, ran.requests.len()), (1, 2), "{wire}: {ran:?}");
        }
        let history = serde_json::Value::from(desk.resume(&[]).history(0)).to_string();
        assert!(history.contains("plum"), "{wire}: {history}");
        desk.verify();
    });
}
