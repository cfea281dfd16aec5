//! `jm mcp serve`: our tools for another agent, confined, journaled and undoable.
//!
//! Law: one connection, one session. Calls run one after another. What needs a decision is asked of the
//! client where it can be asked, and refused where it cannot: recorded as the client's, once, for this very
//! call. Standard output belongs to the protocol.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result};
use jm_engine::{ApprovalDecision, Damaged, Engine, Guard, Pause, Session, Which};
use jm_mcp::server::{
    AskClient, ClientAnswer, HTTP_PATH, HostAnswer, HostCall, HostResource, HttpToken, OfferedTool,
    RoundAnswer, ToolHost, listen_here, serve_http, serve_stdio,
};
use jm_system::state::{fresh_id, secret_token};
use jm_types::text::{reveal, sanitize};
use jm_types::{CallKey, CallQuestion, ErrorKind, ToolCall, ToolError};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::answer::{Answer, Outcome};
use super::call_loop::block_on;
use super::interrupts::StopSignals;
use super::{exit, history, log, print, recover, undo};
use crate::cli::{Common, McpServe};
use crate::{sessions, wire};

/// The tool that takes changes back.
const UNDO: &str = "undo";
/// The log of the session, and the changes of its files.
const LOG: &str = "journeyman://session/log";
const DIFF: &str = "journeyman://session/diff";
/// Before the key of a call whose whole output is meant.
const OUTPUT: &str = "journeyman://output/";
/// Calls that wait for a client's answer; past this the oldest is forgotten.
const MOST_ASKED: usize = 64;
/// The longest question; a client shows it whole.
const MOST_QUESTION: usize = 16 * 1024;

pub(crate) fn run(common: &Common, serve: &McpServe) -> Result<u8> {
    let common = Common { answered_by: Some("client"), ..common.clone() };
    block_on(async {
        let wire::Wired { engine, session, mut events, warnings, .. } = wire::wire(&common)?;
        print::warnings(&warnings);
        recover::before_work(&common, &engine, &session.id)?;
        // Nobody sees output as it comes; a full channel would make tools wait.
        let drained = tokio::spawn(async move { while events.recv().await.is_some() {} });
        let (orders, mut received) = mpsc::channel(64);
        let mut client = listen(Arc::new(Host(orders)), serve).await?;
        let mut signals = StopSignals::listen();
        let mut desk = ServingDesk { engine, session, asked: HashMap::new() };
        let canceller = desk.engine.canceller();
        let ended = loop {
            let order = tokio::select! {
                ended = &mut client => break ended,
                () = signals.next() => break Ok(Ok(())),
                order = received.recv() => order,
            };
            let Some(order) = order else { break (&mut client).await };
            let mut working = Box::pin(desk.obey(order));
            tokio::select! {
                () = &mut working => {}
                // A client that has vanished wants nothing any more.
                ended = &mut client => {
                    canceller.cancel();
                    working.await;
                    break ended;
                }
            }
        };
        let batch = desk.session.batch().number;
        desk.engine.core().workspace.jobs.end_session();
        desk.engine.close(Some(batch)).map_err(sessions::told)?;
        drained.abort();
        match ended {
            Ok(Ok(())) => Ok(exit::RAN),
            Ok(Err(why)) => anyhow::bail!("the connection broke: {}", reveal(&why)),
            Err(error) => Err(error.into()),
        }
    })
}

/// Begins to serve; ends with the client, and over HTTP not at all.
async fn listen(host: Arc<Host>, serve: &McpServe) -> Result<JoinHandle<Result<(), String>>> {
    let Some(port) = serve.http else {
        return Ok(tokio::spawn(serve_stdio(host, std::io::stdin(), std::io::stdout())));
    };
    let listener = listen_here(port).await.with_context(|| format!("port {port} of 127.0.0.1"))?;
    let token = secret_token()?;
    let address = listener.local_addr()?;
    print::line(&format!("http://{address}{HTTP_PATH}\nAuthorization: Bearer {token}"))?;
    Ok(tokio::spawn(serve_http(host, listener, HttpToken(token))))
}

