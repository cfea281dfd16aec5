//! A context that is full: no result is without words, and every vendor accepts the history.

use crate::desk::{DONE, Desk, on_every_wire, results_of};

/// The bytes that a result may take at the least.
const RESERVE: usize = 256;

/// Five reads of which each alone would fill the context, and a call that fails.
const FILLS: &str = r#"
[model]
context = 65536
[[turn]]
steps = [
  { call = "read_file", args = { path = "f1", start_line = 1 }, id = "r1" },
  { call = "read_file", args = { path = "f2", start_line = 1 }, id = "r2" },
  { call = "read_file", args = { path = "f3", start_line = 1 }, id = "r3" },
  { call = "read_file", args = { path = "f4", start_line = 1 }, id = "r4" },
  { call = "read_file", args = { path = "f5", start_line = 1 }, id = "r5" },
  { call = "read_file", args = { path = "missing" }, id = "m" },
]
usage = { input = 3000, output = 100 }
"#;

/// FR-REG-04b, FR-OUT-04, FR-OUT-04a, FR-LIM-06: through every adapter.
#[test]
fn a_result_has_words_when_the_context_is_full() {
    on_every_wire(|wire| {
        let mut desk = Desk::new(wire);
        for number in 1..=5 {
            let name = format!("f{number}");
            desk = desk.with_file(&name, &format!("line of text {number}\n").repeat(4_000));
        }
        let ran = desk.run(&format!("{FILLS}{DONE}{DONE}"), &[]);
        assert_eq!(ran.code, 0, "{wire}: {ran:?}");
        let results = desk.contents();
        assert_eq!(results.len(), 6, "{wire}");
        assert!(results[5].contains("missing: no such file"), "{wire}: {}", results[5]);
        let shortest = results[..5].iter().map(String::len).min().unwrap();
        assert_eq!(shortest, RESERVE, "{wire}: the last reads get the reserve and no more");
        assert!(results[..5].iter().all(|text| text.contains("line of text")), "{wire}");
        let asked = (1..ran.requests.len()).map(|number| results_of(&ran.history(number)));
        let told: Vec<Vec<String>> = asked.filter(|told| !told.is_empty()).collect();
        assert!(!told.is_empty(), "{wire}: {ran:?}");
        assert!(told.iter().flatten().all(|content| !content.is_empty()), "{wire}: {told:?}");
        desk.resume(&[]);
        desk.verify();
    });
}

/// FR-REG-04b: a long answer that was asked for takes nothing from the results; room for it is made
/// before the next request.
#[test]
fn a_large_limit_of_tokens_leaves_room_for_results() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("long", &"sixteen letters\n".repeat(2_500));
        let turns = format!(
            "[model]\ncontext = 200000\n[[turn]]\nsteps = [\
             {{ call = \"write_file\", args = {{ path = \"made\", content = \"x\" }} }}, \
             {{ call = \"read_file\", args = {{ path = \"missing\" }} }}, \
             {{ call = \"read_file\", args = {{ path = \"long\" }} }}]\n\
             usage = {{ input = 149000, output = 100 }}\n{DONE}{DONE}"
        );
        let ran = desk.run(&turns, &["--max-tokens", "64000"]);
        assert_eq!(ran.code, 0, "{wire}: {ran:?}");
        let results = desk.contents();
        assert!(results[0].contains("Created made"), "{wire}: {results:?}");
        assert!(results[1].contains("missing: no such file"), "{wire}: {results:?}");
        assert_eq!(results[2].len(), 40_000, "{wire}: a quarter of the context is free");
    });
}

/// FR-OUT-04a: a limit that leaves nothing of a file but the marker has shown nothing of it.
#[test]
fn a_read_of_which_nothing_is_left_does_not_count_as_read() {
    let desk = Desk::new("anthropic")
        .with_file("notes", &"one line\n".repeat(20))
        .with_config("[tools.output]\nmax_bytes = 20\n");
    let patch = "LP1\\nF notes\\nT\\ntwo\\n.\\nEND\\n";
    let turns = format!(
        "[[turn]]\nsteps = [{{ call = \"read_file\", args = {{ path = \"notes\", start_line = 1 }} }}]\n\
         [[turn]]\nsteps = [{{ call = \"apply_patch\", args = {{ patch = \"{patch}\" }} }}]\n{DONE}"
    );
    let ran = desk.run(&turns, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let errors: Vec<_> = desk.calls().iter().map(|call| call["result"]["error"].clone()).collect();
    assert_eq!(errors[1], "stale_file", "{errors:?}");
    assert!(!desk.read("notes").contains("two"));
}
