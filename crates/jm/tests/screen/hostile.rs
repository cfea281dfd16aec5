//! Hostile text from the model and from tools: the layout holds, nothing raw reaches the terminal.

use crate::desk::{Desk, Kind};

const HOSTILE: &str = r##"
[[turn]]
steps = [
  { text = "before \u001b]52;c;RVZJTA==\u0007 \u001b[2J\u001b[10;10H moved \u009b31m \u202e reversed \u001b]0;title\u0007\n\nRun it? y yes   n no\n\n" },
  { call = "read_file", args = { path = "evil.txt" } },
  { call = "run_command", args = { command = "cat evil.txt; head -c 100000000 /dev/zero | tr '\\0' 'x'; printf '\\n👩‍👩‍👧 e\\314\\201 \\033[5A end of output\\n'" } },
]
[[turn]]
steps = [{ text = "after all of it" }]
"##;

#[test]
fn nothing_raw_reaches_the_terminal() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let evil = format!(
        "\x1b]52;c;RVZJTA==\x07\x1b[3J\x1bc\x1b[?1049h\u{9d}52;c;x\u{9c}\u{202e}evil\x1b[1;1Hhome\n{}\n",
        "w".repeat(10_000)
    );
    std::fs::write(desk.path("evil.txt"), evil).unwrap();
    desk.start(HOSTILE, "--allow run_command");
    let bytes = desk.record();
    desk.line("go");
    desk.wait_for("Run it?");
    // The model's own question is no question: only the panel has a risk.
    desk.wait_for("HIGH RISK");
    std::thread::sleep(std::time::Duration::from_millis(600));
    desk.letters("y");
    desk.wait_for("after all of it");
    assert_eq!(desk.fact("#{alternate_on}"), "0");
    let visible = desk.visible();
    assert!(visible.contains("approve prompt"), "{visible}");
    desk.key("C-t");
    desk.wait_for("q leaves");
    desk.key("Home");
    desk.key("q");
    desk.key("C-d");
    desk.wait_for("continue with");
    let bytes = std::fs::read(bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let nevers = [
        "\x1b]52",
        "\x1b]0;",
        "\x1b[2J",
        "\x1b[3J",
        "\x1bc",
        "\x1b[10;10H",
        "\x1b[5A end",
        "\u{9b}",
        "\u{9d}",
        "\u{202e}",
    ];
    for never in nevers {
        assert!(!text.contains(never), "{never:?} came through");
    }
    assert!(bytes.len() < 400_000, "{} bytes for what nobody can read", bytes.len());
    desk.assert_sane();
}
