//! A table of commands with their verdicts, and real shells as witnesses (FJ-SHELL, FJ-GATE).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::process::Command;

use jm_shell::{CommandLine, CommandRules, Danger, DangerClass, Readers, RuleContext, RuleSource};
use jm_types::Verdict;

const CASES: &str = include_str!("reads.txt");

fn class(word: &str) -> DangerClass {
    match word {
        "read-only" => DangerClass::ReadOnly,
        "unknown" => DangerClass::Unknown,
        "destructive" => DangerClass::Destructive,
        other => panic!("no such class: {other}"),
    }
}

/// `\n` in the table is a line break, `<CR>` a carriage return.
fn cases() -> impl Iterator<Item = (DangerClass, String)> {
    CASES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(|line| {
        let (word, command) = line.split_once('\t').expect("a verdict, a tab and a command");
        (class(word), command.replace("\\n", "\n").replace("\\t", "\t").replace("<CR>", "\r"))
    })
}

#[test]
fn every_command_of_the_table_is_judged_right() {
    assert!(cases().count() >= 200);
    let wrong: Vec<String> = cases()
        .map(|(expected, command)| (expected, Danger::of_shell(&command), command))
        .filter(|(expected, found, _)| found.class != *expected)
        .map(|(expected, found, command)| format!("{command:?}: {expected:?}, but {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Decision by what a command does: reading, changing files, everything that is hard to take back.
#[test]
fn the_risk_follows_from_what_a_command_does() {
    use jm_types::RiskLevel::{High, Low, Medium};
    let cases = [
        (Low, "ls -la | head"),
        (Low, "git status && git log --oneline -5"),
        (Low, "rg pattern src; cat README.md"),
        (Medium, "mkdir -p build && cp a b"),
        (Medium, "cargo test -q"),
        (Medium, "make all"),
        (Medium, "echo hi > notes.txt"),
        (Medium, "sed -i s/a/b/ file"),
        (Medium, "git add . && git commit -m 'a message'"),
        (Medium, "git checkout -b topic"),
        (Medium, "git stash"),
        (Medium, "for f in a b; do touch $f; done"),
        (High, "git checkout -- src"),
        (High, "git checkout main"),
        (High, "git commit --amend"),
        (High, "git rebase main"),
        (High, "git reset --hard"),
        (High, "git push --force"),
        (High, "git push"),
        (High, "git clean -fd"),
        (High, "git branch -D topic"),
        (High, "git stash drop"),
        (High, "git config core.pager evil"),
        (High, "rm -rf build"),
        (High, "ls; rm file"),
        (High, "find . -delete"),
        (High, "xargs rm < list"),
        (High, "curl example.com"),
        (High, "npm install"),
        (High, "echo x > /dev/tcp/host/80"),
        (High, "echo x > ../elsewhere"),
        (High, "echo x >> ~/.profile"),
        (High, "sudo ls"),
        (High, "$(cat file)"),
        (High, "eval \"$x\""),
        (High, "ls |"),
    ];
    for (risk, command) in cases {
        let found = Danger::of_shell(command);
        assert_eq!(found.risk(), risk, "{command}: {found:?}");
    }
}

#[test]
fn a_program_with_arguments_is_judged_without_a_shell() {
    let cases: &[(&[&str], DangerClass, &str)] = &[
        (&["ls", "-la", ";", "rm", "x"], DangerClass::ReadOnly, "only reads"),
        (&["echo", "$(rm x)", ">", "f"], DangerClass::ReadOnly, "only reads"),
        (&["rm", "x"], DangerClass::Destructive, "`rm` removes files"),
        (&["sh", "-c", "ls > f"], DangerClass::Destructive, "`>` writes to f"),
        (
            &["env", "LC_ALL=C", "sudo", "ls"],
            DangerClass::Destructive,
            "`sudo` acts with another user's rights",
        ),
        (&["git", "push"], DangerClass::Destructive, "`git push` reaches another repository"),
        (&["make"], DangerClass::Unknown, "`make` runs code"),
        (&["frobnicate"], DangerClass::Unknown, "`frobnicate` is not known to only read"),
        (&["sh", "-c", "ls |"], DangerClass::Unknown, "its shell syntax is not understood"),
    ];
    for (words, expected, why) in cases {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = Danger::of_argv(&argv);
        assert_eq!((found.class, found.why.as_str()), (*expected, *why), "{words:?}");
    }
}

#[test]
fn depth_and_number_do_not_lift_the_judgement() {
    for count in [1, 49, 50, 51, 500] {
        let harmless = vec!["ls"; count].join("; ");
        assert_eq!(Danger::of_shell(&harmless).class, DangerClass::ReadOnly, "{count} commands");
        let script = format!("{harmless}; rm x");
        assert_eq!(Danger::of_shell(&script).class, DangerClass::Destructive, "{count} commands");
        let nested = format!("{}rm x{}", "(".repeat(count), ")".repeat(count));
        assert_ne!(Danger::of_shell(&nested).class, DangerClass::ReadOnly, "{count} subshells");
        let wrapped = format!("{}rm x", "env ".repeat(count));
        assert_ne!(Danger::of_shell(&wrapped).class, DangerClass::ReadOnly, "{count} wrappers");
    }
    assert_eq!(Danger::of_shell(&"ls;".repeat(100_000)).class, DangerClass::Unknown);
}

/// Pieces from which scripts are made that a careless judge would misread.
const PIECES: &[&str] = &[
    "ls",
    "echo",
    "cat",
    "victim",
    "victim",
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "\\",
    "#",
    " ",
    " ",
    " ",
    "a",
    "$x",
    "${x}",
    "x=",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n",
    "<",
    "2>&1",
    "if",
    "then",
    "fi",
    "for f in a",
    "do",
    "done",
    "!",
    "[",
    "]",
    "case a in a)",
    ";;",
    "esac",
    "\\\n",
    "sh -c",
    "env",
    "time",
    "xargs",
    "find . -exec",
    "{}",
    "\\;",
    "+",
    "command",
    "*",
    "<(",
    "<<<",
    "timeout 1",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// A `victim` in every script: if the script is called read-only, or rules allow it, no shell may run
/// the victim.
#[test]
fn no_shell_runs_what_was_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("marker");
    let patterns = ["ls *", "echo *", "cat *", "a *", "do *", "command2 *"];
    let sources = patterns.map(|pattern| RuleSource::new(Verdict::Allow, pattern));
    let rules = CommandRules::new(&sources).unwrap();
    let mut dice = Dice(0x0dd_ba11);
    let mut harmless = Vec::new();
    for _ in 0..100_000 {
        let length = 2 + dice.roll(9);
        let pieces: Vec<&str> = (0..length).map(|_| PIECES[dice.roll(PIECES.len())]).collect();
        let script = pieces.join(if dice.roll(2) == 0 { "" } else { " " });
        if script.contains("victim") && is_let_through(&rules, &script) {
            harmless.push(script);
        }
    }
    assert!(harmless.len() > 300, "only {} scripts are worth a try", harmless.len());
    for shell in ["sh", "bash"] {
        for chunk in harmless.chunks(50) {
            run_all(shell, chunk, folder.path());
            if marker.exists() {
                std::fs::remove_file(&marker).unwrap();
                let ran = |script: &&String| {
                    run_all(shell, std::slice::from_ref(*script), folder.path());
                    marker.exists()
                };
                panic!("{shell} ran the victim of {:?}", chunk.iter().find(ran));
            }
        }
    }
    // The trap works: a script that does run the victim leaves the marker.
    run_all("sh", &["victim".to_owned()], folder.path());
    assert!(marker.exists());
}

fn is_let_through(rules: &CommandRules, script: &str) -> bool {
    let line = CommandLine::of_shell(script);
    let context = RuleContext { readers: Readers::Allowed, roots: &[] };
    line.danger().class == DangerClass::ReadOnly
        || rules.decide(&line, &context).verdict == Verdict::Allow
}

/// Each script in a shell of its own, in a folder of its own, with a `victim` on the path.
fn run_all(shell: &str, scripts: &[String], folder: &Path) {
    let bin = folder.join("bin");
    let room = folder.join("room");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::fs::create_dir(&room).unwrap();
        let victim = format!("#!/bin/sh\n: > '{}'\n", folder.join("marker").display());
        std::fs::write(bin.join("victim"), victim).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join("victim"), mode).unwrap();
    }
    let driver = "shell=$1; shift; for script do timeout 5 \"$shell\" -c \"$script\"; done";
    let path = format!("{}:/usr/bin:/bin", bin.display());
    Command::new("sh")
        .args(["-c", driver, "driver", shell])
        .args(scripts)
        .current_dir(&room)
        .env_clear()
        .env("PATH", path)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
}
