//! The place at which a patch means to work.

use super::super::*;
use super::{plain, section};

#[test]
fn where_a_section_aims() {
    let file = "fn main() {⏎    let port = 8080;⏎    serve(port);⏎}⏎⏎serve(port);⏎";
    let cases = [
        ("E|    serve(port);|.", vec![3..=3]),
        ("R|    let port = 80;|    serve(port);|.|.", vec![2..=3]),
        ("E|\tserve(port);|.", vec![3..=3]),
        ("E|nothing at all like it|.", vec![]),
        ("T|x|.|B|y|.|N +", vec![6..=6, 1..=1, 6..=6]),
        ("E 2|}|.|E|fn main() {|.", vec![4..=4, 1..=1]),
    ];
    for (body, expected) in cases {
        assert_eq!(target_lines(&section(body), plain(file).as_bytes()), expected, "{body}");
    }
    assert_eq!(target_lines(&section("T|x|."), b""), []);
}

#[test]
fn patches_that_are_in_the_file_already() {
    let cases = [
        ("a⏎NEW⏎c⏎", "R|b|.|NEW|.", true),
        ("a⏎b⏎c⏎", "R|b|.|NEW|.", false),
        ("a⏎b⏎NEW⏎", "R|b|.|NEW|.", false),
        ("a⏎b⏎more⏎", "R|b|.|b|more|.", true),
        ("a⏎x⏎b⏎", "I|a|.|x|.", true),
        ("a⏎b⏎x⏎", "I|a|.|x|.", false),
        ("x⏎a⏎b⏎", "P|a|.|x|.", true),
        ("a⏎NEW⏎", "R|b|.|NEW|.|E|c|.|T|NEW|.|B|a|.|N +", true),
        ("a⏎NEW⏎", "R|b|.|NEW|.|N -", false),
        ("a⏎NEW⏎", "R|b|.|NEW|.|T|a|b|c|.", false),
        // Nothing was to be added, so nothing proves it.
        ("a⏎", "E|c|.", false),
        ("a⏎", "R|c|.|.", false),
        ("a⏎", "T|a|.", false),
    ];
    for (file, body, expected) in cases {
        assert_eq!(is_already_applied(&section(body), plain(file).as_bytes()), expected, "{body}");
    }
}
