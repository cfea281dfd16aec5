//! The start of a server's process: its environment, its confinement, its log.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jm_config::ServerEntry;
use jm_mcp::client::{ServerPipes, StartPipes, StartedServer};
use jm_process::command::CommandProgram;
use jm_process::confine::ServerGrant;
use jm_process::server_process::{ServerCommand, ServerProcess, ServerStreams};
use jm_tools::Workspace;
use jm_types::ToolError;

use super::Server;
use crate::locations;

/// The process of a server, as the client knows it.
#[derive(Debug)]
struct Process(ServerProcess);

impl StartedServer for Process {
    fn end(&mut self, patience: Duration) -> Option<String> {
        self.0.end(patience)
    }

    fn last_words(&self) -> String {
        self.0.last_words()
    }
}

/// Starts the server each time it is called.
pub(super) fn starter(server: &Server, workspace: &Workspace) -> StartPipes {
    let (server, workspace) = (server.clone(), workspace.clone());
    Box::new(move || {
        start(&server, &workspace).map_err(|error| {
            let hints = error.hints.iter().map(|hint| format!("; {hint}"));
            format!("{error}{}", hints.collect::<String>())
        })
    })
}

fn start(server: &Server, workspace: &Workspace) -> Result<ServerPipes, ToolError> {
    let entry = &server.entry;
    let sandbox = &workspace.sandbox;
    let environment = environment(entry, workspace);
    let words: Vec<OsString> = entry.command.iter().map(OsString::from).collect();
    let program = CommandProgram::Argv(words.clone());
    let root = sandbox.working_root().path();
    let grant = ServerGrant {
        network: entry.network.clone(),
        writable: entry.writable.iter().filter_map(|path| real(path, root)).collect(),
        readable: named_paths(&entry.command)
            .into_iter()
            .chain(entry.readable.iter().filter_map(|path| real(path, root)))
            .collect(),
    };
    let (confinement, gaps) =
        workspace.confiner.serving(sandbox, &environment, &program, &grant)?;
    server.gaps.set(gaps);
    let directory = sandbox.resolve(".")?;
    let command = ServerCommand {
        confinement: &confinement,
        directory: &directory,
        environment: &environment,
        words,
        log: server.log(),
    };
    let (ServerStreams { stdin, stdout }, process) = ServerProcess::start(command)?;
    Ok(ServerPipes { stdin, stdout, process: Box::new(Process(process)) })
}

/// The variables of commands, then those that the person has named for this server.
fn environment(entry: &ServerEntry, workspace: &Workspace) -> Vec<(OsString, OsString)> {
    let mut all = workspace.environment.sanitize(std::env::vars_os());
    let mut set = |name: OsString, value: OsString| {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    };
    for name in &entry.env {
        if let Some(value) = std::env::var_os(name) {
            set(name.into(), value);
        }
    }
    entry.variables.iter().for_each(|(name, value)| set(name.into(), value.into()));
    all
}

/// Files and directories that the command names by their whole paths: whoever wrote it wants them read.
fn named_paths(command: &[String]) -> Vec<PathBuf> {
    let paths = command.iter().map(PathBuf::from).filter(|path| path.is_absolute());
    paths.filter(|path| path.parent().is_some() && path.exists()).collect()
}

/// A directory as the configuration names it: absolute, from the home, or from the workspace.
fn real(path: &str, root: &Path) -> Option<PathBuf> {
    let path = match path.strip_prefix("~/") {
        Some(below) => PathBuf::from(locations::named("HOME")?).join(below),
        None => root.join(path),
    };
    path.canonicalize().ok()
}
