//! Error words of the toolsets for a disk that has no room left.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::machine::{Machine, text};
use crate::small_disk::{Disk, Scarce, on_small_disks};

/// IK-WRITE, GO-ENV, FJ-ERR: the code is the one for a full disk, and nothing is left there.
#[test]
fn a_full_disk_is_called_one() {
    on_small_disks("told::a_full_disk_is_called_one", full_disk);
}

fn full_disk() {
    let disk = Disk::mount().unwrap();
    let machine = Machine::new(&[]).with_workspace(&disk.path().join("work"), &[]);
    assert!(
        machine.run(&["install-programs", &machine.base().display().to_string()]).status.success()
    );
    disk.fill(Scarce::Pages, 0);

    let words = "No space left on device: new";
    let said = json!({"error": words, "error_code": "NO_SPACE"});
    assert_eq!(by_hand(&machine, &json!({"file_path": "new", "content": "x"})), said);
    let ikigai =
        call(&machine, "ikigai", "file_write", &json!({"file_path": "new", "content": "x"}));
    assert_eq!(ikigai, json!({"tool_success": true, "result": said}));

    let args = json!({"path": "new", "content": "x"});
    let gemini = call(&machine, "gemini", "write_file", &args);
    assert_eq!((&gemini["ok"], &gemini["error"]["code"]), (&json!(false), &json!("io_error")));
    assert_eq!(gemini["error"]["message"], "new: no space left on device");
    let forj = call(&machine, "forj", "write_file", &args);
    assert_eq!((&forj["ok"], &forj["error"]["type"]), (&json!(false), &json!("file-error")));
    assert_eq!(forj["error"]["message"], "new: no space left on device");

    let left: Vec<_> = std::fs::read_dir(machine.workspace()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

fn call(machine: &Machine, toolset: &str, tool: &str, args: &Value) -> Value {
    let ran = machine.run(&["--toolset", toolset, "--yes", "call", tool, &args.to_string()]);
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|why| panic!("{why}: {}", text(&ran.stderr)))
}

/// The tool as a program of its own.
fn by_hand(machine: &Machine, args: &Value) -> Value {
    let program = machine.base().join("libexec/journeyman/file-write");
    let mut command = Command::new(program);
    command.current_dir(machine.workspace()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(args.to_string().as_bytes()).unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}
