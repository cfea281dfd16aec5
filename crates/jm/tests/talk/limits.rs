//! How long a turn may go on, and how much of it the model's context holds.

use serde_json::Value;

use crate::desk::{DONE, Desk, Ran, on_every_wire};

const READ: &str = "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"long\" } }]\n";

/// Two rounds are allowed; the third is answered with an error, which the model is told.
fn third(after: &str) -> String {
    format!(
        "{READ}{READ}{READ}[[turn]]\n\
         expect = {{ results_contain = [\"Max tool iterations reached\"] }}\n{after}"
    )
}

/// FR-RES-03, FR-LIM-02: past the limit calls are refused and the model is told; then it may speak.
#[test]
fn the_model_is_told_that_it_has_had_its_rounds() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("long", "text\n");
        let turns = third("steps = [{ text = \"Then I stop.\" }]\n");
        let ran = desk.run(&turns, &["--max-iterations", "2"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Then I stop.\n"), "{wire}: {ran:?}");
        let errors: Vec<bool> =
            desk.calls().iter().map(|call| !call["result"]["error"].is_null()).collect();
        assert_eq!(errors, [false, false, true], "{wire}");
    });
}

/// FR-RES-03: a model that goes on all the same is stopped.
#[test]
fn a_model_that_does_not_stop_is_stopped() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("long", "text\n");
        let again = "steps = [{ call = \"read_file\", args = { path = \"long\" } }]\n";
        let told = format!("[[turn]]\nexpect = {{ results_contain = [\"Max tool\"] }}\n{again}");
        let turns = third(&format!("{again}{}{DONE}", told.repeat(2)));
        let ran = desk.run(&turns, &["--max-iterations", "2"]);
        // Two rounds, and the model is told three times that it has had them.
        assert_eq!((ran.code, ran.requests.len()), (4, 6), "{wire}: {ran:?}");
        assert!(ran.err.contains("Stopped after 2 tool rounds (raise with --max-iterations)"));
        // The person speaks, and the rounds count anew.
        desk.resume(&[]);
        desk.verify();
    });
}

/// How much of the file is in a request.
fn results(ran: &Ran, request: usize) -> usize {
    Value::from(ran.history(request)).to_string().matches("sixteen letters").count() * 16
}

/// FR-REG-04b: a result takes what the model's context has left, and no more; two share it.
#[test]
fn results_fit_into_what_is_left_of_the_context() {
    const PRINT: &str = "{ call = \"run_command\", args = { command = \"cat long\" } }";
    on_every_wire(|wire| {
        let long = "sixteen letters\n".repeat(6_000);
        let print = |model: &str, calls: &str| {
            let desk = Desk::new(wire).with_file("long", &long);
            let used = "usage = { input = 2000, output = 0 }";
            let turns = format!("{model}\n[[turn]]\nsteps = [{calls}]\n{used}\n{DONE}");
            let ran = desk.run(&turns, &["--yes", "--allow", "run_command"]);
            assert_eq!((ran.code, ran.requests.len()), (0, 2), "{wire}: {ran:?}");
            results(&ran, 1)
        };
        // A quarter is for the answer, a fiftieth to be safe, 2000 are taken; four bytes a token.
        let left = |context: usize| (context - context / 4 - context / 50 - 2_000) * 4;
        for context in [8_000, 16_000] {
            let one = print(&format!("[model]\ncontext = {context}\n"), PRINT);
            assert!(one <= left(context) && one > left(context) / 2, "{wire}: {one}");
            let calls = format!("{PRINT}, {PRINT}");
            let two = print(&format!("[model]\ncontext = {context}\n"), &calls);
            // The second has its reserve, however full the context is.
            let most = left(context) + 256;
            assert!(two <= most && two > left(context) / 2, "{wire}: {two}");
        }
        let unknown = print("", PRINT);
        assert!((60_000..=64 * 1024).contains(&unknown), "{wire}: {unknown}");
    });
}

/// Before the context is full, results of old calls give way; the journal keeps them, and the
/// request that follows is one the vendor accepts.
#[test]
fn old_results_make_room_and_stay_in_the_journal() {
    on_every_wire(|wire| {
        let long = "plum and other words\n".repeat(300);
        let desk = Desk::new(wire).with_file("long", &long);
        let turns = format!("[model]\ncontext = 20000\n{}{DONE}", READ.repeat(7));
        let ran = desk.run(&turns, &[]);
        assert_eq!((ran.code, ran.requests.len()), (0, 8), "{wire}: {ran:?}");
        assert!(ran.err.contains("to free context"), "{wire}: {ran:?}");
        let last = Value::from(ran.history(7)).to_string();
        let (gone, there) =
            (last.matches("bytes were removed").count(), last.matches("plum").count());
        assert!(gone > 0 && there > 0, "{wire}: {last}");
        for content in desk.contents() {
            assert_eq!(content, long, "{wire}");
        }
        let resumed = Value::from(desk.resume(&[]).history(0)).to_string();
        assert_eq!(resumed.matches("bytes were removed").count(), gone, "{wire}");
        desk.verify();
    });
}

/// A turn that is itself too long for the context is summed up from its beginning.
#[test]
fn a_long_turn_is_summed_up_while_it_goes_on() {
    on_every_wire(|wire| {
        let long = "plum and other words\n".repeat(300);
        let desk = Desk::new(wire).with_file("long", &long);
        let summary = "[[turn]]\nexpect = { user_contains = [\"too long\"] }\n\
                       steps = [{ text = \"I read the file.\" }]\n";
        let last = "[[turn]]\nexpect = { user_contains = [\"I read the file.\", \"please\"] }\n\
                    steps = [{ text = \"Done.\" }]\n";
        let turns = format!("[model]\ncontext = 14000\n{}{summary}{last}", READ.repeat(3));
        let ran = desk.run(&turns, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{wire}: {ran:?}");
        let (full, short) = (ran.requests.len() - 2, ran.requests.len() - 1);
        assert!(ran.history(short).len() < ran.history(full).len(), "{wire}");
        desk.resume(&[]);
        assert_eq!(desk.contents(), [long.as_str(); 3], "{wire}: the journal keeps it all");
        desk.verify();
    });
}
