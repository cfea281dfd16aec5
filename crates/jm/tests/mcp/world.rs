//! A home with one server of tools in its configuration.

use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
static NEXT: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Home {
    scratch: tempfile::TempDir,
    /// Stands in the command line of the server, so that its processes are found.
    mark: String,
}

impl Home {
    /// The server `s` behaves as it is told; `more` are further lines of its table.
    pub(crate) fn with_server(behaviour: &str, more: &str) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("mark-{}-{number}", std::process::id());
        let home = Self { scratch: tempfile::tempdir().unwrap(), mark };
        create_dir_all(home.workspace()).unwrap();
        create_dir_all(home.path().join(".config/journeyman")).unwrap();
        let command = ["python3", SERVER, behaviour, &home.mark];
        let command = serde_json::to_string(&command).unwrap();
        let table = format!("[mcp.s]\ncommand = {command}\n{more}\n");
        write(home.path().join(".config/journeyman/config.toml"), table).unwrap();
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path().join("w")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        command.current_dir(self.workspace()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path());
        command.stdin(Stdio::null()).args(args);
        command
    }

    pub(crate) fn jm(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Processes of the server that still run.
    pub(crate) fn left(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&self.mark)).collect()
    }

    /// Waits until no process of the server runs.
    pub(crate) fn assert_nothing_left(&self, case: &str) {
        let until = Instant::now() + Duration::from_secs(10);
        while !self.left().is_empty() {
            assert!(Instant::now() < until, "{case}: still running: {:?}", self.left());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}
