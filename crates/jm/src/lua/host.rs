//! The services of the program for a script: modules, paths, files, commands, messages (FL-CTX).
//!
//! Law: a path goes through the sandbox, a program is a command behind its rules. A script has no other
//! way to either.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jm_files::{After, FileChange, NoLog, OpenFile, Protection, SafePath, commit};
use jm_lua::{JobOrder, LogLevel, ModuleSource, ScriptHost, ScriptJobEnd};
use jm_process::command::{CommandEnding, CommandInput, CommandProgram, CommandSpec, run_command};
use jm_process::output_reader::NoListener;
use jm_tools::Workspace;
use jm_types::{Cancel, ToolError};

use super::Script;
use crate::faces::print;

/// A file or an output that is larger is cut or refused.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// A job that nobody stops.
const LONGEST_JOB: Duration = Duration::from_secs(600);
/// The command that a wrapped one begins with; a job is confined with it or without.
const WRAPPER: [&str; 3] = ["jm", "sandbox", "--"];

pub(super) struct ProgramHost {
    script: Script,
    workspace: Workspace,
}

impl ProgramHost {
    pub(super) fn new(script: Script, workspace: Workspace) -> Self {
        Self { script, workspace }
    }

    /// Scripts name files by their whole paths; the sandbox's own policy is for models.
    fn resolve(&self, path: &str) -> Result<SafePath, ToolError> {
        let sandbox = &self.workspace.sandbox;
        let root = sandbox.working_root().path();
        let relative = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
        sandbox.resolve(match relative {
            Some("") => ".",
            Some(relative) => relative,
            None => path,
        })
    }

    fn writable(&self, path: &str) -> Result<SafePath, String> {
        let resolved = self.resolve(path).map_err(|error| error.to_string())?;
        match self.workspace.sandbox.protection(&resolved) {
            Protection::None | Protection::RunsInBuilds => Ok(resolved),
            Protection::NeedsPerson(why) => Err(format!("{path}: {why}")),
            Protection::Never => Err(format!("{path}: Journeyman's own configuration or state")),
        }
    }

    fn read(&self, path: &SafePath) -> Result<Vec<u8>, String> {
        let mut file = OpenFile::open(path).map_err(|error| error.to_string())?;
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        match file.read_up_to(most).map_err(|error| error.to_string())? {
            (bytes, false) => Ok(bytes),
            (_, true) => Err(format!("{}: larger than {MOST_BYTES} bytes", path.asked())),
        }
    }

    fn job(&self, order: JobOrder, cancel: &Cancel) -> Result<ScriptJobEnd, ToolError> {
        let Workspace { sandbox, environment, confiner, .. } = &self.workspace;
        let wrapped = order.argv.iter().map(String::as_str).take(WRAPPER.len()).eq(WRAPPER);
        let words = order.argv.into_iter().skip(if wrapped { WRAPPER.len() } else { 0 });
        let program = CommandProgram::Argv(words.map(Into::into).collect());
        let mut variables = environment.sanitize(std::env::vars_os());
        let confinement = confiner.confinement(sandbox, &variables, &program, None);
        let own = order.env.into_iter();
        let own = own.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        variables.extend(own.filter(|(name, value)| environment.keeps(name, value)));
        let spec = CommandSpec {
            program,
            directory: self.resolve(order.cwd.as_deref().unwrap_or("."))?,
            environment: variables,
            input: CommandInput::Closed,
            timeout: LONGEST_JOB,
            keep_bytes: MOST_BYTES,
            confinement,
        };
        let finished = run_command(spec, cancel, &mut NoListener)?;
        let code = match finished.ending {
            CommandEnding::Exited(exit) => exit.code(),
            CommandEnding::TimedOut | CommandEnding::Stopped | CommandEnding::Orphaned => 143,
        };
        let text = |bytes: Option<Vec<u8>>| {
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        Ok(ScriptJobEnd {
            code,
            stdout: text(finished.stdout.whole()),
            stderr: text(finished.stderr.whole()),
        })
    }
}

impl ScriptHost for ProgramHost {
    fn module(&self, name: &str) -> Result<Option<ModuleSource>, String> {
        self.script.module(name)
    }

    fn is_path_writable(&self, path: &str) -> bool {
        self.writable(path).is_ok()
    }

    fn wrap_command(&self, argv: Vec<String>) -> Result<Vec<String>, String> {
        Ok(WRAPPER.iter().map(|word| (*word).to_owned()).chain(argv).collect())
    }

    fn read_file(&self, path: &str) -> Result<String, String> {
        let resolved = self.resolve(path).map_err(|error| error.to_string())?;
        let bytes = self.read(&resolved)?;
        String::from_utf8(bytes).map_err(|_| format!("{path}: not UTF-8"))
    }

    fn write_file(&self, path: &str, text: &str) -> Result<(), String> {
        let resolved = self.writable(path)?;
        let before = match resolved.is_missing() {
            true => None,
            false => Some(Arc::new(self.read(&resolved)?)),
        };
        let after = After::content(text.as_bytes().to_vec());
        let change = FileChange { path: resolved, before, after };
        // The call is tracked like a command, whose changes are found by looking twice.
        commit(&self.workspace.sandbox, &[change], &Cancel::new(), &mut NoLog)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    fn run_job(&self, order: JobOrder, cancel: &Cancel) -> ScriptJobEnd {
        self.job(order, cancel).unwrap_or_else(|error| ScriptJobEnd {
            code: -1,
            stdout: String::new(),
            stderr: error.to_string(),
        })
    }

    fn log(&self, level: LogLevel, text: &str) {
        match level {
            LogLevel::Debug => {}
            LogLevel::Info | LogLevel::Warn | LogLevel::Error => {
                print::note(&format!("lua: {text}"));
            }
        }
    }
}
