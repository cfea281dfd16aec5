//! A workspace, a `jm exec` process in it, and the steps that a section takes there.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::blocks::{Step, matches, unescape};

pub(crate) struct World {
    _scratch: tempfile::TempDir,
    workspace: PathBuf,
    outside: PathBuf,
    home: PathBuf,
    flags: Vec<String>,
    variables: Vec<(String, String)>,
    program: Option<Program>,
    answer: Option<Value>,
}

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl World {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(scratch.path()).unwrap();
        let (workspace, outside, home) = (base.join("w"), base.join("x"), base.join("home"));
        for folder in [&workspace, &outside, &home] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(outside.join("secret"), "canary\n").unwrap();
        let flags = vec!["--approve".to_owned(), "auto".to_owned()];
        let variables = Vec::new();
        let (program, answer) = (None, None);
        Self { _scratch: scratch, workspace, outside, home, flags, variables, program, answer }
    }

    pub(crate) fn take(&mut self, step: &Step) -> Result<(), String> {
        match step.kind.as_str() {
            "file" => self.write(step, step.body.clone().into_bytes()),
            "bytes" => self.write(step, unescape(&step.body)?),
            "sh" => self.shell(step),
            "config" => self.configure(step),
            "flags" => {
                self.flags = step.body.split_whitespace().map(str::to_owned).collect();
                Ok(())
            }
            "env" => self.set_variables(step),
            "call" => self.call(step),
            "patch" => self.patch(step),
            "reply" => self.reply(step),
            "reply-bytes" => self.reply_bytes(step),
            "error" => self.error(step),
            "disk" => self.disk(step, step.body.clone().into_bytes()),
            "disk-bytes" => self.disk(step, unescape(&step.body)?),
            "missing" => self.missing(step),
            "console" => self.console(step),
            "needs" | "" | "text" | "json" | "toml" | "markdown" => Ok(()),
            other => Err(format!("no such kind of block: {other}")),
        }
    }

    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.no_answer_left()?;
        let secret = std::fs::read_to_string(self.outside.join("secret")).unwrap_or_default();
        if secret != "canary\n" {
            return Err("the file outside the workspace changed".to_owned());
        }
        Ok(())
    }

    fn path(&self, step: &Step) -> Result<PathBuf, String> {
        let name = step.words.first().ok_or("the block needs a path")?;
        Ok(self.workspace.join(name))
    }

    fn write(&mut self, step: &Step, bytes: Vec<u8>) -> Result<(), String> {
        let path = self.path(step)?;
        std::fs::create_dir_all(path.parent().ok_or("no parent")?).map_err(|e| e.to_string())?;
        std::fs::write(path, bytes).map_err(|e| e.to_string())
    }

    fn configure(&mut self, step: &Step) -> Result<(), String> {
        let folder = self.home.join(".config/journeyman");
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        std::fs::write(folder.join("config.toml"), &step.body).map_err(|e| e.to_string())
    }

    fn set_variables(&mut self, step: &Step) -> Result<(), String> {
        for line in step.body.lines() {
            let (name, value) = line.split_once('=').ok_or("an env block has NAME=VALUE lines")?;
            self.variables.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = unprivileged(program);
        let jm = PathBuf::from(env!("CARGO_BIN_EXE_jm"));
        let path = std::env::var("PATH").unwrap_or_default();
        // A toolchain's own cargo needs no home of its user's.
        let cargo = std::env::var("CARGO").map(PathBuf::from).unwrap_or_default();
        let toolchain = cargo.parent().map(|p| p.display().to_string()).unwrap_or_default();
        let folder = jm.parent().map(|p| p.display().to_string()).unwrap_or_default();
        let helpers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spec/bin");
        command
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", format!("{folder}:{helpers}:{toolchain}:{path}"))
            .env("HOME", &self.home)
            .env("W", &self.workspace)
            .env("X", &self.outside)
            .env("LC_ALL", "C.UTF-8")
            .envs(self.variables.iter().cloned());
        command
    }

    fn shell(&mut self, step: &Step) -> Result<(), String> {
        let output = self
            .command("/bin/sh")
            .args(["-euc", &step.body])
            .output()
            .map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("sh failed: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn no_answer_left(&mut self) -> Result<(), String> {
        match self.answer.take() {
            Some(answer) if answer["verdict"] != "ran" => {
                Err(format!("the last call failed, and nothing expected it: {answer}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn call(&mut self, step: &Step) -> Result<(), String> {
        let call: Value = serde_json::from_str(&step.body).map_err(|e| e.to_string())?;
        self.send(&call)
    }

    /// Reads the files that the block names, then sends its text as a patch.
    fn patch(&mut self, step: &Step) -> Result<(), String> {
        for path in &step.words {
            self.send(&json!({"name": "read_file", "args": {"path": path}}))?;
        }
        self.send(&json!({"name": "apply_patch", "args": {"patch": step.body}}))
    }

    /// Sends a call to the section's `jm exec --jsonl` and keeps the answer.
    fn send(&mut self, call: &Value) -> Result<(), String> {
        self.no_answer_left()?;
        if self.program.is_none() {
            self.program = Some(self.start()?);
        }
        let program = self.program.as_mut().ok_or("not started")?;
        let input = program.input.as_mut().ok_or("no input")?;
        writeln!(input, "{call}").map_err(|e| format!("jm exec does not take input: {e}"))?;
        let mut line = String::new();
        program.output.read_line(&mut line).map_err(|e| e.to_string())?;
        self.answer = Some(serde_json::from_str(&line).map_err(|e| format!("{e}: {line:?}"))?);
        Ok(())
    }

    fn start(&self) -> Result<Program, String> {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_jm"))
            .args(["exec", "--jsonl"])
            .args(&self.flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A terminal there would be a person to ask.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Program { child, input, output })
    }

    fn answered(&mut self) -> Result<Value, String> {
        self.answer.take().ok_or_else(|| "no call came before".to_owned())
    }

    fn reply(&mut self, step: &Step) -> Result<(), String> {
        let answer = self.answered()?;
        if let Some(results) = answer["results"].as_array() {
            let shown: Vec<String> = results.iter().map(brief).collect();
            return compare(&step.body, &format!("{}\n", shown.join("\n")));
        }
        if answer["verdict"] != "ran" {
            return Err(format!(
                "expected a reply, got {}: {}",
                answer["verdict"], answer["content"]
            ));
        }
        compare_content(&step.body, answer["content"].as_str().unwrap_or_default())
    }

    fn reply_bytes(&mut self, step: &Step) -> Result<(), String> {
        let answer = self.answered()?;
        let expected = unescape(&step.body)?;
        match answer["verdict"] == "ran"
            && answer["content"].as_str().map(str::as_bytes) == Some(&expected)
        {
            true => Ok(()),
            false => {
                Err(format!("expected {:?}, got {answer}", String::from_utf8_lossy(&expected)))
            }
        }
    }

    fn error(&mut self, step: &Step) -> Result<(), String> {
        let answer = self.answered()?;
        let kind = step.words.first().ok_or("an error block names the kind")?;
        if answer["kind"] != **kind {
            return Err(format!("expected {kind}, got {}: {}", answer["kind"], answer["content"]));
        }
        match step.body.is_empty() {
            true => Ok(()),
            false => compare_content(&step.body, answer["content"].as_str().unwrap_or_default()),
        }
    }

    fn disk(&mut self, step: &Step, expected: Vec<u8>) -> Result<(), String> {
        self.no_answer_left()?;
        let found = std::fs::read(self.path(step)?).map_err(|e| e.to_string())?;
        match found == expected {
            true => Ok(()),
            false => Err(format!(
                "{}: expected {:?}, found {:?}",
                step.words[0],
                String::from_utf8_lossy(&expected),
                String::from_utf8_lossy(&found)
            )),
        }
    }

    fn missing(&mut self, step: &Step) -> Result<(), String> {
        match self.path(step)?.symlink_metadata() {
            Ok(_) => Err(format!("{} exists", step.words[0])),
            Err(_) => Ok(()),
        }
    }

    /// `$ command` lines, each followed by what it prints; `[exit N]` where it is not 0.
    fn console(&mut self, step: &Step) -> Result<(), String> {
        let mut rest = step.body.lines().peekable();
        while let Some(line) = rest.next() {
            let command = line.strip_prefix("$ ").ok_or("a console block starts with `$ `")?;
            let mut expected = String::new();
            let mut code = 0;
            while let Some(line) = rest.next_if(|line| !line.starts_with("$ ")) {
                let number = line.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']'));
                match number.and_then(|number| number.parse().ok()) {
                    Some(number) => code = number,
                    None => expected.push_str(&format!("{line}\n")),
                }
            }
            let script = format!("exec 2>&1; {command}");
            let output = self
                .command("/bin/sh")
                .args(["-c", &script])
                .stdin(Stdio::null())
                .output()
                .map_err(|e| e.to_string())?;
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            compare(&expected, &printed).map_err(|why| format!("$ {command}\n{why}"))?;
            if output.status.code() != Some(code) {
                return Err(format!(
                    "$ {command}\nexit {:?}, expected {code}",
                    output.status.code()
                ));
            }
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}

/// A superuser may read everything; here even one must not, so that a section about permissions
/// means the same for everybody.
fn unprivileged(program: &str) -> Command {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-dac_override,-dac_read_search", program]);
    command
}

/// `id: ran`, `id: failed not_found`
fn brief(result: &Value) -> String {
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    [format!("{}:", text("id")), text("verdict"), text("kind")].join(" ").trim_end().to_owned()
}

fn compare_content(expected: &str, found: &str) -> Result<(), String> {
    let parsed = (serde_json::from_str::<Value>(expected), serde_json::from_str::<Value>(found));
    if let (Ok(pattern @ Value::Object(_)), Ok(value)) = parsed {
        return match alike(&pattern, &value) {
            true => Ok(()),
            false => Err(format!("expected {pattern}\nfound    {value}")),
        };
    }
    compare(expected, found)
}

fn compare(expected: &str, found: &str) -> Result<(), String> {
    match matches(expected, found) {
        true => Ok(()),
        false => Err(format!("expected:\n{expected}\nfound:\n{found}")),
    }
}

/// JSON equality, key order included, where the string `…` stands for anything.
fn alike(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::String(text), _) if text == "…" => true,
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, v), (l, w))| k == l && alike(v, w))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(v, w)| alike(v, w))
        }
        (a, b) => a == b,
    }
}
