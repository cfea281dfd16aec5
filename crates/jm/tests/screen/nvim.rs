//! A `.chat` document in Neovim, in a real terminal, driven by keys.

use std::path::Path;
use std::process::Command;

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

/// Neovim on a document, with the plugin and nothing else.
fn editor(height: usize, prompt: &str, script: &str) -> Desk {
    let desk = Desk::new(Kind::Tmux, (80, height));
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/nvim");
    let setup = format!(
        "vim.opt.runtimepath:prepend({plugin:?})\nvim.opt.swapfile = false\n\
         require('journeyman').setup({{ command = {{ {program:?} }}, model = 'script:' .. vim.fn.getcwd() .. '/s.toml' }})\n",
        program = env!("CARGO_BIN_EXE_jm"),
    );
    std::fs::write(desk.path("init.lua"), setup).unwrap();
    std::fs::write(desk.path("t.chat"), format!("@You:\n{prompt}\n")).unwrap();
    std::fs::write(desk.path("s.toml"), script).unwrap();
    desk.line(&format!("{}/tests/nvim -u init.lua t.chat", plugin.display()));
    desk.wait_for(prompt);
    desk
}

/// Writes at the end of the document, which the plugin leaves with an empty line below `@You:`.
fn write_prompt(desk: &Desk, prompt: &str) {
    desk.wait_until("the end of the work", |screen| !screen.contains("working"));
    desk.letters("Go");
    desk.letters(prompt);
    desk.key("Escape");
    desk.key("C-]");
}

/// FL-PHASE, FL-STATUS, FL-PREVIEW, FL-EXEC: a key sends, the preview stands in the placeholder, keys approve and go on.
#[test]
fn a_conversation_in_neovim_is_driven_by_keys() {
    let (first, second) = ASKS.split_at(ASKS.rfind("[[turn]]").unwrap());
    let desk = editor(24, "Greet.", first);
    desk.key("C-]");
    let asked = desk.wait_for("status=pending");
    assert!(asked.contains("**Tool Use:** `bash` (`b`)"), "{asked}");
    desk.wait_until("the preview", |screen| screen.contains("bash: ") && screen.contains("$ echo"));

    std::fs::write(desk.path("s.toml"), second).unwrap();
    desk.letters("\\a");
    desk.wait_for("status=approved");
    desk.key("C-]");
    let answered = desk.wait_for("Greeted.");
    // The result may be folded on the screen by now.
    let document = std::fs::read_to_string(desk.path("t.chat")).unwrap();
    assert!(document.contains("hello"), "{document}");
    assert!(!answered.contains("status="), "{answered}");
    desk.wait_until("the end of the work", |screen| !screen.contains("working"));
    desk.line(":quit");
    desk.wait_for("ready>");
    desk.assert_sane();
}

const SLOW: &str = "[[turn]]\nsteps = [{ text = \"Slowly\" }, { delay_ms = 60000 }]\n";
const WRITES: &str = r#"[[turn]]
steps = [{ call = "write", id = "w", arguments = '{"label":"notes","path":"notes.txt","content":"theirs\n"}' }]
[[turn]]
expect = { results_contain = ["denied by a policy"] }
steps = [{ text = "I leave it to you." }]
"#;

/// FL-STATUS, FL-EXEC, FL-BUFFER: a rejection with its reason, a key that stops, a program that is killed, and a file that
/// is edited while the agent wants to change it.
#[test]
fn a_conversation_in_neovim_survives_what_goes_wrong() {
    let (first, _) = ASKS.split_at(ASKS.rfind("[[turn]]").unwrap());
    let desk = editor(70, "Greet.", first);
    let script = |text: &str| std::fs::write(desk.path("s.toml"), text).unwrap();
    desk.key("C-]");
    desk.wait_for("status=pending");
    script(
        "[[turn]]\nexpect = { results_contain = [\"not here\"] }\nsteps = [{ text = \"A pity.\" }]\n",
    );
    desk.line(":Journeyman reject not here");
    desk.wait_for("status=rejected");
    desk.key("C-]");
    let answered = desk.wait_for("A pity.");
    assert!(answered.contains("(error)") && answered.contains("not here"), "{answered}");

    script(SLOW);
    write_prompt(&desk, "Talk.");
    desk.wait_for("Slowly");
    desk.key("C-c");
    desk.wait_for("flemma:aborted");

    write_prompt(&desk, "Talk again.");
    desk.wait_until("an answer", |screen| screen.matches("Slowly").count() > 1);
    let program = format!("chat --json .*{}", desk.path("t.chat").display());
    let killed = Command::new("pkill").args(["-KILL", "-f", &program]).status().unwrap();
    assert!(killed.success());
    desk.wait_for("send it again to continue");

    std::fs::write(desk.path("notes.txt"), "old\n").unwrap();
    script(WRITES);
    desk.line(":split notes.txt");
    desk.wait_for("old");
    desk.letters("ccmine");
    desk.key("Escape");
    desk.line(":wincmd w");
    desk.key("C-]");
    let told = desk.wait_for("I leave it to you.");
    assert!(told.contains("mine"), "{told}");
    assert_eq!(std::fs::read_to_string(desk.path("notes.txt")).unwrap(), "old\n");
    desk.line(":qall!");
    desk.wait_for("ready>");
    desk.assert_sane();
}
