//! Names that move while a command starts or runs, directories with odd modes, and files that make
//! whoever opens them wait.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{CANARY, User, own_all, program, users, works};

/// A workspace, a home with a secret, and one `jm exec` that runs commands in it.
struct Ground {
    base: TempDir,
    user: User,
}

struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Ground {
    fn new(user: User) -> Self {
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

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = program(self.user, name);
        command.current_dir(self.at("w")).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.at("home")).env("JM_STATE_DIR", self.at("state"));
        command
    }

    fn session(&self, backend: &str) -> Session {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        command.args(["--allow", "run_command", "--yes", "--no-journal"]);
        command.env("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", backend);
        command.args(["exec", "--jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Session { child, input, output }
    }
}

impl Session {
    fn run(&mut self, script: &str) -> Value {
        let call = json!({"id": "c", "name": "run_command", "args": {"command": script}});
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

fn exchange(one: &Path, other: &Path) {
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

fn rounds() -> usize {
    if std::env::var_os("JM_LONG").is_some() { 10_000 } else { 300 }
}

/// Somebody exchanges a repository with a link to the home, as fast as the machine can.
fn check_exchanged(user: User, backend: &'static str, rounds: usize) {
    assert!(works(user, backend), "{backend} as {user:?}");
    let ground = Ground::new(user);
    let (git, link) = (ground.at("w/sub/.git"), ground.at("w/sub/link"));
    std::os::unix::fs::symlink(ground.at("home"), &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange(&git, &link);
                // Now and then the walk through the tree finds it where it was.
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let mut session = ground.session(backend);
        for _ in 0..rounds {
            let script = "cat sub/.git/private/secret.txt; echo x > sub/.git/file; true";
            let answer = session.run(script);
            if answer["verdict"] == "ran" {
                ran += 1
            } else {
                refused += 1
            }
            let said = answer.to_string();
            if said.contains(CANARY) || ground.at("home/file").exists() {
                stop.store(true, Ordering::Relaxed);
                panic!("{backend} as {user:?}: a command reached the home: {said}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{backend} as {user:?}: {ran} commands ran, {refused} did not start");
    assert!(ran > 0, "{refused} commands did not start");
}

#[test]
fn an_exchanged_repository_never_leads_outside_in_namespaces() {
    users().into_iter().for_each(|user| check_exchanged(user, "namespaces", rounds()));
}

#[test]
fn an_exchanged_repository_never_leads_outside_behind_bwrap() {
    users().into_iter().for_each(|user| check_exchanged(user, "bwrap", rounds() / 4));
}

/// As an editor saves a file, and as git writes its configuration.
#[test]
fn a_protected_file_that_is_replaced_from_outside_stays_protected() {
    for user in users() {
        let ground = Ground::new(user);
        let git = ground.at("w/.git");
        for name in ["objects", "refs", "hooks"] {
            std::fs::create_dir_all(git.join(name)).unwrap();
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git.join("config"), "[core]\n").unwrap();
        std::fs::write(ground.at("w/.env"), "old").unwrap();
        own_all(&ground.at("w"), user);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ground.at("w/started").exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                for (name, text) in [(".env", CANARY), (".git/config", "[core]\n[new]\n")] {
                    let fresh = ground.at("w").join(format!("{name}.fresh"));
                    std::fs::write(&fresh, text).unwrap();
                    own_all(&fresh, user);
                    std::fs::rename(&fresh, ground.at("w").join(name)).unwrap();
                }
                std::fs::write(ground.at("w/replaced"), "").unwrap();
            });
            let script = "touch started; while ! [ -e replaced ]; do sleep 0.01; done; sleep 0.1; \
                          cat .env; echo '[evil]' >> .git/config; mv .git/config .git/c2; true";
            let answer = ground.session("namespaces").run(script);
            assert!(!answer.to_string().contains(CANARY), "{answer}");
        });
        let config = std::fs::read_to_string(git.join("config")).unwrap();
        assert_eq!(config, "[core]\n[new]\n", "{user:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_listed_hides_what_it_holds() {
    for user in users() {
        let ground = Ground::new(user);
        std::fs::write(ground.at("w/sub/.env"), CANARY).unwrap();
        own_all(&ground.at("w"), user);
        let mut session = ground.session("namespaces");
        let first = session.run("chmod 0300 sub; true");
        assert_eq!(first["verdict"], "ran", "{first}");
        let second = session.run("chmod 755 sub; cat sub/.env; mkdir -p sub/.vscode; true");
        assert!(!second.to_string().contains(CANARY), "{second}");
        std::fs::set_permissions(ground.at("w/sub"), PermissionsExt::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_directory_around_a_denied_file_cannot_be_renamed() {
    for user in users() {
        let ground = Ground::new(user);
        std::fs::create_dir(ground.at("w/.docker")).unwrap();
        std::fs::write(ground.at("w/.docker/config.json"), CANARY).unwrap();
        own_all(&ground.at("w"), user);
        let answer = ground.session("namespaces").run("mv .docker dk; true");
        assert!(answer.to_string().contains("busy"), "{answer}");
        assert!(ground.at("w/.docker/config.json").exists());
    }
}

/// Opening a FIFO waits for whoever writes to it.
#[test]
fn a_fifo_with_a_protected_name_stops_no_command() {
    for name in [".envrc", ".env", ".vscode", "sub/.mcp.json", ".git"] {
        let ground = Ground::new(User::Own);
        let made = ground.command("mkfifo").arg(name).status().unwrap();
        assert!(made.success());
        let began = Instant::now();
        let answer = ground.session("namespaces").run("echo went on");
        assert!(answer.to_string().contains("went on"), "{name}: {answer}");
        assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
    }
}

/// Whoever empties a directory and gives it the mode of a placeholder fills it with the next command.
#[test]
fn a_directory_with_the_mode_of_a_placeholder_is_one_only_while_it_is_empty() {
    let ground = Ground::new(User::Own);
    let mut session = ground.session("namespaces");
    session.run("mkdir .vscode; echo evil > .vscode/tasks.json; chmod 1500 .vscode");
    let answer = session.run("chmod 755 .vscode; echo more >> .vscode/tasks.json; true");
    assert!(answer.to_string().to_lowercase().contains("read-only"), "{answer}");
}
