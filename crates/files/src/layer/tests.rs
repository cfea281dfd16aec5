//! Commands run on a real overlay in namespaces of their own, and on a copy; the trees must be the same.

#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;

mod attributes;

struct World {
    _directory: tempfile::TempDir,
    workspace: PathBuf,
    copy: PathBuf,
    home: PathBuf,
}

const BASE: &str = "umask 022; mkdir -p src/deep docs empty; echo one > a; echo two > src/b; echo three > src/deep/c; \
    printf 'x%.0s' $(seq 9000) > big; ln -s src/b link; ln a hard; mkfifo pipe; echo run > run.sh; chmod 755 run.sh; \
    touch -d '2001-02-03 04:05:06.789' a src/b src src/deep docs .";

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (workspace, copy, home) = (place("workspace"), place("copy"), place("home"));
        for tree in [&workspace, &copy] {
            shell(tree, BASE);
        }
        // A change time is told from the marker's only if the clock has moved on.
        std::thread::sleep(std::time::Duration::from_millis(20));
        Self { _directory: directory, workspace, copy, home }
    }

    /// Runs a script on a layer.
    fn run(&self, script: &str) -> Layer {
        self.run_in(&self.home, script)
    }

    /// Runs a script on a layer that lies in another place.
    fn run_in(&self, home: &Path, script: &str) -> Layer {
        let layer = Layer::create(&self.workspace, home).unwrap();
        let (ws, home) = (self.workspace.display(), home.display());
        let held = format!(
            "mount -t overlay overlay -o lowerdir={ws},upperdir={home}/upper,workdir={home}/work,userxattr,volatile {ws} \
             && cd {ws} && {{ {script}\n}}"
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &held]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        layer
    }
}

fn shell(directory: &Path, script: &str) {
    let output = Command::new("sh").args(["-c", script]).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A tree in comparable words: path, kind, mode, content or target, links of one file; times where wanted.
fn tree(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    list(root, root, &mut lines);
    lines.sort();
    lines
}

fn list(root: &Path, directory: &Path, lines: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let found = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let content = match () {
            () if found.is_symlink() => {
                format!("-> {}", std::fs::read_link(&path).unwrap().display())
            }
            () if found.is_file() => {
                format!("{:?}", jm_types::Digest::of(&std::fs::read(&path).unwrap()))
            }
            () => String::new(),
        };
        let attributes =
            Command::new("getfattr").args(["-hd", "-m", "-"]).arg(&path).output().unwrap();
        let attributes = String::from_utf8_lossy(&attributes.stdout)
            .lines()
            .skip(1)
            .collect::<Vec<_>>()
            .join(" ");
        let names = if found.is_file() { found.nlink() } else { 0 };
        // A time in the past was set by the command, or left alone.
        let time = (found.mtime() < 1_600_000_000).then_some((found.mtime(), found.mtime_nsec()));
        lines.push(format!("{name} {:o} {names} {time:?} {content} {attributes}", found.mode()));
        if found.is_dir() {
            list(root, &path, lines);
        }
    }
}

fn plan(layer: &Layer) -> LayerPlan {
    layer.plan(LayerBounds::default(), &mut |_| {}).unwrap()
}

/// Scripts whose kept result must be that of a direct run, and whose taking back must restore the start.
const SCRIPTS: &[(&str, &str)] = &[
    ("nothing", "true"),
    ("create", "echo new > n; mkdir -p d/e; echo x > d/e/f"),
    ("change", "echo more >> a2; echo more >> src/b; echo q > src/deep/c"),
    ("delete", "rm src/b; rm -r docs"),
    ("delete everything", "rm -rf ./* .[!.]*"),
    ("recreate a directory", "rm -r src; mkdir src; echo new > src/only"),
    ("file becomes directory", "rm big; mkdir big; echo in > big/in"),
    ("directory becomes file", "rm -r src; echo flat > src"),
    ("file becomes link", "rm big; ln -s run.sh big"),
    ("link changes", "ln -sfn docs link"),
    ("modes", "chmod 600 big; chmod 700 src; chmod 555 docs"),
    ("closed directory", "mkdir shut; echo x > shut/x; chmod 500 shut; mkdir none; chmod 000 none"),
    ("unreadable file", "echo x > secret; chmod 000 secret"),
    ("rename a file", "mv src/b src/renamed; mv run.sh docs/"),
    ("edit in place", "sed -i s/three/drei/ src/deep/c"),
    ("unchanged copy", "sed -i s/nomatch/x/ src/b; : >> src/deep/c"),
    ("attributes", "setfattr -n user.note -v 1 big; setfattr -n user.dir -v 2 docs"),
    ("new hard link", "ln big big2; ln src/b src/b3"),
    (
        "both names of a file",
        "echo more > a.new; mv a.new a; echo other > hard.new; mv hard.new hard",
    ),
    ("fifo", "mkfifo another; rm pipe"),
    ("many", "for i in $(seq 300); do echo $i > m$i; done; rm m2*"),
    (
        "odd names",
        "printf x > \"$(printf 'new\\nline')\"; printf y > \"$(printf '\\377')\"; touch -- -dash",
    ),
    ("opened directory", "mkdir o; chmod 555 o; chmod 755 o; echo x > o/x; chmod 555 docs"),
    ("touch", "touch -d '2011-11-11' src docs big"),
];

