//! A `.chat` document in Neovim, in a real terminal, driven by keys.

use std::path::Path;

use crate::desk::{Desk, Kind};

const ASKS: &str = r#"[[turn]]
steps = [
  { text = "I greet." },
  { call = "bash", id = "b", arguments = '{"label":"greet","command":"echo hello","timeout":null}' },
]
[[turn]]
expect = { results_contain = ["hello"] }
steps = [{ text = "Greeted." }]
"#;

/// FL-PHASE, FL-STATUS, FL-PREVIEW, FL-EXEC: a key sends, the preview stands in the placeholder, keys approve and go on.
#[test]
fn a_conversation_in_neovim_is_driven_by_keys() {
    let desk = Desk::new(Kind::Tmux, (80, 24));
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/nvim");
    let setup = format!(
        "vim.opt.runtimepath:prepend({plugin:?})\nvim.opt.swapfile = false\n\
         require('journeyman').setup({{ command = {{ {program:?} }}, model = 'script:' .. vim.fn.getcwd() .. '/s.toml' }})\n",
        program = env!("CARGO_BIN_EXE_jm"),
    );
    std::fs::write(desk.path("init.lua"), setup).unwrap();
    std::fs::write(desk.path("t.chat"), "@You:\nGreet.\n").unwrap();
    let (first, second) = ASKS.split_at(ASKS.rfind("[[turn]]").unwrap());
    std::fs::write(desk.path("s.toml"), first).unwrap();
    desk.line(&format!("{}/tests/nvim -u init.lua t.chat", plugin.display()));
    desk.wait_for("Greet.");

    desk.key("C-]");
    let asked = desk.wait_for("status=pending");
    assert!(asked.contains("**Tool Use:** `bash` (`b`)"), "{asked}");
    desk.wait_until("the preview", |screen| screen.contains("bash: ") && screen.contains("$ echo"));

    std::fs::write(desk.path("s.toml"), second).unwrap();
    desk.letters("\\a");
    desk.wait_for("status=approved");
    desk.key("C-]");
    let answered = desk.wait_for("Greeted.");
    assert!(answered.contains("hello"), "{answered}");
    assert!(!answered.contains("status="), "{answered}");
    desk.wait_until("the end of the work", |screen| !screen.contains("working"));
    desk.line(":quit");
    desk.wait_for("ready>");
    desk.assert_sane();
}
