//! Programs that need a terminal, behind each back end.

use serde_json::json;

use super::desk::{Desk, listed};
use super::{everywhere, everywhere_for_everybody};

#[test]
fn a_program_has_a_terminal_of_its_own_and_nobody_elses() {
    everywhere_for_everybody(|world| {
        let mut desk = Desk::open(&world, "s");
        let script = "test -t 0 && test -t 1 && test -t 2 && echo is-one; tty; stty size; \
                      (echo through-tty > /dev/tty); echo $TERM; python3 -c 'import fcntl, termios\n\
try:\n    fcntl.ioctl(0, termios.TIOCSTI, b\"x\"); print(\"typed\")\nexcept OSError as e:\n    \
                      print(\"refused\", e.errno)'; echo over; sleep 600";
        let args = json!({"command": script, "lifetime_seconds": 60, "pty": true, "rows": 30,
                          "columns": 100});
        let id = desk.start(&args);
        let told = desk.until(&id, "over");
        for expected in ["is-one\n/dev/pts/", "30 100", "through-tty", "xterm-256color"] {
            assert!(told.contains(expected), "{}: {expected}: {told}", world.backend);
        }
        // Nothing is refused where nothing confines.
        assert!(world.backend == "none" || told.contains("refused"), "{}: {told}", world.backend);
        // The key goes to the terminal, and the terminal interrupts what is in front.
        desk.process("write", &id, &json!({"keys": ["ctrl-c"]}));
        let told = desk.process("wait", &id, &json!({"seconds": 20, "view": "stream"}));
        assert!(told.starts_with(&format!("[{id}: ended ")), "{}: {told}", world.backend);
        desk.close();
    });
}

#[test]
fn an_editor_is_driven_by_keys() {
    everywhere(|world| {
        let mut desk = Desk::open(&world, "s");
        let args =
            json!({"argv": ["vi", "-u", "NONE", "letter"], "lifetime_seconds": 60, "pty": true});
        let id = desk.start(&args);
        desk.until(&id, "letter");
        desk.process("write", &id, &json!({"text": "iDear reader,", "keys": ["enter"]}));
        let keys = json!({"text": "good bye", "keys": ["escape", "up", "home"]});
        desk.process("write", &id, &keys);
        let screen = desk.process("write", &id, &json!({"text": "ddp"}));
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines[1..3], ["good bye", "Dear reader,"], "{}: {screen}", world.backend);
        assert!(lines[0].ends_with("cursor in row 2 column 1]"), "{screen}");
        desk.process("write", &id, &json!({"text": ":wq", "keys": ["enter"]}));
        let told = desk.process("wait", &id, &json!({"seconds": 20}));
        assert!(told.contains("ended with exit code 0"), "{told}");
        let letter = std::fs::read_to_string(world.at("w/letter")).unwrap();
        assert_eq!(letter, "good bye\nDear reader,\n");
        desk.close();
    });
}

/// A display that is drawn again and again is one screen, not a long text.
#[test]
fn a_display_that_redraws_itself_is_what_it_shows_now() {
    everywhere(|world| {
        let script = "i=0; while [ $i -le 200 ]; do printf '\\033[H\\033[2Jframe %s\\nload' $i; \
                      i=$((i+1)); done; sleep 600";
        let mut desk = Desk::open(&world, "s");
        let args = json!({"command": script, "lifetime_seconds": 60, "pty": true});
        let id = desk.start(&args);
        let told = desk.until(&id, "frame 200");
        assert!(told.ends_with("]\nframe 200\nload"), "{told}");
        let stream = desk.process("read", &id, &json!({"view": "stream"}));
        assert!(stream.contains("frame 0") && stream.contains("frame 200"), "{stream}");
        assert!(!stream.contains('\u{1b}'), "{stream:?}");
        // The last screen can be seen after the end.
        desk.process("stop", &id, &json!({}));
        desk.close();
        let mut desk = Desk::open(&world, "s");
        let told = desk.process("read", &id, &json!({}));
        assert!(told.ends_with("]\nframe 200\nload"), "{told}");
        desk.close();
    });
}

#[test]
fn an_interpreter_answers_line_by_line() {
    everywhere(|world| {
        let mut desk = Desk::open(&world, "s");
        let args = json!({"argv": ["python3", "-q"], "lifetime_seconds": 60, "pty": true});
        let id = desk.start(&args);
        desk.until(&id, ">>>");
        desk.process("write", &id, &json!({"text": "6 * 7", "keys": ["enter"]}));
        let told = desk.until(&id, "\n42\n>>>");
        assert!(told.contains(">>> 6 * 7\n42\n>>>"), "{told}");
        desk.process("write", &id, &json!({"keys": ["ctrl-d"]}));
        let told = desk.process("wait", &id, &json!({"seconds": 20}));
        assert!(told.contains("ended with exit code 0"), "{told}");
        assert_eq!(listed(&world)[0]["ended"]["how"], json!({"exited": 0}));
        desk.close();
    });
}
