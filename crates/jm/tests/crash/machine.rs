//! A machine of one's own: a workspace, a home and a state directory that nobody else has.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const SESSION: &str = "S";
const EXEC: &[&str] =
    &["exec", "--jsonl", "--approve", "auto", "--yes", "--allow", "run_command", "--session", "S"];

/// Everything in a directory, by path: nothing for a directory, else content and mode.
pub(crate) type Tree = BTreeMap<String, Option<(String, u32)>>;

pub(crate) struct Machine {
    base: TempDir,
    workspace: PathBuf,
    state: PathBuf,
}

/// All that a machine holds at one moment, to go back to again and again.
pub(crate) struct Image {
    work: PathBuf,
    state: PathBuf,
}

/// `jm exec` with its input still open.
pub(crate) struct Talk {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Machine {
    /// In memory where there is some, because a thousand of them are made.
    pub(crate) fn new(files: &[(String, String)]) -> Self {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }.unwrap();
        let (workspace, state) = (base.path().join("work"), base.path().join("state"));
        fs::create_dir(base.path().join("home")).unwrap();
        Self { base, workspace, state }.holding(files)
    }

    fn holding(self, files: &[(String, String)]) -> Self {
        fs::create_dir(&self.workspace).unwrap();
        for (name, content) in files {
            let path = self.workspace.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self
    }

    /// The same, with its workspace elsewhere.
    pub(crate) fn with_workspace(mut self, workspace: &Path, files: &[(String, String)]) -> Self {
        self.workspace = workspace.to_owned();
        self.holding(files)
    }

    /// The same, with its state elsewhere.
    pub(crate) fn with_state(mut self, state: &Path) -> Self {
        self.state = state.to_owned();
        self
    }

    pub(crate) fn base(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.workspace.clone()
    }

    pub(crate) fn jm(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        self.dress(&mut command);
        command.args(args);
        command
    }

    /// Any program, in this machine's surroundings.
    pub(crate) fn dress(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.path().join("home"))
            .env("JM_STATE_DIR", &self.state)
            // Commands on layers have a table of their own (layers.rs).
            .env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "off")
            .current_dir(self.workspace())
            .stdin(Stdio::null());
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.jm(args).output().unwrap()
    }

    /// `jm exec --jsonl` with everything that it will be asked already waiting.
    pub(crate) fn exec(&self, lines: &[String]) -> Command {
        let input = self.base.path().join("input");
        fs::write(&input, lines.join("\n") + "\n").unwrap();
        let mut command = self.jm(EXEC);
        command.stdin(File::open(input).unwrap());
        command
    }

    pub(crate) fn talk(&self) -> Talk {
        let mut command = self.jm(EXEC);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Talk { child, input, output }
    }

    /// The same once it listens: what is no call is answered, and leaves no trace.
    pub(crate) fn ready(&self) -> Talk {
        let mut talk = self.talk();
        talk.say("are you there?");
        talk
    }

    /// The launcher of a command outlives its program for a moment: it ends what the command
    /// started and takes away what stood for a protected name. What is still there much later stays,
    /// and is found by whoever looks at the tree.
    pub(crate) fn rest(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        while self.workspace.join(".journeyman").exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Of a session that was not even on record there is nothing to recover, as of all others.
    pub(crate) fn recover(&self, choice: &str) -> Output {
        let recovered = self.run(&["recover", "--session", SESSION, "--on-recovery", choice]);
        let is_unknown = String::from_utf8_lossy(&recovered.stderr).contains("No session S ");
        match is_unknown {
            true => self.run(&["recover", "--on-recovery", choice]),
            false => recovered,
        }
    }

    /// One object for each call that the session has, in order.
    pub(crate) fn log(&self) -> Vec<Value> {
        parse_lines(&self.run(&["log", "--json", SESSION]).stdout)
    }

    /// Every record of the session, in order.
    pub(crate) fn records(&self) -> Vec<Value> {
        let lines = parse_lines(&self.run(&["export", SESSION]).stdout);
        lines.into_iter().map(|line| line["record"].clone()).collect()
    }

    /// Kept under a name of its own.
    pub(crate) fn image(&self, name: &str) -> Image {
        let kept = self.base.path().join(name);
        let image = Image { work: kept.join("work"), state: kept.join("state") };
        fs::create_dir(&kept).unwrap();
        copy(&self.workspace, &image.work);
        copy(&self.state, &image.state);
        image
    }

    pub(crate) fn rewind(&self, image: &Image) {
        for (kept, place) in [(&image.work, &self.workspace), (&image.state, &self.state)] {
            fs::remove_dir_all(place).unwrap_or_default();
            copy(kept, place);
        }
    }

    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        collect(&self.workspace(), "", &mut tree);
        tree
    }
}

impl Talk {
    /// One line in, one answer out.
    pub(crate) fn say(&mut self, line: &str) -> Value {
        self.tell(line);
        self.hear()
    }

    pub(crate) fn hear(&mut self) -> Value {
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// The last of the input, as far as it is still listened to, and the answers to come.
    pub(crate) fn rest(self, lines: &[String]) -> Vec<Value> {
        let Talk { mut child, mut input, mut output } = self;
        lines.iter().try_for_each(|line| writeln!(input, "{line}")).unwrap_or_default();
        drop(input);
        let mut answers = Vec::new();
        output.read_to_end(&mut answers).unwrap();
        child.wait().unwrap();
        parse_lines(&answers)
    }

    /// Given all that at once, and killed while it works: what it had answered by then.
    pub(crate) fn killed_after(self, lines: &[String], delay: Duration) -> Vec<u8> {
        let Talk { mut child, mut input, mut output } = self;
        let text = lines.join("\n") + "\n";
        let began = Instant::now();
        // Its input stays open, so that it does not end by itself.
        let telling = std::thread::spawn(move || {
            input.write_all(text.as_bytes()).unwrap_or_default();
            input
        });
        let hearing = std::thread::spawn(move || {
            let mut answers = Vec::new();
            output.read_to_end(&mut answers).map(|_| answers)
        });
        std::thread::sleep(delay.saturating_sub(began.elapsed()));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(telling.join().unwrap());
        hearing.join().unwrap().unwrap()
    }

    pub(crate) fn end(self) -> Option<i32> {
        let Talk { mut child, input, output } = self;
        drop((input, output));
        child.wait().unwrap().code()
    }
}

/// A directory with all its files and their permission bits; nothing where there is none.
fn copy(from: &Path, to: &Path) {
    let Ok(metadata) = fs::metadata(from) else { return };
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
    fs::set_permissions(to, metadata.permissions()).unwrap();
}

fn parse_lines(bytes: &[u8]) -> Vec<Value> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect()
}

fn collect(folder: &Path, prefix: &str, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            tree.insert(name.clone(), None);
            collect(&entry.path(), &format!("{name}/"), tree);
            continue;
        }
        // A command that outlived its master may still be at work.
        let Ok(metadata) = entry.metadata() else { continue };
        let content = fs::read(entry.path()).unwrap_or_default();
        let content = String::from_utf8_lossy(&content).into_owned();
        tree.insert(name, Some((content, metadata.permissions().mode() & 0o7777)));
    }
}

/// Sends a signal by its name.
pub(crate) fn signal(pid: u32, name: &str) {
    let told = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(told.unwrap().success(), "kill -{name} {pid}");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
