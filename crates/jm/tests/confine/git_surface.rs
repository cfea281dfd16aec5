//! Git's control surface: every entry, attacked in every way, in every kind of repository; and the
//! list itself, compared with what real git commands look for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use jm_files::git_control;
use jm_files::git_control::{ControlEntry, ControlForm, DATA, SURFACE, Treatment};
use tempfile::TempDir;

use crate::world::{User, own_all, program, users, works};

/// A project with a repository, a submodule whose name has a slash, a linked work tree, a nested and
/// a bare repository.
struct Project {
    base: TempDir,
    user: User,
}

/// Directories in which git commands are given, and the git directory that they use, relative to the project.
const PLACES: &[(&str, &str)] = &[
    (".", ".git"),
    ("libs/foo", ".git/modules/libs/foo"),
    ("tree", ".git/worktrees/tree"),
    ("nested/deep", "nested/deep/.git"),
    ("bare", "bare"),
];

impl Project {
    fn new(user: User) -> Self {
        let base = tempfile::tempdir().unwrap();
        for name in ["w", "home", "state", "origin"] {
            std::fs::create_dir(base.path().join(name)).unwrap();
        }
        let project = Self { base, user: User::Own };
        let script = "set -e
            git config --global user.name n; git config --global user.email n@example.org
            git config --global protocol.file.allow always
            (cd ../origin; git init -q .; echo o > o; git add o; git commit -qm o)
            git init -q .; echo a > a; git add a; git commit -qm a
            git submodule --quiet add ../origin libs/foo; git commit -qm module
            git worktree add -q tree
            mkdir nested; git init -q nested/deep
            (cd nested/deep; echo n > n; git add n; git commit -qm n)
            git init -q --bare bare";
        let made = project.command("sh").args(["-c", script]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        own_all(project.base.path(), user);
        Self { user, ..project }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// Outside: as the person would type it.
    fn command(&self, name: &str) -> Command {
        let mut command = program(self.user, name);
        command.current_dir(self.at("w")).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.at("home")).env("JM_STATE_DIR", self.at("state"));
        command
    }

    fn confined(&self, backend: &str, script: &str) -> String {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        command.args(["sandbox", "--backend", backend, "--timeout", "60", "--root", "."]);
        let output = command.args(["--", "sh", "-c", script]).output().unwrap();
        [output.stdout, output.stderr]
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat()
    }

    /// The same as a tool's command, with a journal and somebody who agrees to everything.
    fn called(&self, backend: &str, script: &str) -> String {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        command.env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", backend);
        command.args(["--allow", "run_command", "--yes", "call", "run_command"]);
        command.arg(serde_json::json!({"command": script}).to_string());
        let output = command.output().unwrap();
        [output.stdout, output.stderr]
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat()
    }

    /// Content of every entry that git reads or runs.
    fn surface(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for (_, git) in PLACES {
            for entry in SURFACE.iter().filter(|entry| is_read(entry, git)) {
                note(&self.at("w").join(git).join(entry.name), &mut found);
            }
        }
        note(&self.at("w/tree/.git"), &mut found);
        note(&self.at("w/libs/foo/.git"), &mut found);
        found
    }

    /// Git as people and their prompts call it, everywhere.
    fn use_git(&self) {
        for (place, _) in PLACES {
            for words in [&["status"][..], &["log", "-1"], &["diff"], &["submodule", "status"]] {
                self.command("git")
                    .current_dir(self.at("w").join(place))
                    .args(words)
                    .output()
                    .unwrap();
            }
        }
    }
}

fn note(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_symlink() {
        let target = std::fs::read_link(path).unwrap().into_os_string().into_encoded_bytes();
        found.insert(path.to_owned(), target);
    } else if metadata.is_dir() {
        found.insert(path.to_owned(), Vec::new());
        std::fs::read_dir(path).unwrap().for_each(|entry| note(&entry.unwrap().path(), found));
    } else {
        found.insert(path.to_owned(), std::fs::read(path).unwrap());
    }
}

/// True if git reads or runs an entry of this git directory, and does not write it in ordinary work.
/// The private directory of a work tree has neither configuration nor hooks of its own.
fn is_read(entry: &ControlEntry, git: &str) -> bool {
    match entry.treatment {
        Treatment::Report => false,
        Treatment::Placeholder => !git.contains("worktrees"),
        Treatment::PutAside => true,
    }
}

/// Ways to get something of one's own under a name. `EVIL` is a file or a directory that makes git run
/// a program.
const WAYS: &[(&str, &str)] = &[
    ("create", "cp -r $EVIL $P"),
    ("edit", "if [ -d $P ]; then cp $EVIL/* $P/; else cat $EVIL >> $P; fi"),
    ("truncate", ": > $P"),
    ("remove", "rm -rf $P && cp -r $EVIL $P"),
    ("rename over", "cp -r $EVIL $P.new && mv -fT $P.new $P"),
    ("rename away", "mv $P $P.old && cp -r $EVIL $P"),
    ("rename parent", "D=$(dirname $P) && mv $D $D.old && cp -r $D.old $D && cp -r $EVIL $P"),
    ("link", "ln -sfn $EVIL $P"),
    ("hard link", "cp -r $EVIL $P.hard && ln -f $P.hard $P"),
    ("exchange", "cp -r $EVIL $P.other && exchange $P.other $P"),
];

/// `renameat2` with `RENAME_EXCHANGE`, for a shell.
const EXCHANGE: &str = "case $(uname -m) in x86_64) N=316;; *) N=276;; esac\n\
    exchange() { perl -e 'exit(syscall($ARGV[0], -100, $ARGV[1], -100, $ARGV[2], 2) < 0)' $N \"$@\"; }\n";

fn attempts(entry: &ControlEntry, git: &str) -> String {
    let evil = match entry.form {
        ControlForm::File => "$PWD/evil/config",
        ControlForm::Directory => "$PWD/evil/hooks",
    };
    let name = entry.name;
    let mut script = format!("{EXCHANGE}P=$PWD/{git}/{name}; EVIL={evil}\n");
    for (_, way) in WAYS {
        script.push_str(&format!("( {way} ) 2>/dev/null\n"));
    }
    script
}

type Run = fn(&Project, &str, &str) -> String;

fn check(user: User, backend: &'static str, run: Run) {
    assert!(works(user, backend), "{backend} as {user:?}");
    let project = Project::new(user);
    let mark = project.at("home/ran");
    std::fs::create_dir_all(project.at("w/evil/hooks")).unwrap();
    let program = format!("touch {}; false", mark.display());
    let config = format!("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"{program}\"\n");
    std::fs::write(project.at("w/evil/config"), config).unwrap();
    std::fs::write(project.at("w/evil/hooks/pre-commit"), format!("#!/bin/sh\n{program}\n"))
        .unwrap();
    own_all(&project.at("w/evil"), user);
    let before = project.surface();
    let mut count = 0;
    for (place, git) in PLACES {
        let held: Vec<&ControlEntry> = SURFACE.iter().filter(|entry| is_read(entry, git)).collect();
        count += WAYS.len() * held.len();
        // Several in one command: what one leaves behind helps the next.
        let script: String = held.into_iter().map(|entry| attempts(entry, git)).collect();
        let said = run(&project, backend, &format!("{script}\necho all were tried"));
        assert!(said.contains("all were tried"), "{backend} as {user:?}, {place}: {said}");
        project.use_git();
        assert!(!mark.exists(), "{backend} as {user:?}: git ran a program because of {place}");
        let now = project.surface();
        let changed: Vec<_> = before
            .keys()
            .chain(now.keys())
            .filter(|path| now.get(*path) != before.get(*path))
            .collect();
        assert!(changed.is_empty(), "{backend} as {user:?}, {place}: {changed:#?}");
    }
    println!("{count} attempts on git's control surface behind {backend} as {user:?}");
}

#[test]
fn no_entry_of_gits_control_surface_is_changed_behind_namespaces() {
    users().into_iter().for_each(|user| check(user, "namespaces", Project::confined));
}

#[test]
fn no_entry_of_gits_control_surface_is_changed_behind_bwrap() {
    users().into_iter().for_each(|user| check(user, "bwrap", Project::confined));
}

#[test]
fn no_entry_of_gits_control_surface_is_changed_by_a_tools_command() {
    users().into_iter().for_each(|user| check(user, "namespaces", Project::called));
}

/// Landlock knows no exception within a directory that may be written, and says so.
#[test]
fn behind_landlock_gits_control_surface_is_said_to_be_open() {
    for user in users() {
        assert!(works(user, "landlock"), "{user:?}");
        let said = Project::new(user).confined("landlock", "echo x >> .git/config");
        assert!(said.contains("jm: not confined:") && said.contains(".git"), "{user:?}: {said}");
    }
}

/// Git is asked itself: every name below a git directory that it opens, looks at or runs is an entry
/// of the surface or known as data.
#[test]
fn real_git_looks_for_nothing_that_the_list_does_not_know() {
    let project = Project::new(User::Own);
    let trace = project.at("trace");
    let script = "git status; git log -p; git diff; git commit --allow-empty -m x; git stash; \
        git checkout -q -b other; git rebase HEAD~1 -x true; git cherry-pick --allow-empty HEAD; \
        git merge main; git tag t; git fetch origin; git gc -q; git submodule update; git bisect start; \
        git bisect reset; git worktree list; git branch -a; git remote -v; git config -l; git am </dev/null; \
        git notes add -m n; git sparse-checkout list; git describe --always; git blame a; git grep a";
    let places: String =
        PLACES.iter().map(|(place, _)| format!("(cd {place}; {script})\n")).collect();
    let calls = "trace=open,openat,stat,lstat,newfstatat,access,faccessat2,readlink,execve,statx";
    let mut strace = project.command("strace");
    strace.args(["-f", "-qq", "-e", calls, "-s", "4096", "-o"]).arg(&trace);
    strace.args(["sh", "-c", &places]).output().unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    let root = project.at("w");
    let mut unknown = BTreeSet::new();
    let mut seen = 0;
    for path in text.lines().filter_map(|line| line.split('"').nth(1)) {
        let Some(below) = below_git_directory(&root, path) else { continue };
        seen += 1;
        if !is_known(&below) {
            unknown.insert(below);
        }
    }
    assert!(seen > 1_000, "{seen} names were looked at");
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// The part of a traced path behind its innermost git directory.
fn below_git_directory(root: &Path, path: &str) -> Option<String> {
    let relative = path.strip_prefix(root.to_str()?).unwrap_or(path).trim_start_matches('/');
    let at = relative.find(".git/")?;
    let mut below = &relative[at + ".git/".len()..];
    loop {
        let next =
            ["modules/libs/foo/", "worktrees/tree/"].iter().find_map(|git| below.strip_prefix(git));
        match next {
            Some(next) => below = next,
            None => return Some(below.to_owned()),
        }
    }
}

fn is_known(below: &str) -> bool {
    let below = below.trim_matches('/').trim_start_matches("./");
    let below =
        [".lock", ".new"].iter().fold(below, |name, end| name.strip_suffix(end).unwrap_or(name));
    let first = below.split('/').next().unwrap_or_default();
    // Whatever may be a reference is looked for under its bare name first: branches, tags, remotes
    // and files made here, and the names of objects.
    let references = ["main", "master", "other", "t", "origin", "tree", "n", "a", "HEAD~1", ".git"];
    let is_object = first.len() >= 7 && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    // How a new repository finds out what the file system can do.
    let is_probe = first == "CoNfIg" || first.len() == 7 && first.starts_with('t');
    let families = ["sharedindex.", "MERGE_", "NOTES_", "BISECT_"];
    below.is_empty()
        || git_control::entry_of(Path::new(below)).is_some()
        || DATA.contains(&first)
        || references.contains(&first)
        || is_object
        || is_probe
        || families.iter().any(|family| first.starts_with(family))
}
