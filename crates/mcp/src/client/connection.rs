//! A connection to one server: commands in, results out.
//!
//! Law: the protocol runs on a thread of its own, so a server can make nobody wait but those who called it.
//! A server ends with its connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};
use tokio::sync::{mpsc, oneshot};

use super::call::{CallFault, CallOrder, Line, LinkWay, ServerAnswer};
use super::definition::named;
use super::handler::{Handler, ServerFace};
use super::lifecycle::{Endpoint, Era, Link, StartedServer, cleaned, establish, with_end};
use super::state::{ConnectionState, ServerInfo, SharedState};

/// How often a server that died is started again.
const MOST_RESTARTS: u32 = 3;
/// The time between two lists of a server that keeps changing them.
const LIST_PAUSE: Duration = Duration::from_millis(200);
/// How long a server may take to end after its input was closed.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// The settings of a connection.
pub struct ConnectionSettings {
    /// The name in configuration, and the first part of its tools' names.
    pub name: String,
    /// The way to it.
    pub endpoint: Endpoint,
    /// The era that it spoke the last time.
    pub era: Option<Era>,
    /// The time until a server that is not ready counts as failed.
    pub start_timeout: Duration,
    /// A server that is silent for so long is taken for one that ignores what it does not know.
    pub probe: Duration,
    /// The way to the person, for questions of the server.
    pub face: Arc<dyn ServerFace>,
    /// Is told the era that it speaks.
    pub remember_era: Box<dyn Fn(Era) + Send + Sync>,
}

impl std::fmt::Debug for ConnectionSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectionSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Command {
    Call(CallOrder, oneshot::Sender<Result<ServerAnswer, CallFault>>),
    Close,
}

/// A connection, begun when it is first needed.
#[derive(Debug)]
pub struct Connection {
    settings: Arc<ConnectionSettings>,
    shared: Arc<SharedState>,
    keeper: Mutex<Keeper>,
}

/// The thread that keeps a connection.
#[derive(Debug, Default)]
struct Keeper {
    commands: Option<mpsc::UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
    starts: u32,
}

impl Connection {
    /// A connection that is not begun yet.
    pub fn new(settings: ConnectionSettings) -> Self {
        let (settings, shared) = (Arc::new(settings), SharedState::new());
        Self { settings, shared, keeper: Mutex::default() }
    }

    /// The name in configuration.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The state of this moment; begins nothing.
    pub fn state(&self) -> ConnectionState {
        self.shared.now()
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins, unless it has begun. One that died is begun again a few times; one that never got ready is not.
    pub fn begin(&self) {
        let mut keeper = self.keeper();
        let may_begin = match self.shared.now() {
            ConnectionState::Idle => true,
            ConnectionState::Ended(_) => keeper.starts <= MOST_RESTARTS,
            ConnectionState::Starting | ConnectionState::Ready(_) | ConnectionState::Failed(_) => {
                false
            }
        };
        if !may_begin {
            return;
        }
        keeper.starts += 1;
        self.shared.set(ConnectionState::Starting);
        let (commands, received) = mpsc::unbounded_channel();
        let (settings, shared) = (Arc::clone(&self.settings), Arc::clone(&self.shared));
        let name = format!("mcp {}", self.settings.name);
        let thread = std::thread::Builder::new().name(name);
        match thread.spawn(move || keep(&settings, &shared, received)) {
            Ok(thread) => {
                (keeper.commands, keeper.thread) = (Some(commands), Some(thread));
            }
            Err(error) => self.shared.set(ConnectionState::Failed(error.to_string())),
        }
    }

    /// Begins, and waits until then for it to be ready.
    pub fn wait(&self, until: Instant) -> ConnectionState {
        self.begin();
        self.shared.wait(until)
    }

    /// Makes a call. Dropping the future cancels it.
    pub async fn call(&self, order: CallOrder) -> Result<ServerAnswer, CallFault> {
        let gone = || CallFault::NotConnected("it has ended".to_owned());
        let commands = self.keeper().commands.clone().ok_or_else(gone)?;
        let (reply, answer) = oneshot::channel();
        commands.send(Command::Call(order, reply)).map_err(|_| gone())?;
        match answer.await {
            Ok(answer) => answer,
            Err(_) => match self.shared.now() {
                ConnectionState::Ended(why) => Err(CallFault::Lost(why)),
                _ => Err(CallFault::Lost("the connection was closed".to_owned())),
            },
        }
    }

    /// Asks it to end; dropping it waits for that.
    pub fn close(&self) {
        if let Some(commands) = self.keeper().commands.take() {
            // One that has ended needs no telling.
            commands.send(Command::Close).unwrap_or_default();
        }
    }

    /// Ends it, so that it begins anew when it is next needed.
    pub fn restart(&self) {
        self.close();
        let thread = self.keeper().thread.take();
        wait_for(thread);
        self.shared.set(ConnectionState::Idle);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
        let thread = self.keeper().thread.take();
        wait_for(thread);
    }
}

fn wait_for(thread: Option<JoinHandle<()>>) {
    if let Some(thread) = thread {
        // A panic there was told by its state.
        thread.join().unwrap_or_default();
    }
}

/// The body of the thread.
fn keep(
    settings: &ConnectionSettings,
    shared: &Arc<SharedState>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return shared.set(ConnectionState::Failed(error.to_string())),
    };
    let end = runtime.block_on(async {
        let handler = Handler::new(&settings.name, Arc::clone(&settings.face));
        // For all of it: a server that has spent its time on the beginning has none left for its list.
        let deadline = tokio::time::Instant::now() + settings.start_timeout;
        let established = tokio::select! {
            established = establish(settings, &handler, deadline) => established,
            () = closed(&mut commands) => Err("it was closed while it started".to_owned()),
        };
        let link = match established {
            Ok(link) => link,
            Err(why) => return ConnectionState::Failed(why),
        };
        (settings.remember_era)(link.era);
        serve(settings, shared, (handler, link, deadline), &mut commands).await
    });
    shared.set(end);
    // A face that still asks a person is not waited for.
    runtime.shutdown_background();
}