#[test]
fn a_kept_layer_is_what_a_direct_run_leaves_and_can_be_taken_back() {
    for (name, script) in SCRIPTS {
        let world = World::new();
        let start = tree(&world.workspace);
        let layer = world.run(script);
        assert_eq!(tree(&world.workspace), start, "{name}: nothing counts before it is kept");
        shell(&world.copy, script);
        let found = plan(&layer);
        assert!(found.conflicts.is_empty(), "{name}: {:?}", found.conflicts);
        layer.keep(&found.steps, &mut NoKeepLog).unwrap();
        assert_eq!(tree(&world.workspace), tree(&world.copy), "{name}");
        layer.converge(&found.steps, StepState::NotDone).unwrap();
        assert_eq!(tree(&world.workspace), start, "{name}: taken back");
        layer.converge(&found.steps, StepState::Done).unwrap();
        assert_eq!(tree(&world.workspace), tree(&world.copy), "{name}: kept again");
    }
}

#[test]
fn what_changed_nothing_is_no_step() {
    for script in [
        "true",
        "cat a src/b > /dev/null",
        "sed -i s/nomatch/x/ big; touch -r big.ref big 2>/dev/null || :",
    ] {
        let world = World::new();
        let layer = world.run(script);
        let steps = plan(&layer).steps;
        let names: Vec<_> =
            steps.iter().filter(|step| step.work != LayerWork::Attributes).collect();
        assert!(names.is_empty() || script.contains("sed"), "{script}: {names:?}");
    }
}

/// A directory that came or went whole is compared with all that is in it.
#[test]
fn an_edit_inside_a_directory_that_came_whole_is_known() {
    let world = World::new();
    let layer = world.run("mkdir -p new/deep; echo x > new/deep/f; rm -r docs src");
    let steps = plan(&layer).steps;
    layer.keep(&steps, &mut NoKeepLog).unwrap();
    let changed = |side| -> Vec<String> {
        let changed = steps.iter().filter(|step| layer.is_changed_since(step, side).unwrap());
        changed.map(|step| step.path.display().to_string()).collect()
    };
    assert!(changed(StepState::Done).is_empty());
    std::thread::sleep(std::time::Duration::from_millis(20));
    shell(&world.workspace, "echo person >> new/deep/f");
    assert_eq!(changed(StepState::Done), ["new"]);
    layer.converge(&steps, StepState::NotDone).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    shell(&world.workspace, "echo person >> src/deep/c");
    assert_eq!(changed(StepState::NotDone), ["src"]);
}

/// A repository that only the layer has is judged by what git would read of it.
#[test]
fn a_repository_made_in_the_layer_is_judged() {
    let world = World::new();
    let layer = world.run(
        "mkdir -p bare/objects bare/refs bare/hooks; echo x > bare/HEAD; echo y > bare/config; \
         rm -r src",
    );
    let judge = NameJudge::new(&world.workspace, Vec::new());
    let found = |judge: &NameJudge| -> Vec<PathBuf> {
        let report = layer.report(judge, LayerBounds::default()).unwrap();
        report.runs_later.into_keys().collect()
    };
    assert!(found(&judge).is_empty());
    let judge = judge.with_upper(world.home.join(UPPER));
    assert_eq!(found(&judge), [Path::new("bare/config"), Path::new("bare/hooks")]);
}

