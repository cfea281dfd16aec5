//! Complaints of users of such programs, each as a test. (Pastes and answers are shown beside the
//! code of the keys, the width of a paragraph beside that of Markdown.)

use std::time::Duration;

use crate::desk::{Desk, Kind, assert_each_once};

/// Numbered paragraphs, slowly enough to be resized meanwhile.
fn numbered(count: usize, delay_ms: usize) -> String {
    let step = |number: usize| {
        format!("{{ text = \"paragraph {number} is here.\\n\\n\" }}, {{ delay_ms = {delay_ms} }},")
    };
    let steps: String = (1..=count).map(step).collect();
    format!("[[turn]]\nsteps = [{steps} {{ text = \"The end.\" }}]\n")
}

fn paragraphs(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("paragraph {number} is here."))
}

/// 1 flicker, 2 alternate screen, 3 repeated fragments, 8 one block a frame, 9 a lost answer:
/// an answer of 120 lines on 24 rows.
#[test]
fn all_of_a_long_answer_is_in_the_scrollback_once_and_nothing_flickers() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(&numbered(120, 5), "");
    let bytes = desk.record();
    desk.line("go");
    desk.wait_for("The end.");
    assert_eq!(desk.fact("#{alternate_on} #{mouse_any_flag}"), "0 0");
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    assert_each_once(&all, paragraphs(120));
    let bytes = std::fs::read(bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for never in ["\x1b[2J", "\x1b[3J", "\x1b[?1049h", "\x1b[?1000h", "\x1bM", "\x1b[S", "\x1b[r"] {
        assert!(!text.contains(never), "{never:?}");
    }
    // 13: nothing is asked of the terminal, so no key waits for its answer.
    for question in ["\x1b[6n", "\x1b[5n", "\x1b[c", "\x1b[>c", "\x1b[?u", "\x1b]10;?", "\x1b]11;?"]
    {
        assert!(!text.contains(question), "{question:?}");
    }
    let frames = text.matches("\x1b[?2026h").count();
    assert_eq!(frames, text.matches("\x1b[?2026l").count() - 1, "each begun frame is ended");
    let outside: usize =
        text.split("\x1b[?2026l").map(|part| part.find("\x1b[?2026h").unwrap_or(0)).sum();
    assert!(outside < 300, "{outside} bytes outside of frames");
    assert!(bytes.len() / frames < 800, "{} bytes a frame", bytes.len() / frames);
}

/// 4 append-only: what has left the screen stays as it is, whatever happens below.
#[test]
fn the_scrollback_only_grows() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let script = format!(
        "{}[[turn]]\nsteps = [{{ call = \"run_command\", args = {{ command = \"seq 1 300 | tee numbers\" }} }}]\n\
         [[turn]]\nsteps = [{{ text = \"Counted.\" }}]\n",
        numbered(60, 30)
    );
    desk.start(&script, "--allow run_command");
    desk.line("go");
    let mut before = desk.scrolled_off();
    let mut grown = 0;
    let mut grows = |what: &str| {
        let now = desk.scrolled_off();
        assert!(now.starts_with(&before), "after {what}, changed:\n{before}\nto:\n{now}");
        grown += usize::from(now.len() > before.len());
        before = now;
    };
    while !desk.visible().contains("The end.") {
        grows("words");
        desk.letters("x");
    }
    desk.wait_until("the end of the turn", |all| !all.contains("Esc stops"));
    desk.key("C-c");
    desk.rest();
    grows("keys");
    desk.line("count");
    desk.wait_for("Run it?");
    grows("a question");
    desk.answer("y");
    desk.wait_for("Counted.");
    grows("a command");
    desk.key("C-t");
    desk.wait_for("q leaves");
    desk.key("q");
    grows("the transcript in full screen");
    desk.key("C-d");
    desk.wait_for("continue with");
    grows("the end");
    assert!(grown > 1, "it grew only {grown} times");
}

/// 5 history in every multiplexer: lines are written by line feeds.
#[test]
fn gnu_screen_keeps_every_line_too() {
    let desk = Desk::new(Kind::Screen, (80, 24));
    desk.start(&numbered(120, 5), "");
    desk.line("go");
    desk.wait_for("The end.");
    desk.key("C-d");
    let all = desk.wait_for("continue with");
    assert_each_once(&all, paragraphs(120));
}

/// 6 and 7: a resize at any moment leaves one of each, and the new size is used at once.
#[test]
fn a_resize_neither_doubles_nor_loses() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(&numbered(60, 40), "");
    desk.line("go");
    for (width, height) in [(50, 20), (100, 30), (40, 12), (120, 40), (80, 24)] {
        std::thread::sleep(Duration::from_millis(250));
        desk.resize(width, height);
    }
    desk.wait_for("The end.");
    desk.resize(60, 20);
    std::thread::sleep(Duration::from_millis(300));
    let all = desk.all();
    assert_each_once(&all, paragraphs(60));
    assert_eq!(
        all.matches("approve prompt").count() + all.matches("~/").count().min(1),
        1,
        "{all}"
    );
    assert_eq!(all.matches("> Type a prompt").count(), 1, "one prompt:\n{all}");
    desk.key("C-d");
    desk.wait_for("continue with");
    desk.assert_sane();
}

