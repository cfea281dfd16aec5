//! The text of new blocks, in a document's own line ends.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jm_types::{Native, ToolCall};
use serde_json::{Value, json};

use crate::edit_error::EditError;
use crate::escape::{escape, trim_blank_lines};
use crate::status::{PlaceholderForm, ToolStatus};
use crate::tool_results::NewResult;
use jm_types::text::fence_for;

/// Writes blocks with one kind of line end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) line_end: &'static str,
}

impl Writer {
    pub(crate) fn tool_use(self, call: &ToolCall) -> Result<String, EditError> {
        let (name, id) = (quotable(&call.name)?, quotable(&call.id)?);
        let blank = call.arguments.trim().is_empty();
        let input = if blank { "{}" } else { call.arguments.as_str() };
        let header = format!("**Tool Use:** `{name}` (`{id}`)");
        Ok(self.with_fence(&header, "json", input))
    }

    pub(crate) fn placeholder(
        self,
        id: &str,
        status: ToolStatus,
        form: PlaceholderForm,
    ) -> Result<String, EditError> {
        let (id, word) = (quotable(id)?, status.word());
        Ok(match form {
            PlaceholderForm::Fence => {
                let header = format!("**Tool Result:** `{id}`");
                self.with_fence(&header, &format!("flemma:tool status={word}"), "")
            }
            PlaceholderForm::Header => {
                self.with_fence(&format!("**Tool Result:** `{id}` ({word})"), "", "")
            }
        })
    }

    /// A result, with the words behind its id that are not ours to drop.
    pub(crate) fn result(
        self,
        id: &str,
        result: &NewResult,
        suffix: &[String],
    ) -> Result<String, EditError> {
        let id = quotable(id)?;
        let error = result.is_error.then(|| "error".to_owned());
        let words: Vec<String> = error.into_iter().chain(suffix.iter().cloned()).collect();
        let header = match words.is_empty() {
            true => format!("**Tool Result:** `{id}`"),
            false => format!("**Tool Result:** `{id}` ({})", words.join(" ")),
        };
        let language = if result.is_json { "json" } else { "" };
        Ok(self.with_fence(&header, language, &result.content))
    }

    fn with_fence(self, header: &str, info: &str, body: &str) -> String {
        let (end, fence) = (self.line_end, fence_for(body));
        let last = if body.is_empty() { "" } else { end };
        format!("{header}{end}{end}{fence}{info}{end}{body}{last}{fence}")
    }

    /// Words; `None` where there are none.
    pub(crate) fn words(self, text: &str) -> Option<String> {
        let text = trim_blank_lines(text);
        let escaped = escape(text);
        (!text.is_empty()).then(|| match self.line_end {
            "\n" => escaped.into_owned(),
            end => escaped.replace("\r\n", "\n").replace('\n', end),
        })
    }

    pub(crate) fn thinking(self, text: &str, native: Option<&Native>) -> Option<String> {
        let tag = native.map(signature).unwrap_or_default();
        let end = self.line_end;
        let content = match native.and_then(redacted) {
            Some(data) => {
                return Some(format!("<thinking redacted{tag}>{end}{data}{end}</thinking>"));
            }
            None => escape(text),
        };
        match (text.is_empty(), tag.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("<thinking{tag}/>")),
            (false, _) => Some(format!("<thinking{tag}>{end}{content}{end}</thinking>")),
        }
    }

    pub(crate) fn aborted(self, text: &str) -> String {
        let text = text.replace(['\r', '\n'], " ").replace("-->", "-- >");
        format!("<!-- flemma:aborted: {} -->", text.trim())
    }
}

/// Names and ids stand between backticks on one line.
fn quotable(name: &str) -> Result<&str, EditError> {
    if name.is_empty() || name.contains(['`', '\n', '\r']) {
        return Err(EditError::Unwritable { name: name.to_owned() });
    }
    Ok(name)
}

/// The attributes that carry a vendor's own item: the signature of a thought of Anthropic's as it is, any
/// other item whole, in Base64.
fn signature(native: &Native) -> String {
    let plain = plain_signature(native);
    let value = plain.unwrap_or_else(|| BASE64_STANDARD.encode(&native.raw));
    let is_fit = |text: &str| !text.contains(['"', '<', '>', '\n', '\r']);
    if ![value.as_str(), &native.provider, &native.model].into_iter().all(is_fit) {
        return String::new();
    }
    let redacted = redacted(native).is_some();
    let model = format!(" model=\"{}\"", native.model);
    match redacted {
        true => format!(" provider=\"{}\"{model}", native.provider),
        false => format!(" {}:signature=\"{value}\"{model}", native.provider),
    }
}

fn plain_signature(native: &Native) -> Option<String> {
    let item: Value = serde_json::from_str(&native.raw).ok()?;
    let (thinking, signature) = (item.get("thinking")?.as_str()?, item.get("signature")?.as_str()?);
    (native.raw == thought_item(thinking, signature)).then(|| signature.to_owned())
}

/// The data of a thought that its vendor hides.
fn redacted(native: &Native) -> Option<String> {
    let item: Value = serde_json::from_str(&native.raw).ok()?;
    let data = item.get("data")?.as_str()?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
    let is_plain = native.raw == redacted_item(data) && data.bytes().all(is_base64);
    is_plain.then(|| data.to_owned())
}

/// A signed thought, as Anthropic's messages have it.
pub(crate) fn thought_item(thinking: &str, signature: &str) -> String {
    json!({"type": "thinking", "thinking": thinking, "signature": signature}).to_string()
}

pub(crate) fn redacted_item(data: &str) -> String {
    json!({"type": "redacted_thinking", "data": data}).to_string()
}
