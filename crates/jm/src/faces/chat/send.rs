//! The third phase: the conversation goes to the model, and its answer into the document.

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt;
use jm_chat::{ChatView, FileReference, ToolStatus, ViewSources};
use jm_files::OpenFile;
use jm_providers::{ModelClient, ModelRequest};
use jm_types::{Assembly, Cancel, Message, MessageRole, Part, ToolCall};

use super::{ChatEnd, Chatting, INTERRUPTED};
use crate::agent::parameters;
use crate::cli::Model;
use crate::instructions;

/// Of a file that a message refers to.
const MOST_FILE_BYTES: u64 = 1024 * 1024;

/// How a response came to its end.
enum Came {
    Whole,
    Interrupted,
    Broken(String),
}

impl Chatting {
    /// Sends the conversation and appends the answer. `None` when it asks for tools.
    pub(super) async fn send(
        &mut self,
        client: &ModelClient,
        model: &Model,
    ) -> Result<Option<ChatEnd>> {
        let view = self.view(client);
        if !view.missing.is_empty() {
            // A person may have taken a result away since the phases before this one.
            let ids = view.missing.join(", ");
            return Ok(Some(ChatEnd::Failed(format!("calls without a result: {ids}"))));
        }
        let Some(last) = view.messages.last().filter(|last| last.role == MessageRole::User) else {
            return Ok(Some(ChatEnd::NothingToSend));
        };
        self.driver.engine.remember_message(last)?;
        let (mut message, came) = self.listen(client, model, view).await?;
        name_calls(&mut message, self.paper.document.calls().len());
        if !message.parts.is_empty() {
            self.driver.engine.remember_message(&message)?;
            if let Some(end) = self.write_answer(&message, &came)? {
                return Ok(Some(end));
            }
        }
        Ok(match came {
            Came::Interrupted => Some(ChatEnd::Interrupted),
            Came::Broken(why) => Some(ChatEnd::Failed(why)),
            Came::Whole if message.parts.is_empty() => {
                Some(ChatEnd::Failed("the model gave an empty answer".to_owned()))
            }
            Came::Whole if message.calls().next().is_some() => None,
            Came::Whole => Some(ChatEnd::Finished),
        })
    }

    fn view(&self, client: &ModelClient) -> ChatView {
        let received = self.received.borrow();
        let native = |call: &ToolCall| {
            received.iter().find(|(known, _)| known == call).and_then(|(_, native)| native.clone())
        };
        let file = |reference: &FileReference| self.file(reference);
        let (provider, model) = (client.provider(), client.model());
        let sources = ViewSources { provider, model, native_of_call: &native, file: &file };
        self.paper.document.view(&sources)
    }

    /// A file that the person refers to, read as a tool would read it.
    fn file(&self, reference: &FileReference) -> Option<Vec<Part>> {
        let sandbox = &self.driver.engine.core().workspace.sandbox;
        let path = reference.path.strip_prefix("./").unwrap_or(&reference.path);
        let found = sandbox.resolve(path).and_then(|path| OpenFile::open(&path));
        let read = found.and_then(|mut file| file.read_up_to(MOST_FILE_BYTES));
        let (bytes, is_cut) = read.ok()?;
        let name = &reference.path;
        let image = reference.media_type.clone().or_else(|| image_type(name));
        if let Some(media_type) = image.filter(|kind| kind.starts_with("image/") && !is_cut) {
            let data = BASE64_STANDARD.encode(&bytes);
            return Some(vec![Part::text(name), Part::Image { media_type, data }]);
        }
        let text = String::from_utf8_lossy(&bytes);
        let cut = if is_cut { "\n[cut after 1 MB]" } else { "" };
        Some(vec![Part::text(format!("<file path=\"{name}\">\n{text}{cut}\n</file>"))])
    }

    async fn listen(
        &mut self,
        client: &ModelClient,
        model: &Model,
        view: ChatView,
    ) -> Result<(Message, Came)> {
        let core = self.driver.engine.core();
        let system =
            view.system.unwrap_or_else(|| instructions::system(&core.workspace, core.mode).text);
        let layers = self.settings.over(client.parameter_layers()).beneath(&parameters(model));
        let request = layers.in_request(ModelRequest {
            system,
            messages: view.messages.into(),
            tools: self.offered().into(),
            conversation: Some(self.paper.session.clone()),
            ..ModelRequest::default()
        });
        let cancel = Cancel::new();
        let mut stream = client.stream(request, cancel.clone());
        let mut assembly = Assembly::new();
        let came = loop {
            let item = tokio::select! {
                biased;
                () = self.driver.interrupts.next() => break Came::Interrupted,
                item = stream.next() => item,
            };
            match item {
                Some(Ok(event)) => {
                    self.teller.screen().event(&event)?;
                    assembly.push(event);
                }
                Some(Err(error)) => break Came::Broken(error.to_string()),
                None => break Came::Whole,
            }
        };
        cancel.cancel();
        let turn = assembly.finish();
        self.teller.screen().response_ends(turn.usage)?;
        if !turn.cut.is_empty() {
            self.teller.note("an incomplete call was dropped")?;
        }
        Ok((turn.message, came))
    }

    /// Appends the answer, marked where it did not come to its end, and a fresh `@You:` where it asks for
    /// nothing.
    fn write_answer(&mut self, message: &Message, came: &Came) -> Result<Option<ChatEnd>> {
        let calls: Vec<ToolCall> = message.calls().cloned().collect();
        self.received.borrow_mut().extend(super::calls_of(message));
        let aborted: Vec<(&str, ToolStatus)> =
            calls.iter().map(|call| (call.id.as_str(), ToolStatus::Aborted)).collect();
        let why = match came {
            Came::Whole => None,
            Came::Interrupted => Some(INTERRUPTED),
            Came::Broken(why) => Some(why.as_str()),
        };
        let form = self.paper.document.placeholder_form();
        let written = self.write("send", Vec::new(), |document| {
            let document = document.with_assistant(message)?;
            match why {
                Some(why) if aborted.is_empty() => document.with_aborted(why)?.with_you(""),
                Some(why) => document.with_aborted(why)?.with_placeholders(&aborted, form),
                None if calls.is_empty() => document.with_you(""),
                None => Ok(document),
            }
        })?;
        Ok(written)
    }
}

fn image_type(name: &str) -> Option<String> {
    let kind = match name.rsplit('.').next()?.to_ascii_lowercase().as_str() {
        "png" => "png",
        "jpg" | "jpeg" => "jpeg",
        "gif" => "gif",
        "webp" => "webp",
        _ => return None,
    };
    Some(format!("image/{kind}"))
}

/// Gives an id to calls whose vendor gave none or one that a document cannot hold or has already in this
/// message; a vendor's own item does not fit such a call any more.
fn name_calls(message: &mut Message, already: usize) {
    let mut known: Vec<String> = Vec::new();
    for part in &mut message.parts {
        let Part::Call { call, native } = part else { continue };
        let is_fit = !call.id.is_empty()
            && !call.id.contains(['`', '\n', '\r'])
            && !known.contains(&call.id);
        if !is_fit {
            call.id = format!("call_{}", already + known.len() + 1);
            *native = None;
        }
        known.push(call.id.clone());
    }
}