/// Orders of the connection to whoever has the engine.
enum Order {
    Tools(oneshot::Sender<Vec<OfferedTool>>),
    Call(HostCall, oneshot::Sender<HostAnswer>),
    Resources(oneshot::Sender<Vec<HostResource>>),
    Read(String, oneshot::Sender<Option<String>>),
}

struct Host(mpsc::Sender<Order>);

impl Host {
    /// Hands an order over; the default where the program is just ending.
    async fn give<T: Default>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> T {
        let (reply, answer) = oneshot::channel();
        if self.0.send(order(reply)).await.is_err() {
            return T::default();
        }
        answer.await.unwrap_or_default()
    }
}

type Answering<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl ToolHost for Host {
    fn instructions(&self) -> String {
        "Tools of Journeyman: confined to one workspace, journaled, and undoable with `undo`. Read \
         a file before you change it."
            .to_owned()
    }

    fn tools(&self) -> Answering<'_, Vec<OfferedTool>> {
        Box::pin(self.give(Order::Tools))
    }

    fn call(&self, call: HostCall) -> Answering<'_, HostAnswer> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let gone = HostAnswer::Done { text: "the server is ending".to_owned(), is_error: true };
            match self.0.send(Order::Call(call, reply)).await {
                Ok(()) => answer.await.unwrap_or(gone),
                Err(_) => gone,
            }
        })
    }

    fn resources(&self) -> Answering<'_, Vec<HostResource>> {
        Box::pin(self.give(Order::Resources))
    }

    fn read(&self, uri: String) -> Answering<'_, Option<String>> {
        Box::pin(self.give(|reply| Order::Read(uri, reply)))
    }
}

/// A question that waits for the client's next request.
struct Asked {
    name: String,
    arguments: Value,
    /// Of the arguments and of the files that were shown.
    fingerprint: String,
    /// The order of asking.
    number: usize,
}

struct ServingDesk {
    engine: Engine,
    session: Session,
    asked: HashMap<String, Asked>,
}

impl ServingDesk {
    async fn obey(&mut self, order: Order) {
        // A client that is gone needs no answer.
        match order {
            Order::Tools(reply) => reply.send(self.tools()).unwrap_or_default(),
            Order::Call(call, reply) => {
                reply.send(self.call(call).await).unwrap_or_default();
            }
            Order::Resources(reply) => reply.send(self.resources()).unwrap_or_default(),
            Order::Read(uri, reply) => reply.send(self.read(&uri)).unwrap_or_default(),
        }
    }

