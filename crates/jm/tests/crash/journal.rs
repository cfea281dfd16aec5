//! The journal after a crash, and what the program asks before it goes on.

use serde_json::Value;

use crate::machine::{Machine, text};
use crate::matrix::killed_at;
use crate::workload::{self, RAN};

fn machine() -> Machine {
    Machine::new(&[("a".to_owned(), "one\n".to_owned()), (RAN.to_owned(), String::new())])
}

fn kill(machine: &Machine, lines: &[&str], point: &str, nth: usize) {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    killed_at(machine.exec(&lines), &(point.to_owned(), nth));
}

const THREE: &str = r#"{"calls":[
    {"id":"z","name":"write_file","args":{"path":"first","content":"1"}},
    {"id":"y","name":"run_command","args":{"command":"echo y >> cmd/ran.log"}},
    {"id":"x","name":"write_file","args":{"path":"second","content":"2"}}]}"#;

fn three() -> String {
    THREE.replace('\n', "")
}

fn field<'a>(log: &'a [Value], pointer: &str) -> Vec<&'a str> {
    log.iter().map(|entry| entry.pointer(pointer).and_then(Value::as_str).unwrap_or("-")).collect()
}

/// IT-JRN-01, FR-RES-01, FR-RES-01a, FR-RES-04: calls that were received and never ran are there, in
/// their order, and each says that it never ran.
#[test]
fn calls_that_were_received_are_recovered() {
    let machine = machine();
    let before = machine.tree();
    kill(&machine, &[&three()], "batch.after", 1);
    assert_eq!(field(&machine.log(), "/id"), ["z", "y", "x"]);
    assert!(machine.log().iter().all(|entry| entry["result"].is_null()));

    let listed = machine.run(&["recover", "--session", "S", "--on-recovery", "fail", "--json"]);
    assert_eq!(listed.status.code(), Some(3));
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let calls = listed["calls"].as_array().unwrap();
    assert_eq!(field(calls, "/name"), ["write_file", "run_command", "write_file"]);
    assert_eq!(field(calls, "/state"), ["never started"; 3]);

    assert_eq!(machine.recover("keep").status.code(), Some(0));
    let log = machine.log();
    assert_eq!(field(&log, "/id"), ["z", "y", "x"]);
    assert_eq!(field(&log, "/result/call_id"), ["z", "y", "x"]);
    assert_eq!(field(&log, "/result/error"), ["interrupted"; 3]);
    for content in field(&log, "/result/content") {
        assert!(content.starts_with("not run:"), "{content}");
    }
    assert_eq!(machine.tree(), before);
}

