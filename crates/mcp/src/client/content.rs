//! A server's result as text for a model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The text of a result. What no model reads as text is named with its kind and size.
pub(crate) fn in_words(result: &CallToolResult) -> String {
    let blocks: Vec<String> = result.content.iter().map(block).collect();
    let is_told = result.content.iter().any(|block| match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::Image(_)
        | ContentBlock::Audio(_)
        | ContentBlock::Resource(_)
        | ContentBlock::ResourceLink(_)
        | _ => false,
    });
    // Servers repeat structured content as text, for clients that know only that.
    let structured = result.structured_content.as_ref().filter(|_| !is_told);
    let structured = structured.map(ToString::to_string);
    blocks.into_iter().chain(structured).collect::<Vec<_>>().join("\n")
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => sized("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => sized("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => format!("[resource {}: {}]", link.name, link.uri),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

fn resource(resource: &ResourceContents) -> String {
    match resource {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[resource {uri}]\n{text}")
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("bytes");
            format!("[resource {uri}: {}]", sized("file", kind, blob).trim_matches(['[', ']']))
        }
        _ => "[resource of an unknown kind]".to_owned(),
    }
}

/// `data` is base64: four characters for three bytes.
fn sized(what: &str, kind: &str, data: &str) -> String {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
    let bytes = (data.len() / 4 * 3).saturating_sub(padding);
    format!("[{what} {kind}, {bytes} bytes, not shown]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_content_is_told() {
        let cases = [
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb"),
            (
                r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
                "[image image/png, 3 bytes, not shown]",
            ),
            (
                r#"{"content":[{"type":"audio","data":"AAA=","mimeType":"audio/wav"}]}"#,
                "[audio audio/wav, 2 bytes, not shown]",
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#,
                "[resource a: file:///a]",
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":"t"}}]}"#,
                "[resource x:1]\nt",
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"x:1","blob":"AA=="}}]}"#,
                "[resource x:1: file bytes, 1 bytes, not shown]",
            ),
            (r#"{"content":[],"structuredContent":{"n":1}}"#, r#"{"n":1}"#),
            (
                r#"{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}"#,
                r#"{"n":1}"#,
            ),
            (r#"{"content":[]}"#, ""),
        ];
        for (json, expected) in cases {
            let result: CallToolResult = serde_json::from_str(json).unwrap();
            assert_eq!(in_words(&result), expected, "{json}");
        }
    }
}
