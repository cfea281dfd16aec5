//! Requests of a client, translated for a host of tools and back.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::approval::{AskClient, WithinCall, round, round_answer};

/// A tool that a host offers.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    /// The name that clients call.
    pub name: String,
    /// The text for the client's model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub schema: Value,
    /// Told to clients as a hint; the policy decides for itself.
    pub is_read_only: bool,
}

/// A client's call.
pub struct HostCall {
    /// The tool's name.
    pub name: String,
    /// The arguments, unchecked.
    pub arguments: JsonObject,
    /// The way to the person behind the client.
    pub ask: AskClient,
    /// Ends when the client does not want it any more.
    pub stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl std::fmt::Debug for HostCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostCall").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAnswer {
    /// The call has its result.
    Done {
        /// The content for the client's model.
        text: String,
        /// True for a failure, a refusal too.
        is_error: bool,
    },
    /// The client must be asked first, and repeat the call with this state.
    Asks {
        /// The text for the person.
        question: String,
        /// The token that the repeated call must bring.
        state: String,
    },
    /// The state that came with a repeated call is not one that waits.
    UnknownState,
    /// No tool has that name.
    UnknownTool,
}

/// A text that a client may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostResource {
    /// The address that clients read it by.
    pub uri: String,
    /// A short name for lists.
    pub name: String,
    /// A sentence for lists.
    pub description: String,
    /// The MIME type.
    pub kind: &'static str,
}

type Answering<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whoever has tools for a client.
pub trait ToolHost: Send + Sync + 'static {
    /// The text that a client's model gets at the beginning.
    fn instructions(&self) -> String;

    /// Lists the tools; may wait for those that others bring.
    fn tools(&self) -> Answering<'_, Vec<OfferedTool>>;

    /// Runs a call, or says that a person must be asked.
    fn call(&self, call: HostCall) -> Answering<'_, HostAnswer>;

    /// Lists the texts that clients may read.
    fn resources(&self) -> Answering<'_, Vec<HostResource>>;

    /// `None` for one that is not there.
    fn read(&self, uri: String) -> Answering<'_, Option<String>>;
}

/// The handler of one client.
pub(crate) struct HostHandler(pub(crate) Arc<dyn ToolHost>);

impl ServerHandler for HostHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut config = ServerConfig::new(capabilities);
        config.server_info = Implementation::new("journeyman", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(self.0.instructions());
        config
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools().await.into_iter().map(definition).collect();
        let mut result = ListToolsResult::with_all_items(tools);
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let answer = round_answer(request_state, input_responses.as_ref());
        let capabilities = context.client_capabilities();
        let elicits = capabilities.and_then(|known| known.elicitation).is_some();
        let is_legacy = context.protocol_version().is_none_or(|version| version.has_initialize());
        let ask = match (elicits, is_legacy) {
            (false, _) => AskClient::Never,
            (true, true) => AskClient::Within(WithinCall(context.peer.clone())),
            (true, false) => AskClient::InRounds(answer),
        };
        let stop = context.ct.clone();
        let call = HostCall {
            name: name.to_string(),
            arguments: arguments.unwrap_or_default(),
            ask,
            stopped: Box::pin(async move { stop.cancelled().await }),
        };
        match self.0.call(call).await {
            HostAnswer::Done { text, is_error } => {
                let content = vec![ContentBlock::text(text)];
                let result = match is_error {
                    true => CallToolResult::error(content),
                    false => CallToolResult::success(content),
                };
                Ok(CallToolResponse::Complete(result))
            }
            HostAnswer::Asks { question, state } => match round(&question, state) {
                Some(asks) => Ok(CallToolResponse::InputRequired(asks)),
                None => Err(ErrorData::internal_error("the question could not be put", None)),
            },
            HostAnswer::UnknownState => {
                Err(ErrorData::invalid_params("requestState: no call waits with it", None))
            }
            HostAnswer::UnknownTool => {
                Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None))
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |one: HostResource| {
            Resource::new(one.uri, one.name)
                .with_description(one.description)
                .with_mime_type(one.kind)
        };
        let resources = self.0.resources().await.into_iter().map(resource).collect();
        let mut result = ListResourcesResult::with_all_items(resources);
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        match self.0.read(uri.clone()).await {
            Some(text) => {
                let contents = vec![ResourceContents::text(text, uri)];
                let mut result = ReadResourceResult::new(contents);
                (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
                Ok(ReadResourceResponse::Complete(result))
            }
            None => Err(ErrorData::resource_not_found(
                "no such resource",
                Some(serde_json::json!({"uri": uri})),
            )),
        }
    }
}

fn definition(tool: OfferedTool) -> Tool {
    let schema = match tool.schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let annotations = ToolAnnotations::new().read_only(tool.is_read_only);
    Tool::new(tool.name, tool.description, Arc::new(schema)).with_annotations(annotations)
}