/// 10: what the terminal wrapped is one line when it is copied, with nothing before it.
#[test]
fn a_copied_paragraph_has_no_line_breaks_of_ours() {
    let desk = Desk::new(Kind::Tmux, (40, 12));
    let long = "word ".repeat(40).trim_end().to_owned();
    desk.start(&format!("[[turn]]\nsteps = [{{ text = \"{long}\\n\\nend\" }}]\n"), "");
    desk.line("go");
    desk.wait_for("end");
    let all = desk.all();
    assert!(all.lines().any(|line| line.trim_end() == long), "joined by the terminal:\n{all}");
}

/// 12: the real cursor is visible and stands at the caret, also while something streams.
#[test]
fn the_cursor_stands_at_the_caret() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start(&numbered(40, 50), "");
    desk.line("go");
    desk.wait_for("paragraph 3 ");
    desk.letters("漢字ab");
    desk.wait_for("> 漢字ab");
    for _ in 0..5 {
        let (cursor, screen) = desk.cursor_and_screen();
        let (column, row, flag) = cursor;
        assert_eq!((column, flag), (8, 1), "{cursor:?}");
        assert_eq!(screen.lines().nth(row).unwrap_or_default(), "> 漢字ab", "{cursor:?}\n{screen}");
        std::thread::sleep(Duration::from_millis(40));
    }
}

/// 15: killed, it leaves no mode behind, not even out of the full screen.
#[test]
fn a_kill_leaves_the_terminal_sane() {
    kill_it(Kind::Tmux);
}

#[test]
fn a_kill_leaves_gnu_screen_sane() {
    kill_it(Kind::Screen);
}

fn kill_it(kind: Kind) {
    for is_full in [false, true] {
        let desk = Desk::new(kind, (80, 24));
        desk.start("[[turn]]\nsteps = [{ text = \"Hello.\" }]\n", "");
        desk.line("go");
        desk.wait_for("Hello.");
        if is_full {
            desk.key("C-t");
            desk.wait_for("q leaves");
            if kind == Kind::Tmux {
                assert_eq!(desk.fact("#{alternate_on}"), "1");
            }
        }
        let program = desk.program();
        let children = format!("/proc/{program}/task/{program}/children");
        let children = std::fs::read_to_string(children).unwrap();
        let killed = std::process::Command::new("kill").args(["-9", &program.to_string()]).status();
        assert!(killed.unwrap().success());
        // In full screen the shell's word goes with that screen where it comes before the guard.
        if !is_full {
            desk.wait_for("Killed");
        }
        // The guard restores the terminal and ends.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let lives = |pid: &str| std::path::Path::new("/proc").join(pid).exists();
        while children.split_whitespace().any(lives) {
            assert!(std::time::Instant::now() < until, "the guard did not end");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        desk.assert_sane();
    }
}

/// Job control: Ctrl-Z gives the shell its terminal, fg brings the prompt back.
#[test]
fn a_stop_and_fg() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    desk.start("[[turn]]\nsteps = [{ text = \"Hello.\" }]\n", "");
    desk.letters("half a prompt");
    desk.wait_for("> half a prompt");
    desk.key("C-z");
    desk.wait_for("Stopped");
    desk.assert_sane();
    desk.line("fg");
    desk.wait_for("> half a prompt");
    desk.key("Enter");
    desk.wait_for("Hello.");
}

/// 11: without cursor movement there are whole lines, and no spinner.
#[test]
fn plain_is_whole_lines() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let script =
        "[[turn]]\nsteps = [{ text = \"Hello\" }, { delay_ms = 300 }, { text = \" there.\" }]\n";
    std::fs::write(desk.path("s.toml"), script).unwrap();
    let bytes = desk.record();
    let program = env!("CARGO_BIN_EXE_jm");
    desk.line(&format!("ACCESSIBLE=1 {program} --model script:s.toml 'say hello please'"));
    desk.wait_until("the next prompt", |all| all.contains("Hello there.\n>"));
    desk.key("C-d");
    desk.wait_until("the shell", |all| all.trim_end().ends_with("ready>"));
    let bytes = std::fs::read(bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for never in ["\x1b[?1049h", "⠋", "Esc stops"] {
        assert!(!text.contains(never), "{never:?}");
    }
}

/// Lines for people too: calls say what they are about, and a flood is its first and its last lines.
#[test]
fn plain_names_calls_and_bounds_their_output() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let script = "[[turn]]\nsteps = [{ call = \"read_file\", args = { path = \"s.toml\" } }, { call = \
                  \"run_command\", args = { command = \"seq 1 60000; printf '\\\\033[2Jx'\" } }]\n\
                  [[turn]]\nsteps = [{ text = \"All of it.\" }]\n";
    std::fs::write(desk.path("s.toml"), script).unwrap();
    let args = "--model script:s.toml --allow run_command --yes 'count far'";
    desk.start_with("ACCESSIBLE=1", args, "All of it.");
    let all = desk.all();
    let once = [
        "→ read_file s.toml",
        "1",
        "40",
        "… 59951 more lines (`jm output` shows all)",
        "60000",
        "x",
    ];
    assert_each_once(&all, once.iter().map(|line| (*line).to_owned()));
    assert!(all.contains("→ $ seq 1 60000"), "{all}");
    assert!(!all.contains("\n30000\n"), "{all}");
}