/// IT-JRN-02, FR-RES-04c, FR-RES-05: after a crash in the middle nothing goes on by itself. Where
/// nobody can be asked the program says what to do and fails; nothing is run again.
#[test]
fn a_crash_in_the_middle_must_be_settled_first() {
    let machine = machine();
    kill(&machine, &[&three()], "call.before_finished", 2);
    let ran = || std::fs::read_to_string(machine.workspace().join(RAN)).unwrap();
    assert_eq!(ran(), "y\n");
    let (tree, records) = (machine.tree(), machine.records());
    let attempts: [&[&str]; 4] = [
        &["recover", "--session", "S"],
        &["recover", "--session", "S", "--on-recovery", "fail"],
        &["call", "read_file", r#"{"path":"a"}"#, "--session", "S"],
        &[
            "call",
            "write_file",
            r#"{"path":"b","content":""}"#,
            "--session",
            "S",
            "--approve",
            "auto",
        ],
    ];
    for attempt in attempts {
        let ended = machine.run(attempt);
        let said = text(&ended.stderr) + &text(&ended.stdout);
        assert!(matches!(ended.status.code(), Some(2 | 3)), "{attempt:?}: {said}");
        assert!(
            said.contains("--on-recovery") && said.contains("keep"),
            "{attempt:?} gives no hint: {said}"
        );
        assert_eq!(
            (machine.tree(), machine.records()),
            (tree.clone(), records.clone()),
            "{attempt:?}"
        );
    }
    let exec = machine.exec(&[r#"{"name":"read_file","args":{"path":"a"}}"#.to_owned()]).output();
    assert_eq!(exec.unwrap().status.code(), Some(2));
    assert_eq!(machine.records(), records);

    assert_eq!(machine.recover("keep").status.code(), Some(0));
    assert_eq!(ran(), "y\n");
    assert!(!machine.workspace().join("second").exists());
    let log = machine.log();
    assert_eq!(field(&log, "/result/error"), ["-", "unknown_outcome", "interrupted"]);
}

/// FR-RES-05: every result of a discarded batch is marked failed, wherever the crash was. What is on disk
/// stays, and the result says how it is taken back; what never ran still says that.
#[test]
fn results_can_be_discarded() {
    let cases = [
        // The first call has its result; or only its file; or the command has run, too.
        ("call.before_started", 2, ["discarded", "interrupted", "interrupted"]),
        ("call.before_finished", 1, ["discarded", "interrupted", "interrupted"]),
        ("call.before_finished", 2, ["discarded", "unknown_outcome", "interrupted"]),
        ("call.before_finished", 3, ["discarded", "discarded", "discarded"]),
    ];
    for (point, nth, expected) in cases {
        let machine = machine();
        kill(&machine, &[&three()], point, nth);
        assert_eq!(machine.recover("discard").status.code(), Some(0), "{point}:{nth}");
        let log = machine.log();
        assert_eq!(field(&log, "/result/error"), expected, "{point}:{nth}");
        let told = field(&log, "/result/content")[0].to_owned();
        assert!(told.contains("`jm undo --call S-1`"), "{point}:{nth}: {told}");
        assert!(machine.workspace().join("first").exists(), "{point}:{nth}");
        let undone = machine.run(&["undo", "--call", "S-1"]);
        assert_eq!(undone.status.code(), Some(0), "{point}:{nth}: {}", text(&undone.stderr));
        assert!(!machine.workspace().join("first").exists(), "{point}:{nth}");
    }
}

/// FR-RES-04b: a result is durable before the next call starts.
#[test]
fn a_result_is_written_before_the_next_call_starts() {
    let machine = machine();
    kill(&machine, &[&three()], "call.before_started", 2);
    let log = machine.log();
    assert_eq!(field(&log, "/result/content")[0], "Created first (1 bytes)");
    assert!(log[1]["result"].is_null() && log[2]["result"].is_null());

    let whole = workload::every_kind();
    let machine = Machine::new(&whole.files);
    assert!(machine.exec(&whole.lines()).output().unwrap().status.success());
    let mut running = 0;
    let mut started = 0;
    for record in machine.records() {
        match record["kind"].as_str().unwrap() {
            "started" => {
                assert_eq!(running, 0, "a call starts while another has no result: {record}");
                (running, started) = (1, started + 1);
            }
            "finished" => running = 0,
            _ => {}
        }
    }
    assert_eq!(started, whole.calls().len() - 1, "all but the refused one are started");
}

/// FR-OUT-03, FR-RES-01: what a command prints as it goes is not in the journal; its result is, once.
#[test]
fn chunks_of_output_are_not_recorded() {
    let printing = r#"{"id":"k","name":"run_command","args":
        {"command":"for n in 1 2 3; do echo piece-$n; sleep 0.05; done"}}"#;
    let printing = printing.replace('\n', "");
    let told = |machine: &Machine| {
        let all = machine.records().iter().map(Value::to_string).collect::<String>();
        [1, 2, 3].map(|n| all.matches(&format!("piece-{n}")).count())
    };
    let finished = machine();
    assert!(finished.exec(std::slice::from_ref(&printing)).output().unwrap().status.success());
    assert_eq!(told(&finished), [1, 1, 1]);

    let cut = machine();
    kill(&cut, &[&printing], "track.after", 1);
    assert_eq!(told(&cut), [0, 0, 0]);
    assert_eq!(cut.recover("keep").status.code(), Some(0));
    assert_eq!(told(&cut), [0, 0, 0]);
}

/// FR-RES-04c: a command that outlived the program is not started a second time, and is told of. Its
/// launcher knew how it ended; without that, it is unknown.
#[test]
fn a_command_that_was_cut_off_is_unknown() {
    let machine = machine();
    kill(&machine, &[&three()], "track.before", 1);
    let listed = machine.run(&["recover", "--session", "S", "--on-recovery", "fail"]);
    assert!(text(&listed.stdout).contains("it ended with exit code 0"), "{listed:?}");
    std::fs::remove_dir_all(machine.state().join("commands")).unwrap();
    let listed = machine.run(&["recover", "--session", "S", "--on-recovery", "fail"]);
    assert!(text(&listed.stdout).contains("whether it finished is unknown"), "{listed:?}");
    assert_eq!(machine.recover("keep").status.code(), Some(0));
    let log = machine.log();
    assert_eq!(field(&log, "/result/error"), ["-", "unknown_outcome", "interrupted"]);
    assert_eq!(std::fs::read_to_string(machine.workspace().join(RAN)).unwrap(), "y\n");
}

/// FR-RES-05: what somebody else wrote since the crash is reported and left alone.
#[test]
fn a_file_that_somebody_changed_since_is_left_alone() {
    for choice in ["keep", "discard", "undo"] {
        let whole = workload::every_kind();
        let machine = Machine::new(&whole.files);
        killed_at(machine.exec(&whole.lines()), &("commit.rename".to_owned(), 4));
        std::fs::write(machine.workspace().join("sub/c"), "mine\n").unwrap();
        let recovered = machine.recover(choice);
        assert_eq!(recovered.status.code(), Some(0));
        assert!(text(&recovered.stdout).contains("changed by another program"), "{recovered:?}");
        let left = std::fs::read_to_string(machine.workspace().join("sub/c")).unwrap();
        assert_eq!(left, "mine\n", "{choice}");
    }
}