/// A person's change beneath the layer is a conflict for the same path and for no other.
#[test]
fn a_change_beneath_is_a_conflict() {
    let cases = [
        ("echo layer >> src/b", "echo person >> src/b", Some("src/b")),
        ("rm src/b", "echo person >> src/b", Some("src/b")),
        ("rm -r src", "echo person >> src/deep/c", Some("src/deep/c")),
        ("rm -r src", "mkdir src/mine", Some("src/mine")),
        ("rm -r src", "mv docs src/deep/", Some("src/deep/docs")),
        ("rm -r src; mkdir src; echo x > src/x", "mv docs src/", Some("src/docs")),
        ("rm -r src; echo x > src", "mkdir -p src/deep/mine", Some("src/deep/mine")),
        ("rm -r src", "rm -r src; mv docs src", Some("src")),
        ("rm -r src", "rm -r src", None),
        ("rm -r src/deep", "echo person > src/mine", None),
        ("echo layer >> src/b", "rm -r src", Some("src")),
        ("echo layer > src/deep/n", "rm -r src/deep", Some("src/deep")),
        ("rm src/deep/c", "mv src/deep src/other", Some("src/deep")),
        ("mkdir -p new/deep; echo layer > new/deep/n", "rm -r docs", None),
        ("mv src lib; echo layer > lib/deep/n", "rm -r docs", None),
        ("echo layer > n", "echo person > n", Some("n")),
        ("echo layer >> src/b", "rm src/b", Some("src/b")),
        ("echo layer >> src/b", "echo person >> big", None),
        ("echo layer > n", "echo person > m", None),
    ];
    for (script, beneath, expected) in cases {
        let world = World::new();
        let layer = world.run(script);
        shell(&world.workspace, beneath);
        let found: Vec<String> = plan(&layer)
            .conflicts
            .iter()
            .map(|conflict| conflict.path.display().to_string())
            .collect();
        assert_eq!(
            found,
            Vec::from_iter(expected.map(str::to_owned)),
            "{script} against {beneath}"
        );
    }
}

#[test]
fn a_change_after_the_plan_keeps_nothing() {
    let cases = [
        ("echo layer >> src/b", "mv src/b src/old; echo person > src/b"),
        ("echo layer >> src/b", "echo person >> src/b"),
        ("echo layer >> src/b", "printf owt > src/b; touch -d '2001-02-03 04:05:06.789' src/b"),
        ("echo layer >> src/b", "chmod 600 src/b"),
        ("rm src/b", "echo person >> src/b"),
        ("rm -r src", "echo person >> src/deep/c"),
        ("rm -r src; mkdir src", "mkdir src/deep/mine"),
        ("echo layer > src/n", "echo person > src/n"),
    ];
    for (script, beneath) in cases {
        let world = World::new();
        let layer = world.run(&format!("{script}; echo new > aaa; rm big"));
        let found = plan(&layer);
        shell(&world.workspace, beneath);
        let before = tree(&world.workspace);
        let error = layer.keep(&found.steps, &mut NoKeepLog).unwrap_err();
        assert!(matches!(error, KeepError::Changed { .. }), "{script}, {beneath}: {error}");
        assert_eq!(tree(&world.workspace), before, "{script}, {beneath}");
    }
}

#[test]
fn what_was_edited_since_is_known() {
    let world = World::new();
    let layer = world.run("echo layer >> src/b; echo new > n");
    let found = plan(&layer);
    layer.keep(&found.steps, &mut NoKeepLog).unwrap();
    shell(&world.workspace, "echo person >> n");
    let changed = |step: &LayerStep| layer.is_changed_since(step, StepState::Done).unwrap();
    let changed: Vec<_> = found.steps.iter().filter(|step| changed(step)).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0].path, Path::new("n"));
}

#[test]
fn set_id_bits_are_dropped_and_told() {
    let world = World::new();
    let layer = world.run("cp run.sh su; chmod 4755 su; mkdir t; cp run.sh t/sg; chmod 2755 t/sg");
    let found = plan(&layer);
    let refused: Vec<_> =
        found.refused.iter().map(|node| (node.path.display().to_string(), node.why)).collect();
    assert_eq!(
        refused,
        [("su".to_owned(), NeverKept::SetId), ("t/sg".to_owned(), NeverKept::SetId)]
    );
    layer.keep(&found.steps, &mut NoKeepLog).unwrap();
    for name in ["su", "t/sg"] {
        let mode = world.workspace.join(name).metadata().unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755, "{name}");
    }
}

fn report(layer: &Layer) -> LayerReport {
    let judge = NameJudge::new(Path::new("/"), Vec::new());
    layer.report(&judge, LayerBounds::default()).unwrap()
}

