//! Protected names by the thousand: what each costs does not depend on how many there are.

use std::path::Path;

use crate::ground::Ground;
use crate::world::{User, works};

const NAMES: usize = 60;

/// Directories side by side with a protected file each, and denied files in one directory.
fn grown() -> Ground {
    let ground = Ground::new(User::Own);
    for number in 0..NAMES {
        ground.write(&format!("p{number}/.envrc"), "true");
        ground.write(&format!("keys/{number}.pem"), "secret");
    }
    ground
}

/// The kernel looks through all mounts of a tree when it copies one together with those below it.
#[test]
fn no_mount_for_a_protected_name_looks_through_the_others() {
    assert!(works(User::Own, "namespaces") && jm_testing::has("strace"));
    let ground = grown();
    let trace = ground.at("trace");
    let mut strace = ground.command("strace");
    strace.args(["-f", "-qq", "-e", "trace=open_tree", "-o"]).arg(&trace);
    strace.args([env!("CARGO_BIN_EXE_jm"), "sandbox", "--backend", "namespaces", "--", "true"]);
    let output = strace.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let calls = std::fs::read_to_string(&trace).unwrap();
    // Names outside the workspace are copied by their paths, those inside by an open descriptor.
    let inside: Vec<&str> =
        calls.lines().filter(|line| line.contains("\"\"") && line.contains("CLONE")).collect();
    // A file and its directory; the directory of the keys, whose covers have a path.
    assert!(inside.len() > 2 * NAMES, "{} of:\n{calls}", inside.len());
    let along = inside.iter().filter(|line| line.contains("AT_RECURSIVE"));
    assert_eq!(along.collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn a_file_system_that_is_mounted_below_a_held_directory_is_seen() {
    assert!(jm_testing::has("superuser") && works(User::Own, "namespaces"));
    let ground = Ground::new(User::Own);
    ground.write("deep/.env", "secret");
    ground.write("deep/data/below", "covered");
    let jm = Path::new(env!("CARGO_BIN_EXE_jm")).display();
    for backend in ["namespaces", "bwrap"] {
        let script = format!(
            "mount -t tmpfs none deep/data && echo mounted > deep/data/file && \
             exec {jm} sandbox --backend {backend} -- sh -c 'cat deep/data/file; ls deep/data; cat deep/.env'"
        );
        let output =
            ground.command("unshare").args(["--mount", "sh", "-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "mounted\nfile\n", "{backend}: {output:?}");
    }
}
