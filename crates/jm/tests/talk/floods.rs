//! A message with more calls than anybody can mean.

use crate::desk::{DONE, Desk, on_every_wire, results_of};

/// FR-LIM-01, FR-LIM-06: calls are taken in up to a bound; each of them has its result, and the model
/// is told which were run.
#[test]
fn the_calls_of_one_message_are_bounded() {
    on_every_wire(|wire| {
        let desk = Desk::new(wire).with_file("notes", "one\n");
        let calls = "{ call = \"read_file\", args = { path = \"notes\" } },\n".repeat(400);
        let turns = format!("[[turn]]\nsteps = [\n{calls}]\n{DONE}");
        let ran = desk.run(&turns, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{wire}: {ran:?}");
        assert!(ran.err.contains("more than 256 calls"), "{wire}: {ran:?}");
        // An answer that was not read to its end is in no recording.
        let results = results_of(&ran.history(ran.requests.len() - 1));
        assert_eq!(results.len(), 256, "{wire}");
        assert_eq!(results.iter().filter(|text| *text == "one\n").count(), 32, "{wire}");
        let refused = results.iter().filter(|text| text.contains("only the first 32 run"));
        assert_eq!(refused.count(), 256 - 32, "{wire}");
        desk.resume(&[]);
        desk.verify();
    });
}