/// A part is kept with all that belongs to it, and the rest can be kept after it.
#[test]
fn chosen_names_are_kept_with_what_belongs_to_them() {
    let cases = [
        ("echo x >> src/b; echo y > n; rm big", "n", "echo y > n"),
        ("echo x >> src/b; echo y > n; rm big", "src", "echo x >> src/b"),
        ("echo x >> src/b; echo y > n; rm big", "big", "rm big"),
        ("mkdir -p d/e; echo 1 > d/e/f; echo 2 > d/g", "d/e/f", "mkdir -p d/e; echo 1 > d/e/f"),
        ("mv src/b src/moved; echo x > n", "src/moved", "mv src/b src/moved"),
        ("mv src/b src/moved; echo x > n", "src/b", "mv src/b src/moved"),
        ("mkdir d; mv src/b d/b; echo x > d/n", "src/b", "mkdir d; mv src/b d/b"),
        ("mv link links; echo x > n", "links", "mv link links"),
        ("mv src lib; echo x > n", "lib/deep", "mv src lib"),
        ("ln big big2; echo x > n", "big2", "ln big big2"),
        ("rm -r src; echo x > n", "./src/", "rm -r src"),
        (
            "mkdir .vscode; echo x > .vscode/x; echo y > y",
            ".vscode/x",
            "mkdir .vscode; echo x > .vscode/x",
        ),
        ("chmod 700 docs; echo x > docs/n", "docs/n", "echo x > docs/n"),
        (
            "mkdir .git; echo 1 > .git/a; echo 2 > .git/b; echo 3 > c",
            ".git/a",
            "mkdir .git; echo 1 > .git/a; echo 2 > .git/b",
        ),
    ];
    for (script, wanted, same) in cases {
        let world = World::new();
        let layer = world.run(script);
        let whole = report(&layer);
        let selection = whole.select(&layer, &[wanted.to_owned()]).unwrap();
        let home = world.home.join("part");
        std::fs::create_dir(&home).unwrap();
        let part = layer.create_part(&world.workspace, &home).unwrap();
        layer.move_part(&whole, &selection, &part).unwrap();
        let keep = |layer: &Layer| {
            let found = report(layer);
            assert_eq!(found.plan.conflicts, [], "{script}: {wanted}");
            layer.keep(&found.plan.steps, &mut NoKeepLog).unwrap();
        };
        keep(&part);
        shell(&world.copy, same);
        assert_eq!(tree(&world.workspace), tree(&world.copy), "{script}: {wanted}");
        keep(&layer);
        let full = World::new();
        shell(&full.copy, script);
        assert_eq!(tree(&world.workspace), tree(&full.copy), "{script}: the rest of {wanted}");
    }
}

#[test]
fn a_part_that_cannot_stand_alone_is_refused() {
    let cases = [
        ("rm -r src", "src/b", "src/b cannot be kept alone: src was deleted as a whole"),
        (
            "rm -r docs; mkdir docs; echo x > docs/n",
            "docs/n",
            "docs/n cannot be kept alone: docs was replaced as a whole",
        ),
        (
            "rm big; mkdir big; echo x > big/n",
            "big/n",
            "big/n cannot be kept alone: big was replaced as a whole",
        ),
        ("echo x > n", "m", "m: not among the changes"),
        (
            "echo x > n; ln n .envrc",
            "n",
            "n cannot be kept alone: .envrc would be kept with it (direnv runs it); name it too to keep both",
        ),
        (
            "echo x > .envrc; mkdir d; mv .envrc d/e; ln d/e d/.envrc; ln d/e .npmrc",
            "d/e",
            "d/e cannot be kept alone: .npmrc would be kept with it (a package manager runs programs named in it), d/.envrc would be kept with it (direnv runs it); name them too to keep all",
        ),
    ];
    for (script, wanted, expected) in cases {
        let world = World::new();
        let layer = world.run(script);
        let refused = report(&layer).select(&layer, &[wanted.to_owned()]).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
}

/// The marker of a part is that of the whole: a change between the command and the split is a conflict.
#[test]
fn a_part_knows_what_changed_beneath_since_the_command_began() {
    let world = World::new();
    let layer = world.run("echo layer >> src/b; echo x > n");
    shell(&world.workspace, "echo person >> src/b");
    let whole = report(&layer);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let other = whole.select(&layer, &names(&["n"])).unwrap();
    assert!(whole.conflicts_in(&other).is_empty());
    let selection = whole.select(&layer, &names(&["src/b"])).unwrap();
    assert_eq!(whole.conflicts_in(&selection).len(), 1);
    let home = world.home.join("part");
    std::fs::create_dir(&home).unwrap();
    let part = layer.create_part(&world.workspace, &home).unwrap();
    layer.move_part(&whole, &selection, &part).unwrap();
    assert_eq!(report(&part).plan.conflicts.len(), 1);
    assert_eq!(report(&Layer::open(&world.workspace, &home).unwrap()).plan.conflicts.len(), 1);
}