    fn tools(&self) -> Vec<OfferedTool> {
        let registry = &self.engine.core().registry;
        let tool = |definition: jm_types::ToolDefinition| {
            let found = registry.lookup(&definition.name);
            OfferedTool {
                is_read_only: found.is_ok_and(|tool| !tool.is_side_effecting()),
                name: definition.name,
                description: definition.description,
                schema: definition.parameters,
            }
        };
        let mut tools: Vec<OfferedTool> = self.engine.advertised().into_iter().map(tool).collect();
        tools.push(OfferedTool {
            name: UNDO.to_owned(),
            description: "Undo the changes of the last call of this connection, or of one call, byte for byte."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {"call": {"type": "string", "description": "Key of a call, as the log has it"}},
            }),
            is_read_only: false,
        });
        tools
    }

    async fn call(&mut self, call: HostCall) -> HostAnswer {
        let HostCall { name, arguments, ask, stopped } = call;
        let arguments = Value::Object(arguments);
        if name == UNDO {
            return self.undo(&arguments);
        }
        if self.engine.core().registry.lookup(&name).is_err_and(|error| is_unknown(&error)) {
            return HostAnswer::UnknownTool;
        }
        let call = ToolCall { id: "call".to_owned(), name, arguments: arguments.to_string() };
        let ask = match ask {
            AskClient::InRounds(None) => match self.ask_in_round(&call, &arguments).await {
                Some(asks) => return asks,
                None => AskClient::Never,
            },
            AskClient::InRounds(Some(RoundAnswer { state, answer })) => {
                match self.take_asked(&state, &call.name, &arguments) {
                    Some(asked) => {
                        return self
                            .work(call, Answerer::Given(answer, asked.fingerprint), stopped)
                            .await;
                    }
                    None => return HostAnswer::UnknownState,
                }
            }
            other => other,
        };
        let answerer = match ask {
            AskClient::Within(within) => Answerer::Within(within),
            AskClient::Never | AskClient::InRounds(_) => Answerer::Nobody,
        };
        self.work(call, answerer, stopped).await
    }

    /// The question for a call that needs one; nothing has run or is recorded yet.
    async fn ask_in_round(&mut self, call: &ToolCall, arguments: &Value) -> Option<HostAnswer> {
        let seen = self.engine.inspect(&self.session, call.clone()).await;
        let shown = seen.question?;
        let state = fresh_id().ok()?;
        let number = self.asked.values().map(|asked| asked.number).max().unwrap_or(0) + 1;
        if self.asked.len() >= MOST_ASKED {
            let oldest = self.asked.iter().min_by_key(|(_, asked)| asked.number);
            let oldest = oldest.map(|(state, _)| state.clone()).unwrap_or_default();
            self.asked.remove(&oldest);
        }
        let (name, arguments) = (call.name.clone(), arguments.clone());
        let fingerprint = shown.fingerprint.clone();
        self.asked.insert(state.clone(), Asked { name, arguments, fingerprint, number });
        Some(HostAnswer::Asks { question: question(&shown), state })
    }

    /// The question that a state names: used once, for the very call.
    fn take_asked(&mut self, state: &str, name: &str, arguments: &Value) -> Option<Asked> {
        let asked = self.asked.remove(state)?;
        (asked.name == name && asked.arguments == *arguments).then_some(asked)
    }

    async fn work(
        &mut self,
        call: ToolCall,
        answerer: Answerer,
        mut stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> HostAnswer {
        self.session.begin_turn();
        if let Err(error) = self.session.submit(vec![call]) {
            return HostAnswer::Done { text: error.to_string(), is_error: true };
        }
        let canceller = self.engine.canceller();
        let mut is_stopped = false;
        loop {
            let pause = {
                let running = self.engine.run(&mut self.session);
                tokio::pin!(running);
                loop {
                    tokio::select! {
                        pause = &mut running => break pause,
                        () = &mut stopped, if !is_stopped => {
                            is_stopped = true;
                            canceller.cancel();
                        }
                    }
                }
            };
            match pause {
                Pause::Finished | Pause::NeedsResults | Pause::Cancelled => break,
                Pause::NeedsApproval => {
                    if let Err(error) = self.decide(&answerer).await {
                        return HostAnswer::Done { text: error.to_string(), is_error: true };
                    }
                }
            }
        }
        self.answer()
    }

    async fn decide(&mut self, answerer: &Answerer) -> Result<()> {
        let pending: Vec<CallQuestion> = self.session.batch().pending().cloned().collect();
        let answer = match answerer {
            Answerer::Nobody => {
                self.session.refuse_pending(nobody);
                return Ok(());
            }
            Answerer::Given(answer, fingerprint) => {
                if pending.first().map(|one| &one.fingerprint) != Some(fingerprint) {
                    self.session.refuse_pending(changed);
                    return Ok(());
                }
                *answer
            }
            Answerer::Within(within) => {
                let Some(one) = pending.first() else { return Ok(()) };
                within.ask(question(one)).await
            }
        };
        let decision = match answer {
            ClientAnswer::Approved => ApprovalDecision::ApproveAll,
            ClientAnswer::Denied => ApprovalDecision::DenyAll,
        };
        self.session.decide(&decision).map_err(Into::into)
    }

    fn answer(&mut self) -> HostAnswer {
        let batch = self.session.batch();
        let answer = batch.entries.first().and_then(Answer::of);
        let done = match &answer {
            Some(answer) => HostAnswer::Done {
                text: answer.content.to_owned(),
                is_error: answer.verdict != Outcome::Ran,
            },
            None => HostAnswer::Done { text: "the call has no result".to_owned(), is_error: true },
        };
        // That this is not on record costs a question after the next crash.
        self.engine.core().recorder.delivered(batch.number).unwrap_or_default();
        done
    }

    /// Only what this connection's session changed.
    fn undo(&mut self, arguments: &Value) -> HostAnswer {
        let failed = |text: String| HostAnswer::Done { text, is_error: true };
        let which = match arguments["call"].as_str() {
            None => Which::Last(1),
            Some(key) => {
                let key = CallKey::from(key);
                if key.session().as_ref() != Some(&self.session.id) {
                    return failed(
                        "not a call of this connection; the log lists their keys".to_owned(),
                    );
                }
                Which::Call(key)
            }
        };
        match self.engine.undo(&mut self.session, &which, Guard::Hash, Damaged::Refuse) {
            Ok(report) => HostAnswer::Done {
                text: undo::as_json(&report).to_string(),
                is_error: !report.skipped.is_empty(),
            },
            Err(error) => failed(error.to_string()),
        }
    }

    fn calls(&self) -> Vec<jm_store::CallView> {
        let Ok(store) = sessions::store() else { return Vec::new() };
        store.walk_calls(&self.session.id).filter_map(Result::ok).collect()
    }

    fn resources(&self) -> Vec<HostResource> {
        let plain = |uri: &str, name: &str, description: &str, kind| HostResource {
            uri: uri.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            kind,
        };
        let mut all = vec![
            plain(LOG, "log", "Log of this connection: calls, approvals and changes", "text/plain"),
            plain(DIFF, "diff", "Diff of what this connection changed", "text/x-diff"),
        ];
        for call in self.calls() {
            let key = call.call.call.to_string();
            let description = format!("Full output of {}", call.call.name);
            all.push(plain(&format!("{OUTPUT}{key}"), &key, &description, "text/plain"));
        }
        all
    }

    fn read(&self, uri: &str) -> Option<String> {
        let calls = self.calls();
        match uri {
            LOG => {
                let store = sessions::store().ok()?;
                let root = self.engine.core().workspace.sandbox.working_root().path();
                let lines = calls.iter().flat_map(|call| log::in_words(&store, root, call));
                Some(lines.map(|line| format!("{line}\n")).collect())
            }
            DIFF => {
                let store = sessions::store().ok()?;
                let root = self.engine.core().workspace.sandbox.working_root().path();
                let diffs = calls.iter().map(|call| history::diffs(&store, root, call));
                Some(sanitize(&diffs.collect::<String>()))
            }
            _ => {
                let key = uri.strip_prefix(OUTPUT)?;
                let call = calls.iter().find(|call| *call.call.call == *key)?;
                let store = sessions::store().ok()?;
                let result = store.result(&call.call.call).ok()??;
                super::output::whole(&store, &result).ok()
            }
        }
    }
}

