//! Servers of tools that speak MCP: which there are, how they are started, and how their tools join the others.
//!
//! Law: where no server is configured this costs one look at the configuration. A server is started when a
//! call, a list or a conversation needs it, behind rules of its own, and ends with the session.

mod elicitation;
mod era_memory;
mod project_file;
mod start;
mod tool;
mod tool_source;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use jm_config::{Config, ServerEntry, Servers};
use jm_mcp::client::{Connection, ConnectionSettings, Endpoint, HttpEndpoint};
use jm_tools::Workspace;
use jm_types::Digest;

use crate::locations;
use crate::project::Project;
pub(crate) use elicitation::{Dialogue, Elicitor, fill_in};
pub(crate) use project_file::{PROJECT_FILE, described as described_servers, trusted_name};
pub(crate) use tool_source::McpTools;

/// How long the first list waits for tools.
pub(crate) const FIRST_PROMPT: (Duration, Probing) = (Duration::from_secs(5), Probing::Remembered);

/// How the era of a server is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probing {
    /// As it was the last time; else quickly, because somebody waits for the tools.
    Remembered,
    /// Anew and with patience, because a person asks.
    Anew,
}

impl Probing {
    fn patience(self) -> Duration {
        match self {
            Probing::Remembered => Duration::from_secs(2),
            Probing::Anew => Duration::from_secs(8),
        }
    }
}

/// The place at which a server was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerOrigin {
    Configuration,
    ProjectFile,
}

/// A server that may be started.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) entry: ServerEntry,
    pub(crate) origin: ServerOrigin,
    gaps: ServerGaps,
}

/// The gaps in the confinement of a server's process, known once it was started.
#[derive(Debug, Clone, Default)]
struct ServerGaps(Arc<Mutex<Vec<String>>>);

impl ServerGaps {
    fn set(&self, gaps: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = gaps;
    }

    fn get(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All servers, by their names: those of the configuration, then those of a trusted project's `.mcp.json`.
/// An entry without `command` and `url` only says what a project's server of that name may do.
pub(crate) fn servers(config: &Config, project: Option<&Project>) -> Result<Vec<Server>> {
    let theirs = match project.filter(|project| project.trusted.is_some()) {
        Some(project) => project_file::read(project)?,
        None => Servers::new(),
    };
    let mut all = Vec::new();
    for (name, entry) in &config.mcp {
        if !entry.command.is_empty() || !entry.url.is_empty() {
            let (name, entry) = (name.clone(), entry.clone());
            all.push(Server::new(name, entry, ServerOrigin::Configuration));
        }
    }
    for (name, theirs) in theirs {
        let entry = match config.mcp.get(&name) {
            Some(own) if !own.command.is_empty() || !own.url.is_empty() => continue,
            Some(own) => project_file::under(own, theirs),
            None => theirs,
        };
        all.push(Server::new(name, entry, ServerOrigin::ProjectFile));
    }
    all.retain(|server| server.entry.enabled);
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Adds servers that a client names. Like a project's they grant nothing, and a server of the person's own keeps
/// its name.
pub(crate) fn add_servers(own: &mut Servers, theirs: &Servers) {
    for (name, theirs) in theirs {
        match own.get(name) {
            Some(own) if !own.command.is_empty() || !own.url.is_empty() => {}
            Some(grants) => {
                own.insert(name.clone(), project_file::under(grants, theirs.clone()));
            }
            None => {
                own.insert(name.clone(), theirs.clone());
            }
        }
    }
}

impl Server {
    fn new(name: String, entry: ServerEntry, origin: ServerOrigin) -> Self {
        Self { name, entry, origin, gaps: ServerGaps::default() }
    }

    /// A hash of all that is started or reached, to which approvals and the remembered era are bound.
    pub(crate) fn digest(&self) -> Digest {
        let ServerEntry { command, url, headers, variables, .. } = &self.entry;
        let all = serde_json::json!([command, url, headers, variables]);
        Digest::of(all.to_string().as_bytes())
    }

    /// The file of its standard error.
    pub(crate) fn log(&self) -> Option<PathBuf> {
        let folder = locations::state().ok()?.subdirectory("mcp").ok()?;
        Some(folder.path().join(format!("{}.log", self.name)))
    }

    /// The command or the address, for people.
    pub(crate) fn place(&self) -> String {
        match self.entry.url.as_str() {
            "" => self.entry.command.join(" "),
            url => url.to_owned(),
        }
    }

    fn endpoint(&self, workspace: &Workspace) -> Endpoint {
        if self.entry.url.is_empty() {
            return Endpoint::Process(start::starter(self, workspace));
        }
        let headers = self.entry.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), project_file::expanded(value)));
        Endpoint::Http(HttpEndpoint { url: self.entry.url.clone(), headers: headers.collect() })
    }

    fn connect(
        &self,
        workspace: &Workspace,
        elicitor: &Arc<Elicitor>,
        probing: Probing,
    ) -> Connection {
        let digest = self.digest();
        Connection::new(ConnectionSettings {
            name: self.name.clone(),
            endpoint: self.endpoint(workspace),
            era: match probing {
                Probing::Remembered => era_memory::era_of(&digest),
                Probing::Anew => None,
            },
            probe: probing.patience(),
            start_timeout: Duration::from_secs(self.entry.start_seconds),
            face: Arc::clone(elicitor) as Arc<_>,
            remember_era: Box::new(move |era| era_memory::remember(&digest, era)),
        })
    }
}

/// The tools of all servers; `None` where there is no server.
pub(crate) fn source(
    config: &Config,
    workspace: &Workspace,
    project: Option<&Project>,
    elicitor: &Arc<Elicitor>,
    (patience, probing): (Duration, Probing),
) -> Result<Option<McpTools>> {
    let servers = servers(config, project)?;
    if servers.is_empty() {
        return Ok(None);
    }
    Ok(Some(McpTools::new(servers, workspace, elicitor, (patience, probing))))
}
