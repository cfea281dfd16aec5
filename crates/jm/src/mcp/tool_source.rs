//! The tools of all servers, as a source like any other.
//!
//! Law: a server holds up the first list for a few seconds at most, and no other server. What is wrong with it
//! is told once.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jm_mcp::client::{Connection, ConnectionState, NamedTool, SkippedTool};
use jm_tools::{Listed, Origin, Registered, ToolSource, Workspace};
use jm_types::text::one_line;
use jm_types::{ErrorKind, ToolError};

use super::tool::McpTool;
use super::{Elicitor, Probing, Server};
use crate::faces::print;

/// A later list waits no more than this for servers that start.
const LATER: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct McpTools {
    servers: Vec<Connected>,
    /// How long the first list waits.
    patience: Duration,
    waited: Mutex<bool>,
    told: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct Connected {
    server: Arc<Server>,
    connection: Arc<Connection>,
    /// Tools whose schemas were checked, by their names. A call looks its tool up several times.
    checked: Mutex<HashMap<String, CheckedTool>>,
}

/// A tool of a server, and what was made of its definition.
#[derive(Debug)]
struct CheckedTool {
    tool: Arc<NamedTool>,
    registered: Arc<Registered>,
}

impl McpTools {
    pub(super) fn new(
        servers: Vec<Server>,
        workspace: &Workspace,
        elicitor: &Arc<Elicitor>,
        (patience, probing): (Duration, Probing),
    ) -> Self {
        let connected = |server: Server| Connected {
            connection: Arc::new(server.connect(workspace, elicitor, probing)),
            server: Arc::new(server),
            checked: Mutex::default(),
        };
        let servers = servers.into_iter().map(connected).collect();
        Self { servers, patience, waited: Mutex::default(), told: Mutex::default() }
    }

    /// The state of one server, waited for.
    pub(crate) fn state_of(&self, name: &str) -> Option<ConnectionState> {
        let found = self.servers.iter().find(|one| one.server.name == name)?;
        Some(found.ready())
    }

    /// Says something once.
    fn tell(&self, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(text.clone()) {
            print::note(&format!("jm: note: {text}"));
        }
    }

    /// The time until which a list waits.
    fn until(&self) -> Instant {
        let mut waited = self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = if *waited { LATER } else { self.patience };
        *waited = true;
        Instant::now() + patience
    }
}

impl Connected {
    /// Waits as long as the server may take to start.
    fn ready(&self) -> ConnectionState {
        let entry = &self.server.entry;
        self.connection.wait(Instant::now() + Duration::from_secs(entry.start_seconds + 1))
    }

    fn not_ready(&self, tool: &str, why: &str) -> ToolError {
        let name = &self.server.name;
        let message = format!("server {name}: {}", one_line(why));
        self.hinted(ErrorKind::NotReady { tool: tool.to_owned(), message })
    }

    fn hinted(&self, kind: ErrorKind) -> ToolError {
        let name = &self.server.name;
        ToolError::new(kind).hint(format!("try it with `jm mcp test {name}`, which names its log"))
    }

    fn registered(&self, tool: &Arc<NamedTool>) -> Result<Arc<Registered>, ToolError> {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        match checked.get(&tool.name) {
            // A definition that was listed anew is another one.
            Some(known) if Arc::ptr_eq(&known.tool, tool) => {
                return Ok(Arc::clone(&known.registered));
            }
            Some(_) | None => {}
        }
        let registered = self.check(tool)?;
        let known = CheckedTool { tool: Arc::clone(tool), registered: Arc::clone(&registered) };
        checked.insert(tool.name.clone(), known);
        Ok(registered)
    }

    fn check(&self, tool: &Arc<NamedTool>) -> Result<Arc<Registered>, ToolError> {
        let tool = McpTool::new(&self.server, &self.connection, tool);
        let registered = Registered::new(Box::new(tool));
        match registered.check() {
            Ok(()) => Ok(Arc::new(registered)),
            Err(error) => {
                let why = format!("the schema of {}: {}", registered.name(), error.message);
                Err(self.not_ready(registered.name(), &why))
            }
        }
    }

    fn listed(&self, name: &str, tool: Result<Arc<Registered>, ToolError>) -> Listed {
        Listed { name: name.to_owned(), origin: Origin::Server(self.server.name.clone()), tool }
    }

    fn listing(&self, state: &ConnectionState) -> Vec<Listed> {
        let name = &self.server.name;
        let complain = |why: &str| {
            let message = format!("server {name}: {}", one_line(why));
            vec![self.listed(name, Err(self.hinted(ErrorKind::SourceNotReady { message })))]
        };
        match state {
            ConnectionState::Ready(info) => {
                let skipped = |SkippedTool { name, why }: &SkippedTool| {
                    self.listed(
                        name,
                        Err(self.not_ready(name, &format!("{name} is skipped: {why}"))),
                    )
                };
                let tools = info.tools.iter();
                let tools = tools.map(|tool| self.listed(&tool.name, self.registered(tool)));
                tools.chain(info.skipped.iter().map(skipped)).collect()
            }
            ConnectionState::Idle | ConnectionState::Starting => complain("it is still starting"),
            ConnectionState::Failed(why) | ConnectionState::Ended(why) => complain(why),
        }
    }
}

impl ToolSource for McpTools {
    fn names(&self) -> Vec<String> {
        let ready = self.servers.iter().filter_map(|one| match one.connection.state() {
            ConnectionState::Ready(info) => Some(info),
            ConnectionState::Idle
            | ConnectionState::Starting
            | ConnectionState::Failed(_)
            | ConnectionState::Ended(_) => None,
        });
        ready
            .flat_map(|info| info.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>())
            .collect()
    }

    fn ready_names(&self) -> Vec<String> {
        self.names()
    }

    fn unasked_names(&self) -> Vec<String> {
        let idle = self.servers.iter().filter(|one| match one.connection.state() {
            ConnectionState::Idle | ConnectionState::Starting => true,
            ConnectionState::Ready(_) | ConnectionState::Failed(_) | ConnectionState::Ended(_) => {
                false
            }
        });
        idle.map(|one| format!("{}__…", one.server.name)).collect()
    }

    fn in_own_words(&self, _: &str, refusal: ToolError) -> ToolError {
        refusal
    }

    /// Waits only for the server that the name begins with.
    fn find(&self, name: &str) -> Option<Result<Arc<Registered>, ToolError>> {
        let (server, _) = name.split_once("__")?;
        let one = self.servers.iter().find(|one| one.server.name == server)?;
        match one.ready() {
            ConnectionState::Ready(info) => {
                Some(one.registered(info.tools.iter().find(|tool| tool.name == name)?))
            }
            ConnectionState::Idle | ConnectionState::Starting => {
                Some(Err(one.not_ready(name, "it is still starting")))
            }
            ConnectionState::Failed(why) | ConnectionState::Ended(why) => {
                Some(Err(one.not_ready(name, &why)))
            }
        }
    }

    fn listing(&self) -> Vec<Listed> {
        self.begin();
        let until = self.until();
        let mut all = Vec::new();
        for one in &self.servers {
            let state = one.connection.wait(until);
            let name = &one.server.name;
            match &state {
                ConnectionState::Idle | ConnectionState::Starting => {
                    self.tell(format!(
                        "server {name} is still starting; its tools appear when it is ready"
                    ));
                }
                ConnectionState::Failed(why) | ConnectionState::Ended(why) => {
                    self.tell(format!("server {name}: {} (`jm mcp test {name}`)", one_line(why)));
                }
                ConnectionState::Ready(_) => {}
            }
            all.extend(one.listing(&state));
        }
        all
    }

    fn begin(&self) {
        self.servers.iter().for_each(|one| one.connection.begin());
    }

    fn forget(&self) -> Result<(), ToolError> {
        self.servers.iter().for_each(|one| one.connection.restart());
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) = false;
        Ok(())
    }
}

/// All are asked to end before any is waited for.
impl Drop for McpTools {
    fn drop(&mut self) {
        self.servers.iter().for_each(|one| one.connection.close());
    }
}
