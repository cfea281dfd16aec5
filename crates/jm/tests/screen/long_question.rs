//! Questions that do not fit above the prompt, in a real terminal; and the call for somebody who looks elsewhere.

use crate::desk::{Desk, Kind, assert_each_once};

fn script() -> String {
    let content =
        |word: &str| -> String { (1..=60).map(|number| format!("{word} {number}\\n")).collect() };
    let write = |path: &str, content: &str| {
        format!(
            "{{ call = \"write_file\", args = {{ path = \"{path}\", content = \"{content}\" }} }},"
        )
    };
    let many: String =
        (1..=14).map(|number| write(&format!("{number}.txt"), &format!("{number}\\n"))).collect();
    format!(
        "[[turn]]\nsteps = [{{ text = \"Reading is needed.\\n\\n\" }}, {}]\n\
         [[turn]]\nsteps = [{}]\n[[turn]]\nsteps = [{many}]\n\
         [[turn]]\nexpect.results_contain = [\"not those\"]\nsteps = [{{ text = \"All is answered.\" }}]\n",
        write("read.txt", &content("row")),
        write("left.txt", &content("line")),
    )
}

fn is_full(desk: &Desk, expected: &str) {
    desk.wait_until("the other screen", |_| desk.fact("#{alternate_on}") == expected);
}

/// FR-TUI-01: a long question opens by itself, is read, answered and left; no scroll regions, in Zellij or elsewhere.
#[test]
fn a_long_question_takes_the_screen_and_gives_it_back() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    std::fs::write(desk.path("mine.toml"), "notify = \"desktop\"\n").unwrap();
    desk.line("export ZELLIJ=0");
    desk.start(&script(), "--config mine.toml");
    let bytes = desk.record();
    desk.line("go");
    is_full(&desk, "1");
    desk.wait_until("the answers", |_| desk.visible().contains("Run it?   y yes   n no"));
    desk.answer("y");
    desk.wait_until("a refusal", |_| desk.visible().contains("Not yet: "));
    assert!(!desk.path("read.txt").exists());
    for _ in 0..3 {
        desk.letters(" ");
    }
    desk.wait_until("the end", |_| desk.visible().contains("row 60"));
    desk.answer("y");
    desk.wait_until("the file", |_| desk.path("read.txt").exists());

    desk.wait_until("the next question", |_| desk.visible().contains("Create left.txt"));
    is_full(&desk, "1");
    desk.key("Escape");
    is_full(&desk, "0");
    desk.wait_for("more lines: d shows all");
    desk.answer("n");
    desk.wait_for("Reason (Enter sends");
    desk.key("Enter");

    is_full(&desk, "1");
    desk.wait_until("all calls", |_| desk.visible().contains("Run 14 of 14?"));
    desk.answer("1");
    is_full(&desk, "0");
    desk.line("0,12-14");
    desk.wait_for("Run 10 of 14?");
    desk.answer("d");
    is_full(&desk, "1");
    for _ in 0..5 {
        desk.letters(" ");
    }
    desk.answer("y");
    desk.wait_for("Reason for those left out");
    desk.line("not those");
    desk.wait_for("All is answered.");
    let written: Vec<usize> =
        (1..=14).filter(|number| desk.path(&format!("{number}.txt")).exists()).collect();
    assert_eq!(written, [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
    assert!(!desk.path("left.txt").exists());
    desk.rest();
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    assert_each_once(
        &all,
        ["Reading is needed.", "All is answered."].iter().map(|it| (*it).into()),
    );
    desk.assert_sane();

    let bytes = String::from_utf8_lossy(&std::fs::read(bytes).unwrap()).into_owned();
    assert!(bytes.contains("\x1b]9;jm: Approval needed\x07"), "the configured notification");
    assert_no_scrolling(&bytes);
}

/// No margins (DECSTBM), no lines inserted or deleted, no scrolling by the program.
fn assert_no_scrolling(bytes: &str) {
    for sequence in bytes.split("\x1b[").skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        let (numbers, letter) = sequence.split_at(end);
        let is_plain = numbers.chars().all(|c| c.is_ascii_digit() || c == ';');
        let scrolls = is_plain && letter.starts_with(['r', 'L', 'M', 'S', 'T']);
        assert!(!scrolls, "ESC [ {numbers}{}", &letter[..1]);
    }
    assert!(!bytes.contains("\x1bM") && !bytes.contains("\x1bD"), "no index");
}
