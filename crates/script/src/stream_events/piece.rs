//! The pieces of an answer, before anything goes wrong with them.

/// An event of the stream (server-sent events), or a pause between two.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StreamPiece {
    Event {
        name: &'static str,
        data: String,
    },
    /// The same event many times over, made one by one.
    Repeat {
        name: &'static str,
        data: String,
        times: u64,
    },
    Pause {
        ms: u64,
    },
}

/// The id of a call that the script gives none.
pub(crate) fn call_id(given: Option<&String>, turn: usize, place: usize) -> String {
    given.cloned().unwrap_or_else(|| format!("call_{turn}_{place}"))
}

/// A text in the pieces in which it would come.
pub(crate) fn fragments(text: &str) -> Vec<String> {
    const LENGTH: usize = 24;
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(LENGTH).map(|piece| piece.iter().collect()).collect()
}
