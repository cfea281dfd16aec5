//! Keeping what a call said beyond what the model is given (FR-OUT-04).
//!
//! Law: no call fails because its output cannot be kept, and what is not kept is not promised. What
//! a command prints is on disk while it runs, so a crash does not lose it.

use std::sync::{Arc, Mutex, PoisonError};

use jm_process::output_reader::CommandStream;
use jm_process::remaining_processes;
use jm_process::remaining_processes::Survivor;
use jm_process::spool::{SpoolPart, Spooled};
use jm_store::{Incoming, OutputStream, StoredOutput, StoredPart, StoredStream};
use jm_system::fault::crash_point;
use jm_system::stream_hash::hash_reader;
use jm_system::worker::off_thread;
use jm_tools::Whole;
use jm_types::CallKey;
use jm_types::Digest;

use crate::core::Core;
use crate::record::CallRecorder;

impl CallRecorder {
    pub(crate) fn spool(&self, call: &CallKey) -> Option<Whole> {
        let outputs = self.outputs.as_ref().filter(|_| self.journal().is_some())?;
        Some(Arc::new(Mutex::new(outputs.spools.begin(call, outputs.each))))
    }

    /// The output that a call had printed when its program was killed.
    pub(crate) fn printed(&self, call: &CallKey) -> Vec<Spooled> {
        let found = self.outputs.as_ref().map(|outputs| outputs.spools.find(call));
        found.and_then(Result::ok).unwrap_or_default()
    }

    /// The processes of a call's command that still run.
    pub(crate) fn survivors(&self, call: &CallKey) -> Vec<Survivor> {
        let leader = self.outputs.as_ref().and_then(|outputs| outputs.spools.leader(call));
        leader.map(|leader| remaining_processes::lasting_survivors(&leader)).unwrap_or_default()
    }

    pub(crate) fn forget_spool(&self, call: &CallKey) {
        if let Some(outputs) = &self.outputs {
            // One that stays is taken away by `jm gc`.
            outputs.spools.remove(call).unwrap_or_default();
        }
    }

    /// Takes over what was printed.
    pub(crate) fn keep_spooled(&self, call: &CallKey, spooled: &[Spooled]) -> Option<StoredOutput> {
        if spooled.is_empty() {
            return None;
        }
        let streams: Vec<StoredStream> =
            spooled.iter().map(describe).collect::<std::io::Result<_>>().ok()?;
        let stored = streams.iter().flat_map(|stream| &stream.parts);
        let parts = spooled.iter().flat_map(|spooled| &spooled.parts);
        let incoming = stored.zip(parts).map(|(stored, part)| {
            Ok(Incoming { sha256: stored.sha256, content: Box::new(part.open()?) })
        });
        self.keep(call, incoming.collect::<std::io::Result<_>>().ok()?)?;
        Some(StoredOutput { streams })
    }

    /// Keeps the result of a tool as it was before it was cut.
    pub(crate) fn keep_text(&self, call: &CallKey, text: &str) -> Option<StoredOutput> {
        let most = usize::try_from(self.outputs.as_ref()?.each).unwrap_or(usize::MAX);
        let kept = &text.as_bytes()[..text.len().min(most)];
        if kept.is_empty() {
            return None;
        }
        let sha256 = Digest::of(kept);
        self.keep(call, vec![Incoming { sha256, content: Box::new(kept) }])?;
        let part = StoredPart { start: 0, size: kept.len() as u64, sha256 };
        let (stream, total) = (OutputStream::Content, text.len() as u64);
        Some(StoredOutput { streams: vec![StoredStream { stream, total, parts: vec![part] }] })
    }

    fn keep(&self, call: &CallKey, parts: Vec<Incoming<'_>>) -> Option<()> {
        crash_point("output.before");
        self.journal()?.keep_output(call, parts, self.outputs.as_ref()?.all).ok()?;
        crash_point("output.after");
        Some(())
    }
}

/// Takes time for a long output, so it is done beside everything else.
pub(crate) async fn keep(
    core: &Arc<Core>,
    call: &CallKey,
    whole: Option<Whole>,
    uncut: Option<String>,
) -> Option<StoredOutput> {
    let (core, call) = (Arc::clone(core), call.to_owned());
    let spooled = whole.map(|whole| {
        let mut spool = whole.lock().unwrap_or_else(PoisonError::into_inner);
        spool.seal().unwrap_or_default()
    });
    let spooled = spooled.unwrap_or_default();
    if spooled.is_empty() && uncut.is_none() {
        return None;
    }
    let kept = off_thread(move || match uncut {
        Some(text) if spooled.is_empty() => core.recorder.keep_text(&call, &text),
        _ => core.recorder.keep_spooled(&call, &spooled),
    });
    kept.await.ok().flatten()
}

fn describe(spooled: &Spooled) -> std::io::Result<StoredStream> {
    let stream = match spooled.stream {
        CommandStream::Stdout => OutputStream::Stdout,
        CommandStream::Stderr => OutputStream::Stderr,
    };
    let part = |part: &SpoolPart| {
        Ok(StoredPart { start: part.start, size: part.size, sha256: digest(part)? })
    };
    let parts = spooled.parts.iter().map(part).collect::<std::io::Result<_>>()?;
    Ok(StoredStream { stream, total: spooled.total, parts })
}

fn digest(part: &SpoolPart) -> std::io::Result<Digest> {
    hash_reader(part.open()?)
}
