//! The rules that "always" offers: a sensible prefix of each part that is not allowed yet.
//!
//! Law: together with the rules in force, what is offered allows the very line, and nothing is offered
//! for programs that take code, remove, or act with other rights.

use jm_types::Verdict;

use super::decide::Because;
use super::matching::{CommandPlace, CompiledRule, base_name};
use super::pattern::pattern_of_words;
use super::place::{RuleContext, place_of};
use super::set::CommandRules;
use crate::line::{CommandLine, PartKind};
use crate::syntax::SimpleCommand;
use crate::variables::needs_no_spelling;
use crate::word::{ShellWord, quote_word};
use crate::wrappers::usual_name;

const OFFERS: &str = include_str!("offers.txt");

/// A longer pattern cannot be read in a question.
const LONGEST_PATTERN: usize = 160;

/// Programs for which nothing is offered.
const NEVER: &[&str] = &[
    "aws",
    "at",
    "batch",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "crontab",
    "curl",
    "dd",
    "doas",
    "docker",
    "gcloud",
    "halt",
    "helm",
    "insmod",
    "kill",
    "killall",
    "kubectl",
    "mkfs",
    "modprobe",
    "mount",
    "nc",
    "ncat",
    "parallel",
    "pkexec",
    "pkill",
    "podman",
    "poweroff",
    "reboot",
    "rm",
    "rmdir",
    "run0",
    "scp",
    "shred",
    "shutdown",
    "socat",
    "ssh",
    "su",
    "sudo",
    "systemctl",
    "tee",
    "terraform",
    "tofu",
    "truncate",
    "umount",
    "unlink",
    "watch",
    "wget",
];

/// Programs that take code as arguments or input: offered only with a script's name.
const INTERPRETERS: &[&str] = &[
    "awk",
    "deno",
    "gawk",
    "java",
    "julia",
    "lua",
    "luajit",
    "mawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "pypy3",
    "python",
    "python2",
    "python3",
    "ruby",
    "sed",
    "tclsh",
];

/// Shells, for which nothing is offered either.
const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh", "busybox"];

/// Commands of git that throw work away or name programs.
const NEVER_GIT: &[&str] = &["clean", "config", "filter-branch", "gc", "prune", "reflog", "reset"];

/// Programs that run nothing of the project they are called in.
const STANDALONE: &[&str] = &[
    "basename",
    "cat",
    "cmp",
    "cp",
    "cut",
    "date",
    "diff",
    "dirname",
    "du",
    "echo",
    "fd",
    "file",
    "find",
    "gh",
    "gofmt",
    "grep",
    "head",
    "jq",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "rg",
    "rustfmt",
    "shellcheck",
    "shfmt",
    "sort",
    "stat",
    "tail",
    "tar",
    "touch",
    "tr",
    "unzip",
    "wc",
    "zip",
];

/// Commands of git that run no hook.
const GIT_WITHOUT_HOOKS: &[&str] = &[
    "add", "branch", "diff", "fetch", "log", "mv", "restore", "rm", "show", "stash", "status",
    "tag",
];

/// A rule to be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleText {
    /// The pattern in the form that a configuration holds.
    pub pattern: String,
    /// The command runs the project's own code (cargo, make, npm, pytest, go …) or may, so the rule
    /// must not hold in other projects.
    pub runs_project_code: bool,
}

impl CommandRules {
    /// The rules that would allow a line for good; `None` when there is nothing to offer, or some part
    /// must be asked about each time.
    pub fn derive(&self, line: &CommandLine, context: &RuleContext<'_>) -> Option<Vec<RuleText>> {
        let decision = self.decide(line, context);
        if decision.verdict != Verdict::Ask {
            return None;
        }
        let place = place_of(line, context);
        let mut all = self.clone();
        let mut offered: Vec<RuleText> = Vec::new();
        for (decision, part) in decision.parts.iter().zip(line.parts()) {
            let (Because::NoRule { .. }, PartKind::Runs(command)) = (&decision.because, &part.kind)
            else {
                match decision.verdict {
                    Verdict::Allow => continue,
                    Verdict::Ask | Verdict::Deny => return None,
                }
            };
            let (rule, text) = offer(command, &place)?;
            if !offered.contains(&text) {
                all.push(rule);
                offered.push(text);
            }
        }
        let is_enough = all.decide(line, context).verdict == Verdict::Allow;
        (is_enough && !offered.is_empty()).then_some(offered)
    }
}

