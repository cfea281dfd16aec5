//! A workspace, a home with a secret, and one `jm exec` whose commands others disturb.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{CANARY, User, own_all, program};

pub(crate) struct Ground {
    base: TempDir,
    pub(crate) user: User,
}

pub(crate) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Ground {
    pub(crate) fn new(user: User) -> Self {
        let base = tempfile::tempdir().unwrap();
        std::fs::set_permissions(base.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["w/sub/.git/private", "home/private", "state"] {
            std::fs::create_dir_all(base.path().join(name)).unwrap();
        }
        std::fs::write(base.path().join("home/private/secret.txt"), CANARY).unwrap();
        std::fs::write(base.path().join("w/sub/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        own_all(base.path(), user);
        Self { base, user }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    /// A file of the workspace with this content, made with the directories around it.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.at("w").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        own_all(&self.at("w"), self.user);
    }

    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = program(self.user, name);
        command.current_dir(self.at("w")).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.at("home")).env("JM_STATE_DIR", self.at("state"));
        command
    }

    pub(crate) fn session(&self, backend: &str) -> Session {
        Self::open(self.command(env!("CARGO_BIN_EXE_jm")), backend)
    }

    /// A session that the kernel gives no watches of files, as if others had taken them all.
    pub(crate) fn session_without_watches(&self, backend: &str) -> Session {
        let mut command = self.command("unshare");
        let refuse = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"";
        command.args(["--user", "--map-root-user", "sh", "-c", refuse]);
        command.arg(env!("CARGO_BIN_EXE_jm"));
        Self::open(command, backend)
    }

    fn open(mut command: Command, backend: &str) -> Session {
        command.args(["--allow", "run_command", "--allow", "start_process", "--yes"]);
        command.env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", backend);
        command.args(["--no-journal", "exec", "--jsonl"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Session { child, input, output }
    }
}

impl Session {
    pub(crate) fn run(&mut self, script: &str) -> Value {
        self.call("run_command", &json!({"command": script}))
    }

    pub(crate) fn call(&mut self, name: &str, args: &Value) -> Value {
        let call = json!({"id": "c", "name": name, "args": args});
        writeln!(self.input, "{call}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// `renameat2` with `RENAME_EXCHANGE`.
pub(crate) fn exchange(one: &Path, other: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let name = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    let (one, other) = (name(one), name(other));
    // SAFETY: both names are C strings that outlive the call.
    #[allow(unsafe_code)]
    unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            one.as_ptr(),
            libc::AT_FDCWD,
            other.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
}