/// Whoever answers for one call.
enum Answerer {
    Nobody,
    Within(jm_mcp::server::WithinCall),
    /// Given before the call was submitted, for what was shown then.
    Given(ClientAnswer, String),
}

fn is_unknown(error: &ToolError) -> bool {
    matches!(error.kind, ErrorKind::UnknownTool { .. })
}

/// The question for a client, which shows it whole; secrets stay masked.
fn question(asked: &CallQuestion) -> String {
    let CallQuestion { tool, summary, reason, .. } = asked;
    let warnings: String = asked.warnings.iter().map(|one| format!("! {one}\n")).collect();
    let preview = asked.preview.as_deref().unwrap_or_default();
    let text = format!("{tool}: {summary}\n{warnings}Needs approval: {reason}\n{preview}");
    let mut text = reveal(&text);
    if text.len() > MOST_QUESTION {
        text.truncate(text.floor_char_boundary(MOST_QUESTION));
        text.push_str("\n(cut)");
    }
    text
}

fn nobody(request: &CallQuestion) -> ToolError {
    let tool = &request.tool;
    ToolError::new(ErrorKind::NeedsPerson { summary: request.summary.clone() }).hint(format!(
        "this client cannot show questions; allow the tool when starting the server: `jm mcp serve --allow {tool}`, or `--approve auto`"
    ))
}

fn changed(request: &CallQuestion) -> ToolError {
    ToolError::new(ErrorKind::NeedsPerson { summary: request.summary.clone() })
        .hint("the effect of the call has changed since it was approved; call it again")
}
