//! A command that runs unasked cannot change anything, whatever it is: no judge stands before these.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::world::{CANARY, User, World, own_all, users};

/// Scripts that try to write, to execute what lies in the workspace, or to reach somebody. `@W` stands
/// for a place of the world, because no variable of ours passes.
const WRITERS: &[&str] = &[
    "echo x > made",
    "echo x >> probe.py",
    "touch -d 2001-01-01 probe.py",
    "chmod 777 probe.py",
    "rm -rf .git probe.py",
    "mv probe.py moved",
    "ln probe.py hard",
    "ln -s probe.py soft",
    "mkdir -p a/b/c",
    "mkfifo pipe",
    "echo x > waiting-pipe",
    "git init -q sub; git add probe.py; git commit -qm x",
    "git config core.pager 'touch made'",
    "cp /bin/true \"@W/true\"",
    "./evil",
    "\"@W/evil\"",
    "sh -c ./evil",
    "$(ls /lib64/ld-linux-*.so.2 /lib/ld-linux-*.so.1) \"@W/true-copy\"",
    "cp evil /tmp/evil && chmod +x /tmp/evil && /tmp/evil",
    "cp evil /var/tmp/evil && chmod +x /var/tmp/evil && /var/tmp/evil",
    "echo x > \"$HOME/made\"; test -e \"$HOME/.bashrc\"",
    "echo x > \"@X/made\"",
    "echo x > \"@SECOND/made\"",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"inside.socket\")'",
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", @PORT))'",
    "python3 -c 'import os; os.utime(\"probe.py\", (1, 1))'",
    "python3 -c 'import os; os.setxattr(\"probe.py\", \"user.x\", b\"1\")'",
    "mount -o remount,rw \"@W\" && touch made",
    "unshare -rm sh -c 'mount -o remount,rw \"@W\"; touch made'",
    "cat .env",
    "cat \"$HOME/.ssh/id_rsa\"",
    "cat /etc/hostname /etc/hosts",
    "cat \"@STATE/secret\"",
];

type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64, u64)>;

/// Everything below, down to times and link counts.
fn look(path: &Path, found: &mut Snapshot) {
    let metadata = path.symlink_metadata().unwrap();
    let content = match metadata.is_file() {
        true => std::fs::read(path).unwrap(),
        false => std::fs::read_link(path)
            .map(|to| to.into_os_string().into_encoded_bytes())
            .unwrap_or_default(),
    };
    let times = (metadata.mtime_nsec(), metadata.ctime_nsec());
    found.insert(path.to_owned(), (content, metadata.mode(), times.0, times.1, metadata.nlink()));
    if metadata.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| look(&entry.unwrap().path(), found));
    }
}

fn snapshot(world: &World) -> Snapshot {
    let mut found = Snapshot::new();
    ["w", "second", "x", "home"].iter().for_each(|name| look(&world.at(name), &mut found));
    found
}

fn filled(script: &str, world: &World) -> String {
    let places = [("@W", "w"), ("@X", "x"), ("@SECOND", "second"), ("@STATE", "state")];
    let script = script.replace("@PORT", &world.port().to_string());
    places.iter().fold(script, |script, (mark, name)| {
        script.replace(mark, &world.at(name).display().to_string())
    })
}

fn prepare(user: User, backend: &'static str) -> (World, std::os::unix::net::UnixListener) {
    let world = World::new(user, backend);
    // A protected link is a gap of bwrap, and where there is a gap nothing runs this way.
    std::fs::remove_file(world.at("second/.idea")).unwrap();
    let evil = world.at("w/evil");
    std::fs::write(&evil, "#!/bin/sh\necho evil\n").unwrap();
    std::fs::copy("/bin/true", world.at("w/true-copy")).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let made = world.command("mkfifo").arg("waiting-pipe").status().unwrap();
    assert!(made.success());
    let socket = std::os::unix::net::UnixListener::bind(world.at("w/inside.socket")).unwrap();
    own_all(&world.at("w"), user);
    (world, socket)
}

/// Namespaces have to work wherever the tests run; `bwrap` is a program that may not be there.
fn backends() -> Vec<&'static str> {
    let bwrap = Path::new("/usr/bin/bwrap").exists().then_some("bwrap");
    std::iter::once("namespaces").chain(bwrap).collect()
}

/// A process that ends with the test.
struct Waiting(std::process::Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn no_writer_changes_anything_and_nothing_of_the_workspace_is_executed() {
    for user in users() {
        for backend in backends() {
            let (world, _socket) = prepare(user, backend);
            // Somebody waits for what is written into the pipe.
            let reader = world.command("cat").arg("waiting-pipe").spawn();
            let mut reader = Waiting(reader.unwrap());
            let before = snapshot(&world);
            // bwrap has no mounts without execution, and Landlock does not look at what a loader maps.
            let is_held = |script: &&&str| backend != "bwrap" || !script.contains("ld-linux");
            for script in WRITERS.iter().filter(is_held) {
                let script = &filled(script, &world);
                let output = world.confined_with(&["--read-only"], &["sh", "-c", script]);
                let said = [&output.stdout, &output.stderr]
                    .map(|text| String::from_utf8_lossy(text))
                    .concat();
                let case = format!("{script}, {backend} as {user:?}: {said}");
                assert!(!said.contains("it was not started"), "{case}");
                assert!(!output.status.success(), "{case}");
                assert!(
                    !said.contains(CANARY)
                        && !said.contains("\nevil\n")
                        && !said.starts_with("evil\n"),
                    "{case}"
                );
                assert_eq!(snapshot(&world), before, "{case}");
            }
            assert!(reader.0.try_wait().unwrap().is_none(), "somebody wrote into the pipe");
        }
    }
}

#[test]
fn what_readers_read_is_there() {
    for user in users() {
        for backend in backends() {
            let (world, _socket) = prepare(user, backend);
            let readers = [
                ("cat probe.py | wc -l", ""),
                ("git --version", "git version"),
                ("printf '%s\\n' b a | sort -S 1M", "a\nb"),
                ("id -un > /dev/null; ls -l probe.py", "probe.py"),
                ("LC_ALL=C.UTF-8 grep -c import probe.py", ""),
                ("awk 'BEGIN { print 1 + 1 }'", "2"),
                ("cat <<E\ntext\nE", "text"),
                ("bash -c 'cat <<< text'", "text"),
                ("date +%Y > /dev/null && echo \"$PATH\"", "/usr/bin:"),
            ];
            for (script, expected) in readers {
                let output = world.confined_with(&["--read-only"], &["sh", "-c", script]);
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{script}, {backend}: {output:?}");
                assert!(said.contains(expected), "{script}, {backend}: {output:?}");
            }
        }
    }
}

#[test]
fn where_it_cannot_be_enforced_nothing_runs_this_way() {
    for backend in ["landlock", "none"] {
        let world = World::new(User::Own, backend);
        let output = world.confined_with(&["--read-only"], &["touch", "made"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("it cannot be made read-only here"), "{backend}: {said}");
        assert!(!world.at("w/made").exists(), "{backend}: {said}");
    }
}
