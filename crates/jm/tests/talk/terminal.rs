//! The plain terminal, as a person or a pipe sees it.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::desk::{Desk, SESSION, Scripted, lines, on_every_wire, text};

const NOT_HANGING: Duration = Duration::from_secs(60);

fn repl(desk: &Desk, turns: &str, more: &[&str]) -> (Scripted, Child) {
    let root = desk.path("").display().to_string();
    let args = ["repl", "--approve", "auto", "--root", &root, "--session", "S"];
    let mut scripted = desk.scripted(turns, &[&args, more].concat());
    let command = scripted.command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    (scripted, child)
}

/// Reads until these words have come; the model is silent behind them, so they came by themselves.
pub(crate) fn read_until(child: &mut Child, words: &str) -> String {
    let out = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while !text(&seen).ends_with(words) {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "only {:?} came", text(&seen));
        seen.push(byte[0]);
    }
    text(&seen)
}

fn tell(child: &mut Child, line: &str) {
    child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
}

const TURNS: &str = r#"
[[turn]]
steps = [
  { text = "I look" }, { text = " around." },
  { call = "read_file", args = { path = "notes" } },
]
[[turn]]
steps = [
  { text = "Once more." },
  { call = "list_directory", args = { path = "." } },
  { call = "read_file", args = { path = "../outside" } },
]
[[turn]]
steps = [{ text = "Two lines,\nno less." }]
[[turn]]
steps = [{ text = "And the same to you." }]
"#;

/// GO-TERM, GO-CLI: a loop on standard input; the prefix once a turn, names of calls beside the
/// text, and none of their JSON in it. A line that begins with a slash is an order.
#[test]
fn the_loop_on_standard_input() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("notes", "one\n");
        let (scripted, mut child) = repl(&desk, TURNS, &[]);
        tell(&mut child, "look\n\n/usage\n/nonsense\nhello\n/quit\nnever said\n");
        let ran = scripted.ran(&child.wait_with_output().unwrap());
        let expected = "jm: I look around.\nOnce more.\nTwo lines,\nno less.\n\
                        0 in · 0 out · 0 cached · 0 written to the cache\n\
                        jm: And the same to you.\n";
        assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{wire}: {ran:?}");
        for note in ["→ read_file\n", "→ list_directory\n", "Unknown command /nonsense (see /help)"]
        {
            assert!(ran.err.contains(note), "{wire}: {ran:?}");
        }
        assert!(!ran.err.contains('{'), "{wire}: {}", ran.err);
        assert_eq!(ran.requests.len(), 4, "{wire}");
    });
}

/// GO-DEBUG: calls, results and the sandbox's decisions as JSON on standard error.
#[test]
fn debugging_is_json_beside_the_text() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("notes", "one\n");
        let (scripted, mut child) = repl(&desk, TURNS, &["--debug"]);
        tell(&mut child, "look\n");
        let ran = scripted.ran(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{wire}: {ran:?}");
        let kind = |kind: &'static str| lines(&ran.err, move |line| line["debug"] == kind);
        let names: Vec<_> = kind("call").iter().map(|line| line["call"]["name"].clone()).collect();
        assert_eq!(names, ["read_file", "list_directory", "read_file"], "{wire}");
        let results = kind("result");
        assert_eq!(results.len(), 3, "{wire}");
        assert_eq!(results[0]["result"]["content"], "one\n", "{wire}");
        assert!(ran.err.contains("outside"), "{wire}: {}", ran.err);
        assert!(!ran.out.contains('{'), "{wire}: {}", ran.out);
    });
}

/// GO-STREAM, GO-PLAN, third point: words appear as they come, behind one prefix. Ctrl-C stops the
/// answer and the loop goes on.
#[test]
fn words_appear_as_they_come() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire);
        let turns = "[[turn]]\nsteps = [{ text = \"The beginning\" }, { delay_ms = 60000 }, \
                     { text = \" and the end\" }]\n\
                     [[turn]]\nsteps = [{ text = \"Something else.\" }]\n";
        let (scripted, mut child) = repl(&desk, turns, &[]);
        tell(&mut child, "a long story\n");
        assert_eq!(read_until(&mut child, "beginning"), "jm: The beginning", "{wire}");
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        tell(&mut child, "another\n");
        let ran = scripted.ran(&child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.out.as_str()), (0, "\njm: Something else.\n"), "{wire}: {ran:?}");
        assert!(ran.err.contains("jm: interrupted"), "{wire}: {ran:?}");
        assert_eq!(ran.history(ran.requests.len() - 1).len(), 3, "{wire}: what came is kept");
    });
}

/// A question that Ctrl-C has answered reads nothing more: the next line is the loop's, and the
/// next question's answer its own.
#[test]
fn what_is_typed_after_an_interrupted_question_is_not_lost() {
    let desk = Desk::new("anthropic");
    let write = |name: &str| {
        format!(
            "[[turn]]\nsteps = [{{ call = \"write_file\", \
             args = {{ path = \"{name}\", content = \"\" }} }}]\n"
        )
    };
    let turns = format!(
        "{}[[turn]]\nexpect = {{ user_contains = [\"and now\"] }}\nsteps = [{{ text = \"Well.\" }}]\n\
         {}[[turn]]\nsteps = [{{ text = \"Written.\" }}]\n",
        write("first"),
        write("second")
    );
    let root = desk.path("").display().to_string();
    let scripted = desk.scripted(&turns, &["repl", "--root", &root]);
    let mut child = in_a_terminal(&scripted.command);
    read_until(&mut child, "> ");
    tell(&mut child, "write\r");
    read_until(&mut child, "/?] ");
    tell(&mut child, "\x03");
    read_until(&mut child, "interrupted\r\n");
    read_until(&mut child, "> ");
    tell(&mut child, "and now\r");
    read_until(&mut child, "Well.\r\n");
    read_until(&mut child, "> ");
    tell(&mut child, "write again\r");
    read_until(&mut child, "/?] ");
    // An answer counts from a moment after its question on.
    while !desk.has("second") {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(100));
        tell(&mut child, "y\r");
    }
    read_until(&mut child, "Written.\r\n");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!desk.has("first"));
}

