//! The answer to `initialize`: what this agent can do, and what it makes of what the client can do.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodTerminal, ClientCapabilities, ElicitationCapabilities,
    Implementation, InitializeRequest, InitializeResponse, McpCapabilities, PromptCapabilities,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};

/// The vendors whose keys a terminal can be asked for.
const VENDORS: &[(&str, &str)] = &[
    ("anthropic", "Anthropic API key"),
    ("openai", "OpenAI API key"),
    ("gemini", "Google Gemini API key"),
    ("openrouter", "OpenRouter API key"),
];

/// The abilities of a client that change what it is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientFeatures {
    /// Files can be read as its buffers hold them.
    pub reads_buffers: bool,
    /// It shows notes that are no part of the conversation.
    pub shows_notices: bool,
    /// It lets a person fill in forms of servers of tools.
    pub fills_forms: bool,
    /// Its name and version, for the record.
    pub name: Option<String>,
}

/// The answer, in the version that was asked for where that is ours, else in our own; and the client's abilities.
pub fn initialized(
    request: &InitializeRequest,
    version: &str,
) -> (InitializeResponse, ClientFeatures) {
    let ClientCapabilities { fs, session, auth, elicitation, .. } = &request.client_capabilities;
    let info = request.client_info.as_ref();
    let features = ClientFeatures {
        reads_buffers: fs.read_text_file,
        shows_notices: session.as_ref().is_some_and(|session| session.notices.is_some()),
        fills_forms: elicitation.as_ref().is_some_and(ElicitationCapabilities::supports_form),
        name: info.map(|info| format!("{} {}", info.name, info.version)),
    };
    let methods = if auth.terminal { auth_methods() } else { Vec::new() };
    let response = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities())
        .agent_info(Implementation::new("journeyman", version).title("Journeyman".to_owned()))
        .auth_methods(methods);
    (response, features)
}

fn capabilities() -> AgentCapabilities {
    let prompts = PromptCapabilities::new().image(true).audio(false).embedded_context(true);
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
    AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompts)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions)
}

/// `jm acp --login VENDOR` in a terminal of the client's.
fn auth_methods() -> Vec<AuthMethod> {
    let method = |(vendor, name): &(&str, &str)| {
        let method = AuthMethodTerminal::new((*vendor).to_owned(), (*name).to_owned())
            .description(format!("Keeps the {name} in the system's keyring"))
            .args(vec!["--login".to_owned(), (*vendor).to_owned()]);
        AuthMethod::Terminal(method)
    };
    VENDORS.iter().map(method).collect()
}
