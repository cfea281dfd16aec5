//! Bytes that are no text, and how they are shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The number of first bytes by which a file or an output is judged to be text.
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

/// A header, a line break and base64, together at most `room`, and whether something is missing. Only
/// what is cut needs room for the mark.
pub(crate) fn base64_within(bytes: &[u8], more: bool, room: usize) -> Option<(String, bool)> {
    let form = |bytes: &[u8], mark: &str| format!("{HEADER}{mark}\n{}", STANDARD.encode(bytes));
    if !more && HEADER.len() + 1 + bytes.len().div_ceil(3) * 4 <= room {
        return Some((form(bytes, ""), false));
    }
    let fits = room.checked_sub(HEADER.len() + TRUNCATED.len() + 1)? / 4 * 3;
    (fits > 0).then(|| (form(&bytes[..bytes.len().min(fits)], TRUNCATED), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FR-TOOL-READ-01: an answer that fits is whole, at every limit.
    #[test]
    fn base64_that_fits_is_neither_cut_nor_refused() {
        for length in 1..60 {
            let bytes = vec![0xff; length];
            let whole = base64_within(&bytes, false, usize::MAX).unwrap().0;
            for room in 0..whole.len() + 20 {
                let made = base64_within(&bytes, false, room);
                let Some((text, truncated)) = made else {
                    assert!(room < whole.len() && room < 31, "{length} in {room}");
                    continue;
                };
                assert!(text.len() <= room, "{length} in {room}");
                assert_eq!(truncated, room < whole.len(), "{length} in {room}");
            }
        }
        assert!(base64_within(b"\0", true, 40).unwrap().1);
    }
}