/// FR-LIM-02, FR-RES-03: at a terminal the person may grant more rounds before calls are refused; whoever
/// says no is not asked again in this turn.
#[test]
fn more_rounds_are_granted_at_the_terminal() {
    let desk = Desk::new("anthropic").with_file("notes", "one\n");
    let read = "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"notes\" } }]\n";
    let refused = "[[turn]]\nexpect = { results_contain = [\"Max tool iterations reached\"] }\n\
                   steps = [{ call = \"read_file\", args = { path = \"notes\" } }]\n";
    let turns =
        format!("{}{refused}[[turn]]\nsteps = [{{ text = \"I stop.\" }}]\n", read.repeat(3));
    let args = ["run", "go", "--session", SESSION, "--max-iterations", "1"];
    let scripted = desk.scripted(&turns, &args);
    let mut child = in_a_terminal(&scripted.command);
    let shown = shown_by(&mut child);
    let first = "Stopped after 1 tool rounds. Continue for 1 more? [y/n] ";
    let second = "Stopped after 2 tool rounds. Continue for 1 more? [y/n] ";
    wait_for(&shown, first, NOT_HANGING).unwrap();
    type_until(&mut child, &shown, "y\r", second);
    let seen = type_until(&mut child, &shown, "n\r", "I stop.");
    assert!(!seen.contains("Continue"), "{seen}");
    drop(child.stdin.take());
    child.wait().unwrap();
    let errors: Vec<bool> =
        desk.calls().iter().map(|call| !call["result"]["error"].is_null()).collect();
    assert_eq!(errors, [false, false, true, true]);
}

/// FR-RES-03: an interrupt at the question ends the turn, and the model is not asked again.
#[test]
fn an_interrupt_at_the_question_for_rounds_ends_the_turn() {
    let desk = Desk::new("anthropic").with_file("notes", "one\n");
    let read = "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"notes\" } }]\n";
    let args = ["run", "go", "--session", SESSION, "--max-iterations", "1"];
    let scripted = desk.scripted(&read.repeat(3), &args);
    let mut child = in_a_terminal(&scripted.command);
    let shown = shown_by(&mut child);
    wait_for(&shown, "Continue for 1 more? [y/n] ", NOT_HANGING).unwrap();
    type_until(&mut child, &shown, "\x03", "interrupted");
    drop(child.stdin.take());
    child.wait().unwrap();
    let errors: Vec<bool> =
        desk.calls().iter().map(|call| !call["result"]["error"].is_null()).collect();
    assert_eq!(errors, [false, true]);
}

/// The text that a terminal shows, piece by piece.
fn shown_by(child: &mut Child) -> Receiver<String> {
    let mut out = child.stdout.take().unwrap();
    let (send, shown) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = out.read(&mut buffer) {
            if send.send(text(&buffer[..count])).is_err() {
                return;
            }
        }
    });
    shown
}

fn wait_for(shown: &Receiver<String>, words: &str, most: Duration) -> Option<String> {
    let mut seen = String::new();
    while !seen.contains(words) {
        seen.push_str(&shown.recv_timeout(most).ok()?);
    }
    Some(seen)
}

/// Types a line again until these words come: an answer counts from a moment after its question on.
fn type_until(child: &mut Child, shown: &Receiver<String>, line: &str, words: &str) -> String {
    loop {
        assert!(child.try_wait().unwrap().is_none(), "it ended before `{words}`");
        tell(child, line);
        if let Some(seen) = wait_for(shown, words, Duration::from_secs(1)) {
            return seen;
        }
    }
}

/// The same command at a terminal of its own, which is gone after a minute.
fn in_a_terminal(command: &Command) -> Child {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut terminal = Command::new("timeout");
    terminal.args(["60", "script", "-qefc", &words.join(" "), "/dev/null"]);
    let given = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    terminal.env_clear().envs(given).env("TERM", "dumb");
    terminal.current_dir(command.get_current_dir().unwrap());
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// IT-CMD-01: what a command prints is seen as it comes, and its result is on record.
#[test]
fn a_commands_output_is_seen_and_kept() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire);
        let turns = "[[turn]]\nsteps = [{ call = \"run_command\", \
                     args = { command = \"echo one; echo two >&2\" } }]\n\
                     [[turn]]\nexpect = { results_contain = [\"one\", \"two\"] }\n\
                     steps = [{ text = \"It ran.\" }]\n";
        let ran = desk.run(turns, &["--yes", "--allow", "run_command", "--debug"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "It ran.\n"), "{wire}: {ran:?}");
        let place = |words: &str| ran.err.find(words).unwrap_or_else(|| panic!("{words}: {ran:?}"));
        let (one, two) = (place("\"one\\n\""), place("\"two\\n\""));
        let result = place("\"debug\":\"result\"");
        assert!(one < result && two < result, "{wire}: {ran:?}");
        let content = desk.calls()[0]["result"]["content"].to_string();
        assert!(content.contains("one") && content.contains("two"), "{wire}: {content}");
    });
}
