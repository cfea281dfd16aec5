//! A client's prompt as the parts of a message.
//!
//! Law: what stands in the person's words stays in its place; what a client adds to them follows, marked with
//! where it comes from.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jm_types::Part;

/// A part of a prompt that cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum PromptFault {
    #[error("the prompt is empty")]
    Empty,
    #[error("{0} is not taken in prompts")]
    NotTaken(String),
    #[error("a picture is not base64")]
    NotBase64,
    #[error("a picture {0}")]
    NoPicture(String),
}

/// The parts; `picture` judges the bytes of an image.
pub fn prompt_parts(
    blocks: &[ContentBlock],
    picture: impl Fn(&[u8]) -> Result<Part, String>,
) -> Result<Vec<Part>, PromptFault> {
    let (mut words, mut context) = (String::new(), String::new());
    let mut pictures = Vec::new();
    let mut see = |data: &str| {
        let bytes = STANDARD.decode(data).map_err(|_| PromptFault::NotBase64)?;
        pictures.push(picture(&bytes).map_err(PromptFault::NoPicture)?);
        Ok::<(), PromptFault>(())
    };
    for block in blocks {
        match block {
            ContentBlock::Text(text) => words.push_str(&text.text),
            ContentBlock::Image(image) => see(&image.data)?,
            ContentBlock::ResourceLink(link) => {
                words.push_str(&format!("[{}]({})", link.name, link.uri));
            }
            ContentBlock::Resource(embedded) => match &embedded.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    let name = text.uri.rsplit('/').next().unwrap_or(&text.uri);
                    words.push_str(&format!("[{name}]({})", text.uri));
                    let (uri, text) = (&text.uri, &text.text);
                    context.push_str(&format!("\n<context ref=\"{uri}\">\n{text}\n</context>\n"));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    let kind = blob.mime_type.as_deref().unwrap_or("a resource without a type");
                    match kind.starts_with("image/") {
                        true => see(&blob.blob)?,
                        false => return Err(PromptFault::NotTaken(kind.to_owned())),
                    }
                }
                _ => return Err(PromptFault::NotTaken("this kind of resource".to_owned())),
            },
            ContentBlock::Audio(_) => return Err(PromptFault::NotTaken("audio".to_owned())),
            _ => return Err(PromptFault::NotTaken("this kind of content".to_owned())),
        }
    }
    let mut parts: Vec<Part> = Vec::new();
    for text in [words, context] {
        if !text.trim().is_empty() {
            parts.push(Part::text(text));
        }
    }
    parts.extend(pictures);
    if parts.is_empty() { Err(PromptFault::Empty) } else { Ok(parts) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parts(blocks: Value) -> Result<Vec<Part>, PromptFault> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        prompt_parts(&blocks, |bytes| match bytes {
            b"png" => Ok(Part::text("(picture)")),
            _ => Err("is none".to_owned()),
        })
    }

    #[test]
    fn words_keep_their_place_and_context_follows() {
        let blocks = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///w/b.rs", "text": "fn b() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "cG5n"},
        ]);
        let expected = vec![
            Part::text("Look at [a.rs](file:///w/a.rs) and [b.rs](file:///w/b.rs)"),
            Part::text("\n<context ref=\"file:///w/b.rs\">\nfn b() {}\n</context>\n"),
            Part::text("(picture)"),
        ];
        assert_eq!(parts(blocks), Ok(expected));
    }

    #[test]
    fn what_cannot_be_passed_on_is_refused() {
        let image = |data: &str| json!([{"type": "image", "mimeType": "image/png", "data": data}]);
        let cases = [
            (json!([]), PromptFault::Empty),
            (json!([{"type": "text", "text": " \n"}]), PromptFault::Empty),
            (image("!"), PromptFault::NotBase64),
            (image("AAAA"), PromptFault::NoPicture("is none".to_owned())),
            (
                json!([{"type": "audio", "mimeType": "audio/wav", "data": ""}]),
                PromptFault::NotTaken("audio".to_owned()),
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "a", "blob": "", "mimeType": "application/pdf"}}]),
                PromptFault::NotTaken("application/pdf".to_owned()),
            ),
        ];
        for (blocks, expected) in cases {
            assert_eq!(parts(blocks), Err(expected));
        }
    }
}