fn offer(command: &SimpleCommand, place: &CommandPlace) -> Option<(CompiledRule, RuleText)> {
    let program = command.words.first()?.literal()?;
    let name = usual_name(program);
    let is_never = NEVER.contains(&base_name(name)) || SHELLS.contains(&base_name(name));
    if is_never || base_name(name).starts_with("mkfs") {
        return None;
    }
    let second = command.words.get(1).and_then(ShellWord::literal);
    if name == "git" && second.is_some_and(|word| NEVER_GIT.contains(&word)) {
        return None;
    }
    let overwrites = |word: &ShellWord| {
        let is_forced =
            |text: &str| ["-f", "-d", "--force", "--delete", "--mirror"].contains(&text);
        word.literal().is_some_and(|text| is_forced(text) || text.starts_with(['+', ':']))
    };
    if name == "git" && second == Some("push") && command.words.iter().any(overwrites) {
        return None;
    }
    let runs_project_code = match name {
        "git" => !second.is_some_and(|word| GIT_WITHOUT_HOOKS.contains(&word)),
        _ => !STANDALONE.contains(&name),
    };
    let patterns = [prefix(command), exact(command, name)];
    patterns.into_iter().flatten().find_map(|pattern| {
        let rule = CompiledRule::compile(&pattern, Verdict::Allow).ok()?;
        rule.matches_narrowly(command, place).ok()?;
        Some((rule, RuleText { pattern, runs_project_code }))
    })
}

/// The longest line of the table that the command begins with, and `*`.
fn prefix(command: &SimpleCommand) -> Option<String> {
    let begins = |line: &&str| {
        let mut words = command.words.iter();
        line.split(' ').all(|wanted| {
            words.next().and_then(ShellWord::literal).is_some_and(|word| usual_name(word) == wanted)
        })
    };
    let lines = OFFERS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let longest = lines.filter(begins).max_by_key(|line| line.len())?;
    decorated(command, &format!("{longest} *"))
}

/// The command word by word, unless it takes code or names programs to run.
fn exact(command: &SimpleCommand, name: &str) -> Option<String> {
    let words: Vec<&str> = command.words.iter().map(ShellWord::literal).collect::<Option<_>>()?;
    let takes_code = INTERPRETERS.contains(&name)
        && words.get(1).is_none_or(|word| word.starts_with('-') || !word.contains('.'));
    // Open, the rule would not match: then some word acts, and only plain places may be offered.
    let open = CompiledRule::compile(&format!("{} *", quote_word(name)), Verdict::Allow).ok();
    let acts = open.and_then(|rule| rule.matches_narrowly(command, &CommandPlace::Here).err());
    let runs_others = acts.is_some_and(|mismatch| mismatch.runs_something());
    let pattern = decorated(command, &pattern_of_words(words.iter().copied()))?;
    let is_readable =
        pattern.len() <= LONGEST_PATTERN && !pattern.contains('\n') && pattern.is_ascii();
    (!takes_code && !runs_others && is_readable).then_some(pattern)
}

/// The pattern with the variables and files of the command spelt out.
fn decorated(command: &SimpleCommand, words: &str) -> Option<String> {
    let mut pattern = String::new();
    for (name, value) in &command.environment {
        if !needs_no_spelling(name, value.as_deref()) {
            pattern += &format!("{name}={} ", quote_word(value.as_deref()?));
        }
    }
    pattern += words;
    for used in &command.redirections.files {
        let file =
            used.file.as_deref().filter(|file| !file.starts_with('/') && !file.contains(".."))?;
        pattern += &format!(" {} {}", used.operator, quote_word(file));
    }
    Some(pattern)
}
