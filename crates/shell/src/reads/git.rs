//! `git`: some of its commands only look.
//!
//! Law: nothing before the command's name but the pager's switch, because configuration given
//! there can name programs to run.

use super::readers;
use crate::command_risk::Danger;
use crate::options::HarmlessOptions;
use crate::word::ShellWord;

const LOOKS: &[&str] = &[
    "annotate",
    "blame",
    "cat-file",
    "check-attr",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "range-diff",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "status",
    "version",
    "whatchanged",
];

const CHANGES: &[(&str, &[&str])] = &[
    ("reaches another repository", &["push", "pull", "fetch", "clone", "ls-remote", "send-email"]),
    (
        "changes the repository or its files",
        &[
            "add",
            "am",
            "apply",
            "bisect",
            "branch",
            "checkout",
            "checkout-index",
            "cherry-pick",
            "clean",
            "commit",
            "commit-tree",
            "config",
            "fast-import",
            "filter-branch",
            "gc",
            "init",
            "merge",
            "mv",
            "notes",
            "prune",
            "read-tree",
            "rebase",
            "reflog",
            "remote",
            "replace",
            "reset",
            "restore",
            "revert",
            "rm",
            "sparse-checkout",
            "stash",
            "submodule",
            "switch",
            "symbolic-ref",
            "tag",
            "update-index",
            "update-ref",
            "worktree",
            "write-tree",
        ],
    ),
];

/// Those that add to the history and to files, unless an option says otherwise.
const ADDS: &[&str] = &[
    "add",
    "am",
    "apply",
    "branch",
    "cherry-pick",
    "commit",
    "commit-tree",
    "init",
    "merge",
    "mv",
    "notes",
    "revert",
    "stash",
    "switch",
    "tag",
    "update-index",
    "worktree",
    "write-tree",
];

/// Words with which one of them drops commits, names or uncommitted work.
const DROPS: &[&str] = &[
    "--abort",
    "--amend",
    "--delete",
    "--discard-changes",
    "--fixup",
    "--force",
    "--hard",
    "--move",
    "--orphan",
    "--quit",
    "--skip",
    "-B",
    "-C",
    "-D",
    "-M",
    "-d",
    "-f",
    "clear",
    "drop",
    "prune",
    "remove",
];

/// Tells if a command that usually adds could lose something here.
fn may_lose(command: &str, rest: &[ShellWord]) -> bool {
    let drops = |word: &ShellWord| word.literal().is_none_or(|word| DROPS.contains(&word));
    match (command, rest.first()) {
        // Any other word may be a file, whose changes would be gone.
        ("checkout", Some(first)) => !first.is("-b") || rest.iter().any(drops),
        ("branch", Some(first)) if first.is("-m") => true,
        _ => !ADDS.contains(&command) || rest.iter().any(drops),
    }
}

pub(crate) fn danger_of_git(arguments: &[ShellWord]) -> Danger {
    let skip = |word: &ShellWord| word.is("--no-pager") || word.is("-P");
    let start = arguments.iter().position(|word| !skip(word)).unwrap_or(arguments.len());
    let Some((first, rest)) = arguments[start..].split_first() else { return Danger::none() };
    let Some(command) = first.literal() else {
        return Danger::unknown("the command of `git` is not known yet");
    };
    if command.starts_with('-') {
        return Danger::unknown(format!("`git {command}` may name programs to run"));
    }
    if LOOKS.contains(&command) {
        let options = readers::reader_options("git").unwrap_or(HarmlessOptions::NONE);
        return options.judge(&format!("git {command}"), rest);
    }
    if only_lists(command, rest) {
        return Danger::none();
    }
    match CHANGES.iter().find(|(_, commands)| commands.contains(&command)) {
        Some((does, _)) if may_lose(command, rest) => {
            Danger::destructive(format!("`git {command}` {does}"))
        }
        Some((does, _)) => Danger::changes(format!("`git {command}` {does}")),
        None => Danger::unknown(format!("`git {command}` may be anything")),
    }
}

/// Commands that list in some forms and change in others.
fn only_lists(command: &str, rest: &[ShellWord]) -> bool {
    let Some(words) = rest.iter().map(ShellWord::literal).collect::<Option<Vec<&str>>>() else {
        return false;
    };
    let all = |known: &[&str]| words.iter().all(|word| known.contains(word));
    match (command, words.as_slice()) {
        ("branch", _) => {
            let known =
                ["-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--show-current"];
            all(&known)
        }
        ("tag", [] | ["-l" | "--list"])
        | ("remote", [] | ["-v" | "--verbose"] | ["get-url", _]) => true,
        ("tag", ["-l" | "--list", pattern]) => !pattern.starts_with('-'),
        ("stash" | "worktree", ["list"]) | ("stash", ["show"]) => true,
        ("reflog", [] | ["show"]) | ("notes", ["list" | "show"]) => true,
        ("config", ["--get", _] | ["get", _] | ["--list" | "-l" | "list"]) => true,
        _ => false,
    }
}