/// Ends when nobody wants the connection any more.
async fn closed(commands: &mut mpsc::UnboundedReceiver<Command>) {
    loop {
        match commands.recv().await {
            None | Some(Command::Close) => return,
            Some(Command::Call(_, reply)) => {
                let starting = "it is still starting".to_owned();
                reply.send(Err(CallFault::NotConnected(starting))).unwrap_or_default();
            }
        }
    }
}

/// Serves calls until the connection ends, and says how it ended.
async fn serve(
    settings: &ConnectionSettings,
    shared: &Arc<SharedState>,
    (handler, link, deadline): (Handler, Link, tokio::time::Instant),
    commands: &mut mpsc::UnboundedReceiver<Command>,
) -> ConnectionState {
    let Link { running, watch, mut process, era, revision } = link;
    let line = Line {
        server: settings.name.as_str().into(),
        way: match settings.endpoint {
            Endpoint::Process(_) => LinkWay::Pipes,
            Endpoint::Http(_) => LinkWay::Requests,
        },
        peer: running.peer().clone(),
        handler: handler.clone(),
        watch: Arc::clone(&watch),
        shared: Arc::clone(shared),
        listing: Arc::default(),
    };
    let listed = tokio::select! {
        listed = tokio::time::timeout_at(deadline, line.list()) => listed,
        () = closed(commands) => {
            return ConnectionState::Failed("it was closed while it started".to_owned());
        }
    };
    let tools = match listed {
        Ok(Ok(tools)) => tools,
        Ok(Err(error)) => {
            let why = watch.fault().unwrap_or_else(|| cleaned(&error.to_string()));
            let why = format!("its tools cannot be listed: {why}");
            return ConnectionState::Failed(ended(why, process.as_deref_mut()));
        }
        Err(_) => {
            let seconds = settings.start_timeout.as_secs();
            return ConnectionState::Failed(format!(
                "its tools were not listed within {seconds} s"
            ));
        }
    };
    shared.set(ConnectionState::Ready(Arc::new(info(settings, &line.peer, era, revision, tools))));
    if era == Era::Modern {
        tokio::spawn(subscribe(line.peer.clone(), handler.clone()));
    }
    let token = running.cancellation_token();
    let mut running = Box::pin(running.waiting());
    loop {
        tokio::select! {
            _ = &mut running => {
                let why = watch.fault().unwrap_or_else(|| "it closed the connection".to_owned());
                return ConnectionState::Ended(ended(why, process.as_deref_mut()));
            }
            () = handler.changed() => {
                let line = line.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(LIST_PAUSE).await;
                    // The old list stands where there is no new one.
                    line.freshen().await.unwrap_or_default();
                });
            }
            command = commands.recv() => match command {
                Some(Command::Call(order, reply)) => {
                    tokio::spawn(line.clone().perform(order, reply));
                }
                Some(Command::Close) | None => {
                    token.cancel();
                    // Closes the server's input, which asks it to end.
                    tokio::time::timeout(END_PATIENCE, running).await.map(drop).unwrap_or_default();
                    if let Some(process) = &mut process {
                        process.end(END_PATIENCE);
                    }
                    return ConnectionState::Ended("it was closed".to_owned());
                }
            },
        }
    }
}

fn ended(why: String, process: Option<&mut (dyn StartedServer + 'static)>) -> String {
    match process {
        Some(process) => with_end(why, process),
        None => why,
    }
}

fn info(
    settings: &ConnectionSettings,
    peer: &Peer<RoleClient>,
    era: Era,
    revision: String,
    tools: Vec<rmcp::model::Tool>,
) -> ServerInfo {
    let known = peer.peer_info();
    let own = known.as_ref().and_then(|info| info.server_info.clone());
    let title = own.map(|own| cleaned(&format!("{} {}", own.name, own.version)));
    let instructions = known.as_ref().and_then(|info| info.instructions.clone());
    let (tools, skipped) = named(&settings.name, tools);
    ServerInfo {
        title: title.unwrap_or_else(|| settings.name.clone()),
        era,
        revision,
        instructions,
        tools: tools.into_iter().map(Arc::new).collect(),
        skipped,
    }
}

/// Hears of changed tools, where the server offers to tell.
async fn subscribe(peer: Peer<RoleClient>, handler: Handler) {
    let tools = peer.peer_info().and_then(|info| info.capabilities.tools.clone());
    if tools.and_then(|tools| tools.list_changed) != Some(true) {
        return;
    }
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = Some(true);
    let Ok(mut subscription) = peer.listen(filter).await else { return };
    while let Ok(Some(news)) = subscription.next().await {
        if let ServerNotification::ToolListChangedNotification(_) = news {
            handler.note_change();
        }
    }
}
