//! `kill -9` of the editor, at whatever moment of a document's cycle.
//!
//! Law: what the editor started ends without it, and the document goes on as after a kill of the program.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::desk::Desk;
use crate::documents::{check, desk, kills, turns};
use crate::interrupts::noise;

/// How long what an editor left behind may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
enum Editor {
    Neovim,
    Emacs,
}

const NEOVIM: &str = r#"
vim.opt.runtimepath:prepend(vim.env.PLUGIN)
vim.opt.swapfile = false
vim.cmd("filetype plugin on")
vim.cmd.runtime("plugin/journeyman.lua")
local journeyman = require("journeyman")
journeyman.setup({ command = { vim.env.JM }, model = vim.env.MODEL, arguments = { "--on-recovery", "keep" } })
vim.cmd.edit(vim.env.DOCUMENT)
journeyman.send()
vim.wait(60000, function() return not require("journeyman.run").is_running(vim.api.nvim_get_current_buf()) end, 10)
"#;

const EMACS: &str = r#"
(add-to-list 'load-path (getenv "PLUGIN"))
(require 'journeyman-chat)
(setq journeyman-program (list (getenv "JM")) journeyman-model (getenv "MODEL")
      journeyman-chat-arguments '("--on-recovery" "keep") make-backup-files nil create-lockfiles nil)
(find-file (getenv "DOCUMENT"))
(journeyman-chat-send)
(while (process-live-p journeyman-chat--process) (accept-process-output nil 0.02))
"#;

impl Editor {
    /// The editor that sends a fresh document and leaves when the answer is there.
    fn command(self, desk: &Desk, number: u64) -> Command {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let document = desk.path(&format!("t{number}.chat"));
        std::fs::write(&document, "@You:\nGo.\n").unwrap();
        let model = desk.path(&format!("model{number}.toml"));
        std::fs::write(&model, format!("wire = \"anthropic\"\n{}", turns(number))).unwrap();
        let (plugin, script, text, program, words): (_, _, _, _, &[&str]) = match self {
            Self::Neovim => {
                let nvim = checkout.join("editors/nvim/tests/nvim");
                ("editors/nvim", "send.lua", NEOVIM, nvim, &["--clean", "-l"])
            }
            Self::Emacs => {
                let words = &["-Q", "--batch", "-l"];
                ("editors/emacs", "send.el", EMACS, PathBuf::from("emacs"), words)
            }
        };
        std::fs::write(desk.path(script), text).unwrap();
        let mut command = Command::new(program);
        let program = desk.jm(&[]);
        let given = program.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(given).current_dir(desk.path("."));
        let target = std::env::var_os("CARGO_TARGET_DIR");
        command.envs(target.map(|target| ("CARGO_TARGET_DIR", target)));
        command.env("JM", program.get_program()).env("PLUGIN", checkout.join(plugin));
        command.env("DOCUMENT", document).env("MODEL", format!("script:{}", model.display()));
        command.args(words).arg(desk.path(script)).stdin(Stdio::null());
        command
    }
}

/// Waits until no program works at the desk.
fn wait_for_programs(desk: &Desk) {
    let workspace = desk.path(".").canonicalize().unwrap();
    let jm = Path::new(env!("CARGO_BIN_EXE_jm")).canonicalize().unwrap();
    let at_work = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        processes.map(|process| process.path()).any(|process| {
            let link = |name: &str| std::fs::read_link(process.join(name)).ok();
            link("exe") == Some(jm.clone()) && link("cwd") == Some(workspace.clone())
        })
    };
    let begin = Instant::now();
    while at_work() {
        assert!(begin.elapsed() < PATIENCE, "a program without its editor does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// FL-CHAT, FL-PHASE, NFR-REL-04
#[test]
fn a_document_goes_on_after_its_editor_was_killed_at_random_moments() {
    let desk = desk();
    let mut spans = [Editor::Neovim, Editor::Emacs].map(|editor| {
        let number = 1000 + editor as u64;
        let begin = Instant::now();
        let output = editor.command(&desk, number).output().unwrap();
        let document = desk.read(&format!("t{number}.chat"));
        assert!(document.contains("Done."), "{editor:?}: {output:?}\n{document}");
        (editor, u64::try_from(begin.elapsed().as_micros()).unwrap())
    });
    let (mut killed, mut with_calls) = (0, 0);
    for number in 1.. {
        assert!(number < 5 * kills(), "only {killed} of {number} came in time");
        let (editor, span) = &mut spans[usize::from(number % 2 == 0)];
        let mut child = editor
            .command(&desk, number)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(noise(number, *span)));
        child.kill().unwrap();
        match child.wait().unwrap().signal() {
            Some(_) => killed += 1,
            // The machine has become less busy since the span was measured.
            None => *span = *span * 3 / 4,
        }
        wait_for_programs(&desk);
        with_calls += usize::from(check(&desk, number) > 0);
        if killed == kills() {
            break;
        }
    }
    println!("{killed} kills of editors, {with_calls} documents with calls");
    desk.verify();
}
