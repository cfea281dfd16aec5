//! Commands on a layer: held and kept they leave what a direct run leaves, and none of them reaches the
//! layer's directories or the workspace itself.

mod cargo;
mod closed;
mod commands;
mod immutable;

use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use self::commands::{BASE, SCRIPTS};
use crate::escapes::attempts;
use crate::world::{CANARY, User, World, own_all, program, users, works};

/// Two copies of one tree.
struct Pair {
    base: tempfile::TempDir,
    user: User,
}

impl Pair {
    fn new(user: User) -> Self {
        let base = tempfile::tempdir().unwrap();
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(base.path(), open).unwrap();
        for name in ["first/w", "home", "state"] {
            std::fs::create_dir_all(base.path().join(name)).unwrap();
        }
        own_all(base.path(), user);
        let pair = Self { base, user };
        let made = pair.command("first", "sh").args(["-ec", BASE]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        pair.again();
        pair
    }

    /// Both copies as they were.
    fn again(&self) {
        let script = "chmod -R u+rwx held direct 2>/dev/null; rm -rf held direct; cp -a first held; cp -a first direct";
        let mut copy = program(self.user, "sh");
        let made = copy.args(["-c", script]).current_dir(self.base.path()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        // A change time is told from the layer's marker only if the clock has moved on.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn command(&self, side: &str, name: &str) -> Command {
        let mut command = program(self.user, name);
        command
            .current_dir(self.at(side).join("w"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.at("home"))
            .env("JM_STATE_DIR", self.at("state"))
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Runs a script as a tool's command on a layer, and keeps by hand what only a person may keep.
    fn held(&self, script: &str) -> Output {
        let command = serde_json::json!({ "command": script }).to_string();
        let ran = self.jm(&["--allow", "run_command", "--yes", "call", "run_command", &command]);
        match ran.status.code() {
            Some(3) => self.jm(&["held", "keep"]),
            _ => ran,
        }
    }

    fn jm(&self, words: &[&str]) -> Output {
        let mut command = self.command("held", env!("CARGO_BIN_EXE_jm"));
        command.env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "on");
        command.args(["--toolset", "standard"]).args(words).output().unwrap()
    }
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

/// Times are compared where they lie in the past: a command set them, or left them alone.
const LONG_AGO: i64 = 1_600_000_000;

/// A tree in comparable words.
fn tree(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    list(root, root, &mut lines);
    let mut listed = Command::new("getfattr");
    let attributes = listed.args(["-Rhd", "-m", "-", "."]).current_dir(root).output().unwrap();
    let attributes = String::from_utf8_lossy(&attributes.stdout);
    lines.extend(attributes.split("\n\n").map(str::to_owned));
    lines.sort();
    lines
}

fn list(root: &Path, path: &Path, lines: &mut Vec<String>) {
    let found = path.symlink_metadata().unwrap();
    let kind = found.file_type();
    let name = path.strip_prefix(root).unwrap();
    // The time stamps of files stand in git's index.
    let is_index =
        name.ends_with(".git/index") || name.ends_with("index") && name.starts_with(".git");
    let content = match () {
        () if kind.is_symlink() => format!("-> {:?}", std::fs::read_link(path).unwrap()),
        () if is_index => "an index".to_owned(),
        () if kind.is_file() => {
            format!("{:?}", jm_types::Digest::of(&std::fs::read(path).unwrap()))
        }
        () if kind.is_fifo() => "fifo".to_owned(),
        () if kind.is_socket() => "socket".to_owned(),
        () => String::new(),
    };
    let names = if kind.is_dir() { 0 } else { found.nlink() };
    let time = (found.mtime() < LONG_AGO).then_some((found.mtime(), found.mtime_nsec()));
    lines.push(format!(
        "{name:?} {:o} {}:{} {names} {time:?} {content}",
        found.mode(),
        found.uid(),
        found.gid(),
    ));
    if kind.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| list(root, entry, lines));
    }
}

/// Commits are the same bytes.
const DATES: &str =
    "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z";

/// Compares a command that was held and kept, through the engine, with the same one run directly; and the workspace after
/// `jm undo` with what it was. What the command said and how it ended are files of the tree.
fn compare(pair: &Pair, script: &str) -> Vec<String> {
    pair.again();
    let before = tree(&pair.at("held/w"));
    let script = &format!("{{ {DATES}; {script}\n}} > .said; echo $? > .ended");
    let kept = pair.held(script);
    pair.command("direct", "sh").args(["-c", script]).output().unwrap();
    let mut wrong = differing(&tree(&pair.at("held/w")), &tree(&pair.at("direct/w")));
    // Once is enough, as whoever has the fewest rights.
    if users().last() == Some(&pair.user) {
        let undone = pair.jm(&["undo"]);
        let back = differing(&tree(&pair.at("held/w")), &before);
        if !back.is_empty() {
            wrong.push(format!("after undo:\n{}\n{}", back.join("\n"), said(&undone)));
        }
    }
    if !wrong.is_empty() {
        wrong.push(said(&kept));
    }
    let left = std::fs::read_dir(pair.at("state/held")).unwrap().count();
    if left > 0 {
        wrong.push(format!("{left} layers are left behind"));
    }
    wrong
}

fn differing(ours: &[String], theirs: &[String]) -> Vec<String> {
    let set = |lines: &[String]| lines.iter().cloned().collect::<BTreeSet<_>>();
    let (ours, theirs) = (set(ours), set(theirs));
    let only = ours.difference(&theirs).map(|line| format!("+ {line}"));
    only.chain(theirs.difference(&ours).map(|line| format!("- {line}"))).collect()
}

/// The scripts that end differently for a user.
fn differences(user: User) -> Vec<String> {
    let pair = Pair::new(user);
    let mut wrong = Vec::new();
    for (name, needs, script) in SCRIPTS {
        if !needs.iter().chain(&["git"]).all(|program| works(user, program)) {
            continue;
        }
        let found = compare(&pair, script);
        if !found.is_empty() {
            wrong.push(format!("{name} as {user:?}:\n{}", found.join("\n")));
        }
    }
    wrong
}

/// The failures of all users, who run side by side.
fn as_everybody(check: fn(User) -> Vec<String>) -> Vec<String> {
    let users: Vec<User> = users().into_iter().filter(|user| works(*user, "overlay")).collect();
    std::thread::scope(|scope| {
        let all: Vec<_> = users.iter().map(|user| scope.spawn(move || check(*user))).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn a_held_command_that_is_kept_leaves_what_a_direct_run_leaves() {
    assert!(SCRIPTS.len() >= 80, "{}", SCRIPTS.len());
    let wrong = as_everybody(differences);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Ways to the layer's own directories or to the tree beneath it. `$STATE` is the state directory.
const WAYS: &[(&str, &str)] = &[
    ("the mount is taken away", "umount . || umount -l \"$PWD\" || unshare -Urm umount \"$PWD\""),
    (
        "a namespace in which it is covered",
        "unshare -Urm sh -c 'mount --bind / /mnt; echo ESCAPED'",
    ),
    ("the first process's root", "echo x > /proc/1/root$PWD/escaped && echo ESCAPED"),
    (
        "the first process's directory",
        "echo x > /proc/1/cwd/escaped && echo ESCAPED; ls /proc/1/cwd/ && echo ESCAPED",
    ),
    (
        "the first process's descriptors",
        "for f in /proc/1/fd/*; do readlink $f && echo ESCAPED; echo x > $f/escaped && echo ESCAPED; done; cat /proc/1/fd/none",
    ),
    (
        "descriptors that were left open",
        "for f in 3 4 5 6 7 8 9 10 11 28 31 32; do test -e /proc/self/fd/$f && readlink /proc/self/fd/$f | grep -e held -e /w && echo ESCAPED; done; cat /proc/self/fd/31",
    ),
    (
        "the state directory",
        "ls \"$STATE\" && echo ESCAPED; echo x > \"$STATE/held/x\" && echo ESCAPED",
    ),
    ("a link to the state directory", "ln -s \"$STATE/held\" l; ls l/ && echo ESCAPED"),
    (
        "the place of the layer in the mount table",
        "grep -e \"$STATE\" -e upper= /proc/self/mountinfo /proc/self/mounts && echo ESCAPED; cat /nowhere",
    ),
    (
        "a second overlay",
        "mkdir u k m; mount -t overlay o -o lowerdir=.,upperdir=u,workdir=k,userxattr m && echo ESCAPED",
    ),
    ("a whiteout of its own", "mknod gone c 0 0 && echo ESCAPED"),
    (
        "a file by its handle",
        "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); h = (ctypes.c_ubyte * 136)(128); m = ctypes.c_int(); r = l.name_to_handle_at(-100, b\"a\", h, ctypes.byref(m), 0); print(\"ESCAPED\" if r == 0 and l.open_by_handle_at(-100, h, 0) >= 0 else f\"errno {ctypes.get_errno()}\")'",
    ),
    (
        "a tree that is cloned",
        "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print(\"ESCAPED\" if l.syscall(428, -100, b\".\", 1) >= 0 else f\"errno {ctypes.get_errno()}\")'",
    ),
    (
        "marks of the overlay",
        "python3 -c 'import os; os.setxattr(\"d\", \"trusted.overlay.opaque\", b\"y\"); print(\"ESCAPED\")'",
    ),
];

fn held_in(world: &World, flags: &[&str], words: &[&str]) -> Output {
    world
        .command(env!("CARGO_BIN_EXE_jm"))
        .args(["sandbox", "--backend", "namespaces", "--timeout", "30", "--hold"])
        .args(flags)
        .arg("--")
        .args(words)
        .output()
        .unwrap()
}

#[test]
fn no_command_reaches_its_layer_or_the_tree_beneath() {
    for user in users().into_iter().filter(|user| works(*user, "overlay")) {
        let mut world = World::new(user, "namespaces");
        held_in(&world, &["--drop"], &["true"]);
        world.look_again();
        let before = tree(&world.at("w"));
        let mut wrong = Vec::new();
        for (name, script) in WAYS {
            let output = held_in(&world, &["--drop"], &["sh", "-c", script]);
            let said = said(&output);
            let mut harm = world.harm();
            harm.extend(said.contains("ESCAPED").then(|| "it says that it escaped".to_owned()));
            harm.extend(
                (tree(&world.at("w")) != before).then(|| "the workspace changed".to_owned()),
            );
            if !harm.is_empty() || !crate::escapes::explains(&said) {
                wrong.push(format!("{name}: {harm:?}\n{said}"));
            }
        }
        assert!(wrong.is_empty(), "as {user:?}:\n{}", wrong.join("\n\n"));
    }
}

/// The attempts that do harm, as this user.
fn harmful(user: User) -> Vec<String> {
    let mut world = World::new(user, "namespaces");
    held_in(&world, &["--drop"], &["true"]);
    world.look_again();
    let before = tree(&world.at("w"));
    let mut wrong = Vec::new();
    for attempt in attempts(include_str!("escapes.md")) {
        let [program, option, script] = attempt.words();
        let words = ["env", "TERMINAL=/dev/pts/0", &program, &option, &script];
        let said = said(&held_in(&world, &["--drop"], &words));
        let mut harm = world.harm();
        harm.extend(said.contains(CANARY).then(|| "it read what it must not".to_owned()));
        harm.extend((tree(&world.at("w")) != before).then(|| "the workspace changed".to_owned()));
        if !harm.is_empty() {
            wrong.push(format!("{} as {user:?}: {harm:#?}\n{said}", attempt.title));
        }
    }
    wrong
}

/// On a layer that is dropped every attempt leaves the workspace as it was, too.
#[test]
fn none_escapes_from_a_layer() {
    let wrong = as_everybody(harmful);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A file that is handed in as input is read through a pipe, so it cannot be opened again for writing.
#[test]
fn input_is_no_way_to_the_workspace() {
    for user in users().into_iter().filter(|user| works(*user, "overlay")) {
        let pair = Pair::new(user);
        let before = tree(&pair.at("held/w"));
        let mut command = pair.command("held", env!("CARGO_BIN_EXE_jm"));
        command.stdin(
            std::fs::File::options().read(true).write(true).open(pair.at("held/w/a")).unwrap(),
        );
        let script = "cat; echo x > /proc/self/fd/0; echo x >&0";
        command.args([
            "sandbox",
            "--backend",
            "namespaces",
            "--hold",
            "--drop",
            "--",
            "sh",
            "-c",
            script,
        ]);
        let output = command.output().unwrap();
        assert!(said(&output).starts_with("one\n"), "{output:?}");
        assert_eq!(tree(&pair.at("held/w")), before, "{output:?}");
    }
}

/// Each reason is found before the command runs, and told in words.
#[test]
fn a_workspace_that_cannot_be_held_says_why() {
    let cases = [
        (User::Own, "mount -t tmpfs none docs", "another file system is mounted inside it, at "),
        (User::Own, "mount --bind . . && mount -o remount,ro,bind . && cd .", "mounted read-only"),
        (User::Own, "mount --bind . . && cd \"$PWD\"", "another file system or mount"),
        (User::Ordinary, "chown 0:0 src/b", "src/b belongs to another user or group"),
    ];
    for (user, script, expected) in cases {
        if !users().contains(&user) || !jm_testing::has("superuser") || !works(user, "overlay") {
            continue;
        }
        let pair = Pair::new(user);
        let home = pair.at("held/w");
        let mut command = Command::new("unshare");
        let jm = env!("CARGO_BIN_EXE_jm");
        let user = if user == User::Ordinary {
            "setpriv --reuid 65534 --regid 65534 --clear-groups"
        } else {
            ""
        };
        let script = format!(
            "{script} && {user} {jm} sandbox --backend namespaces --hold --keep -- touch made"
        );
        command.args(["-m", "sh", "-c", &script]).current_dir(&home).env("HOME", pair.at("home"));
        let output = command.env("JM_STATE_DIR", pair.at("state")).output().unwrap();
        let said = said(&output);
        assert!(said.contains("--hold does not work here: "), "{script}: {said}");
        assert!(said.contains(expected), "{script}: {said}");
        assert!(!home.join("made").exists(), "{script}: {said}");
    }
}
