//! `jm demo`: the whole tour on a throw-away project, with a scripted model. No key, no network.
//!
//! Law: nothing is acted. Every scene starts this very program, and what it says is what happened.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jm_system::own_program::{OwnProgram, ScratchDir};
use jm_system::terminal::Terminal;

use super::{exit, print, prompt};

const FIX: &str = include_str!("fix.toml");
const CRASH: &str = include_str!("crash.toml");
const CRASH_SESSION: &str = "demo-crash";

const GREET: &str = "echo \"Helo, $1\"\n";
const TEST: &str = "test \"$(sh greet.sh World)\" = 'Hello, World' && echo ok\n";
/// A program that has not come so far by then never will.
const PATIENCE: Duration = Duration::from_secs(20);

struct Stage {
    scratch: ScratchDir,
    program: OwnProgram,
    /// A person who answers prompts and turns the pages.
    person: Option<Terminal>,
}

pub(crate) fn run() -> Result<u8> {
    let mut stage = Stage::build()?;
    stage.tell(
        "This demo shows what jm does, on a temporary project with a scripted model:\n\
         no API key, no network. It takes about a minute.\n\
         Press Enter after each step, answer questions with y or n, quit with Ctrl-C.\n\
         The project: greet.sh misspells its greeting, so test.sh fails.",
    )?;
    stage.fix()?;
    stage.log()?;
    stage.crash()?;
    stage.recover()?;
    stage.undo()?;
    stage.tell(
        "End of the demo. The project and its journal are removed now.\n\
         Next: `jm` in a project of yours, or `jm --help`.",
    )?;
    Ok(exit::RAN)
}

impl Stage {
    fn build() -> Result<Self> {
        let scratch = ScratchDir::new("jm-demo")
            .context("cannot create temporary files; set TMPDIR to a writable directory")?;
        for (name, text) in [
            ("project/greet.sh", GREET),
            ("project/test.sh", TEST),
            ("fix.toml", FIX),
            ("crash.toml", CRASH),
            ("config/journeyman/config.toml", ""),
        ] {
            scratch.write(name, text).with_context(|| name.to_owned())?;
        }
        let place = |name: &str| scratch.path().join(name).into_os_string();
        let environment = vec![
            ("JM_STATE_DIR".into(), place("state")),
            ("XDG_CONFIG_HOME".into(), place("config")),
        ];
        let program = OwnProgram::new(environment)?;
        let is_watched = std::io::stdout().is_terminal();
        let person = if is_watched { Terminal::open() } else { None };
        Ok(Self { scratch, program, person })
    }

    /// A new page; a person turns it.
    fn tell(&mut self, text: &str) -> Result<()> {
        if let Some(terminal) = &mut self.person {
            prompt::show("\nPress Enter to continue ")?;
            terminal.answer()?;
        }
        print::line(&format!("\n=== {}", text.replace('\n', "\n    ")))
    }

    /// Shows the command line and runs it.
    fn jm(&self, args: &[&str], expected: i32) -> Result<()> {
        let shown: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        print::line(&format!("\n$ jm {}", shown.join(" ")))?;
        let root = self.scratch.path().join("project");
        let mut all: Vec<&OsStr> = vec![OsStr::new("--root"), root.as_os_str()];
        all.extend(args.iter().map(OsStr::new));
        match self.program.run(&all)? {
            Some(code) if code == expected => Ok(()),
            // Whoever read the output is gone, which the program that was started met first.
            Some(code) if code == i32::from(exit::CLOSED_PIPE) => Err(print::closed_pipe()),
            Some(code) => bail!("demo failed: exit code {code}"),
            None => bail!("demo failed: ended by a signal"),
        }
    }

    fn script(&self, name: &str) -> String {
        format!("script:{}", self.scratch.path().join(name).display())
    }

    /// Without a person at hand, every prompt is answered with yes, and the journal says so.
    fn consent(&self) -> Vec<&'static str> {
        match self.person {
            Some(_) => vec!["--allow", "run_command"],
            None => vec!["--allow", "run_command", "--yes"],
        }
    }

    fn fix(&mut self) -> Result<()> {
        self.tell(
            "The model fixes it. Reads need no approval; a patch shows its diff and asks you;\n\
             a read outside the project is refused; the command was enabled by a flag.",
        )?;
        let model = self.script("fix.toml");
        let mut args = vec!["run", "Make the test pass", "--model", &model];
        args.extend(self.consent());
        self.jm(&args, i32::from(exit::RAN))?;
        if self.scratch.read("project/greet.sh").is_some_and(|text| text.contains("Hello")) {
            print::line("\ngreet.sh prints Hello now.")
        } else {
            print::line("\ngreet.sh is unchanged: the patch was not approved.")
        }
    }

    fn log(&mut self) -> Result<()> {
        self.tell("The log has all of it: prompt, calls, approvals, changes.")?;
        self.jm(&["log"], i32::from(exit::RAN))
    }

    /// Starts a program, waits until it is in the middle of its work, and kills it.
    fn crash(&mut self) -> Result<()> {
        self.tell(
            "Now a crash: a second run writes a file, starts a long command, and is killed\n\
             with SIGKILL in the middle of it.",
        )?;
        let model = self.script("crash.toml");
        let root = self.scratch.path().join("project").into_os_string();
        let args = ["run", "Write a change log", "--model", &model, "--session", CRASH_SESSION];
        let args = args.iter().chain(&["--yes", "--allow", "run_command", "--root"]);
        let mut args: Vec<&OsStr> = args.map(OsStr::new).collect();
        args.push(&root);
        let mut started = self.program.start(&args)?;
        let began = Instant::now();
        // In the project, or on the command's layer.
        while !self.scratch.holds("started") {
            if began.elapsed() > PATIENCE || started.has_ended()? {
                bail!("demo failed: the command never started");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = started.id();
        started.kill()?;
        print::line(&format!("\nKilled process {id}."))
    }

    fn recover(&mut self) -> Result<()> {
        self.tell(
            "Recovery: jm compares the journal with the files on disk, finds out which calls ran,\n\
             and re-runs nothing.",
        )?;
        let choice = ["recover", "--session", CRASH_SESSION, "--on-recovery", "keep"];
        self.jm(&choice, i32::from(exit::RAN))?;
        self.jm(&["log", CRASH_SESSION], i32::from(exit::RAN))?;
        self.jm(&["verify"], i32::from(exit::RAN))
    }

    fn undo(&mut self) -> Result<()> {
        self.tell("Undo: first the change log, then the patch.")?;
        self.jm(&["undo", "--session", CRASH_SESSION], i32::from(exit::RAN))?;
        self.jm(&["undo", "--session", "Make the test pass"], i32::from(exit::RAN))?;
        let is_back = self.scratch.read("project/greet.sh").as_deref() == Some(GREET);
        if is_back && self.scratch.read("project/CHANGES.md").is_none() {
            print::line("\nBoth files are byte for byte as before.")
        } else {
            bail!("demo failed: the files are not as before")
        }
    }
}

/// As one would type it.
fn quoted(arg: &str) -> String {
    if arg.contains([' ', '\'', '"']) {
        format!("'{}'", arg.replace('\'', "'\\''"))
    } else {
        arg.to_owned()
    }
}
