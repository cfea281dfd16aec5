//! One tool of a server, and one call of it.
//!
//! Law: a server is a program that others wrote, so a call of it is asked about, journaled as started, and never
//! repeated. Only the person says that a tool changes nothing; what the server says of it colours the
//! risk.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_mcp::client::{
    CallFault, CallOrder, Connection, NamedTool, Progress, RiskHint, ServerAnswer,
};
use jm_tools::{
    CallContext, Intent, Output, Prepared, Preview, Scope, ToolEffect, ToolExecutor, ToolFut,
    ToolSpec, cancelled,
};
use jm_types::text::one_line;
use jm_types::{Digest, ErrorKind, Limits, RiskLevel, ToolError, ToolEvent};
use serde_json::{Map, Value};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::Server;

/// More than a summary shows.
const MOST_SUMMARY: usize = 400;

#[derive(Debug, Clone)]
pub(super) struct McpTool {
    spec: ToolSpec,
    server: Arc<Server>,
    connection: Arc<Connection>,
    tool: Arc<NamedTool>,
}

impl McpTool {
    pub(super) fn new(
        server: &Arc<Server>,
        connection: &Arc<Connection>,
        tool: &Arc<NamedTool>,
    ) -> Self {
        let spec = ToolSpec {
            name: tool.name.clone(),
            description: tool.description.clone(),
            effect: ToolEffect::Runs,
            risk: risk(tool.hint),
            needs_person: false,
            timeout: Some(Duration::from_secs(server.entry.call_seconds)),
        };
        let (server, connection) = (Arc::clone(server), Arc::clone(connection));
        Self { spec, server, connection, tool: Arc::clone(tool) }
    }

    /// The hash of the server's command and the tool's definition.
    fn pin(&self) -> String {
        let both = format!("{}\0{}", self.server.digest(), self.tool.digest);
        let digest = Digest::of(both.as_bytes()).to_string();
        format!("{}@{}", self.spec.name, &digest[..16.min(digest.len())])
    }
}

/// The server's hint raises or lowers the colour of the question, and decides nothing.
fn risk(hint: RiskHint) -> RiskLevel {
    match hint {
        RiskHint::ReadOnly => RiskLevel::Low,
        RiskHint::Additive => RiskLevel::Medium,
        RiskHint::Destructive => RiskLevel::High,
    }
}

impl ToolExecutor for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema(&self) -> &Value {
        &self.tool.schema
    }

    fn prepare(&self, args: Value, _: &Limits) -> Result<Box<dyn Prepared>, ToolError> {
        let Value::Object(args) = args else {
            return Err(ToolError::bad_args("the arguments are not a JSON object"));
        };
        Ok(Box::new(McpCall { tool: self.clone(), args }))
    }

    /// A server that can write nothing of the workspace need not be watched there.
    fn may_write_workspace(&self) -> bool {
        let entry = &self.server.entry;
        !entry.writable.is_empty() || !entry.url.is_empty()
    }
}

#[derive(Debug)]
struct McpCall {
    tool: McpTool,
    args: Map<String, Value>,
}

impl Prepared for McpCall {
    fn intent(&self) -> Intent {
        let McpTool { spec, server, tool, .. } = &self.tool;
        let is_read_only = server.entry.read_only.contains(&tool.own_name);
        let args: String =
            Value::Object(self.args.clone()).to_string().chars().take(MOST_SUMMARY).collect();
        Intent {
            summary: format!("Call {} of server {} with {args}", tool.own_name, server.name),
            effect: if is_read_only { ToolEffect::Reads } else { ToolEffect::Runs },
            risk: spec.risk,
            needs_person: false,
            paths: Vec::new(),
            stands_for: None,
            command: None,
            publishes: Vec::new(),
            pinned: Some(self.tool.pin()),
        }
    }

    fn preview(&self, _: &Scope) -> Result<Option<Preview>, ToolError> {
        let McpTool { server, tool, .. } = &self.tool;
        let args = Value::Object(self.args.clone());
        let text = format!("calls {} of {}\n{args:#}\n", tool.own_name, server.place());
        Ok(Some(Preview { text, ..Preview::default() }))
    }

    /// The server runs already; one that is reached by an address is no program of ours.
    fn standing_gaps(&self) -> Option<Vec<String>> {
        Some(self.tool.server.gaps.get())
    }

    fn execute<'a>(self: Box<Self>, ctx: &'a mut CallContext) -> ToolFut<'a> {
        Box::pin(async move {
            let McpCall { tool, args } = *self;
            let (progress, heard) = mpsc::unbounded_channel();
            let order = CallOrder {
                tool: tool.tool.own_name.clone(),
                definition: tool.tool.digest,
                arguments: args,
                idempotency_key: ctx.call_key.to_string(),
                progress,
            };
            let shown = tokio::spawn(show(heard, ctx.output_tx.clone(), ctx.tool_call_id.clone()));
            let name = tool.spec.name.clone();
            let began = Instant::now();
            let answer = tokio::select! {
                answer = tool.connection.call(order) => judge(&name, answer),
                () = tokio::time::sleep_until(ctx.deadline.into()) => {
                    let kind = ErrorKind::Timeout { tool: name, elapsed: began.elapsed() };
                    let hint = "what the server did before that is unknown; the call is not repeated";
                    Err(ToolError::new(kind).hint(hint))
                }
                () = cancelled(&ctx.cancel) => Err(ToolError::cancelled()),
            };
            shown.abort();
            answer
        })
    }
}

/// Progress is shown like a command's output.
async fn show(
    mut heard: UnboundedReceiver<Progress>,
    events: mpsc::Sender<ToolEvent>,
    tool_call_id: String,
) {
    while let Some(Progress { progress, total, message }) = heard.recv().await {
        let total = total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = message.map(|text| format!(" {}", one_line(&text))).unwrap_or_default();
        let chunk = format!("{progress}{total}{message}\n");
        let event = ToolEvent::StderrChunk { tool_call_id: tool_call_id.clone(), chunk };
        // A face that does not listen, or not fast enough, has missed a step.
        events.try_send(event).unwrap_or_default();
    }
}

fn judge(tool: &str, answer: Result<ServerAnswer, CallFault>) -> Result<Output, ToolError> {
    match answer {
        Ok(ServerAnswer { text, is_error: false }) => Ok(Output::Text(text)),
        Ok(ServerAnswer { text, is_error: true }) => {
            let words = one_line(text.lines().next().unwrap_or("it gave no reason"));
            Err(ToolError::failed(tool, words).with_output(text))
        }
        Err(CallFault::Cancelled) => Err(ToolError::cancelled()),
        Err(fault) => Err(ToolError::failed(tool, fault.to_string())),
    }
}
