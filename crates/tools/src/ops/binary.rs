//! Bytes that are no text, and how they are shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How many bytes tell whether a file or an output is text.
pub(crate) const SNIFF: usize = 8 * 1024;

const HEADER: &str = "[binary:base64]";
const TRUNCATED: &str = "[truncated]";

/// Judged by its first bytes. A character cut in two by their end does not make it binary.
pub(crate) fn is_binary(bytes: &[u8], is_all: bool) -> bool {
    let head = &bytes[..bytes.len().min(SNIFF)];
    let is_all = is_all && head.len() == bytes.len();
    if memchr::memchr(0, head).is_some() {
        return true;
    }
    match std::str::from_utf8(head) {
        Ok(_) => false,
        Err(error) => is_all || error.error_len().is_some(),
    }
}

/// A header, a line break and base64, together at most `room`, and whether something is missing.
pub(crate) fn base64_within(bytes: &[u8], more: bool, room: usize) -> Option<(String, bool)> {
    let fits = room.checked_sub(HEADER.len() + TRUNCATED.len() + 1)? / 4 * 3;
    if fits == 0 {
        return None;
    }
    let truncated = more || bytes.len() > fits;
    let mark = if truncated { TRUNCATED } else { "" };
    let encoded = STANDARD.encode(&bytes[..bytes.len().min(fits)]);
    Some((format!("{HEADER}{mark}\n{encoded}"), truncated))
}
