//! Members of `_meta` beneath our own name: what a client says beyond the protocol.
//!
//! Law: nothing here loosens anything. A client that does not know of it loses nothing but comfort.

use agent_client_protocol_schema::v1::{Meta, ReadTextFileResponse, RequestPermissionResponse};

const OURS: &str = "journeyman";

/// The reason that the model is told for a rejection.
pub fn rejection_reason(response: &RequestPermissionResponse) -> Option<String> {
    text(response.meta.as_ref(), "reason")
}

/// Why the editor keeps a file from being written: unsaved changes, or a buffer that was made read-only.
pub fn keeps_file(response: &ReadTextFileResponse) -> Option<String> {
    text(response.meta.as_ref(), "keeps")
}

fn text(meta: Option<&Meta>, name: &str) -> Option<String> {
    let text = meta?.get(OURS)?.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_texts_beneath_our_name_count() {
        let reason = |meta: Value| {
            let response = json!({"outcome": {"outcome": "cancelled"}, "_meta": meta});
            rejection_reason(&serde_json::from_value(response).unwrap())
        };
        assert_eq!(reason(json!({"journeyman": {"reason": " no "}})), Some("no".to_owned()));
        for meta in [json!(null), json!({"journeyman": 1}), json!({"journeyman": {"reason": " "}})]
        {
            assert_eq!(reason(meta), None);
        }
        let read = json!({"content": "", "_meta": {"journeyman": {"keeps": "mine"}}});
        let read: ReadTextFileResponse = serde_json::from_value(read).unwrap();
        assert_eq!(keeps_file(&read), Some("mine".to_owned()));
    }
}
