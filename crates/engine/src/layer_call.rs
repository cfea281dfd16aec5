//! Keeping by hand: a layer that was set aside becomes a call of our own in the journal, with one change.

use jm_store::{CallRecord, CallView, Record};
use jm_system::fault::crash_point;
use jm_types::text::one_line::{SUMMARY_CHARACTERS, summarize};
use jm_types::{ToolError, Verdict};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::held::{KeepFault, KeptNames, keep_names};
use crate::own_call::{KEEP, is_keep, record_result};
use crate::record::done_unrecorded;
use crate::session::Session;

/// The arguments of the call under which a keeping by hand stands in the journal.
#[derive(Debug, Serialize, Deserialize)]
struct KeepArguments {
    layer: String,
    command: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
}

/// The held layer that a call keeps by hand; `None` for any other call.
pub fn layer_kept_by(call: &CallView) -> Option<String> {
    if !is_keep(call) {
        return None;
    }
    serde_json::from_str::<KeepArguments>(&call.call.arguments).ok().map(|known| known.layer)
}

impl Engine {
    /// Keeps a layer that was set aside, or the named files of it, as a change of its own.
    pub fn keep_held(
        &self,
        session: &mut Session,
        id: &str,
        paths: &[String],
    ) -> Result<KeptNames, ToolError> {
        let core = self.core_arc();
        let unknown = |error: std::io::Error| ToolError::failed(KEEP, error.to_string());
        let place = core.layers.place().ok_or_else(|| ToolError::failed(KEEP, "no layers here"))?;
        let command = place.held().take(id).map_err(unknown)?.description().command.clone();
        let (batch, call) = session.begin_own();
        let summary = summarize(&format!("Keep: {}", command.join(" ")), SUMMARY_CHARACTERS).text;
        let (layer, paths) = (id.to_owned(), paths.to_vec());
        let wanted = (!paths.is_empty()).then(|| paths.clone());
        let arguments = serde_json::json!(KeepArguments { layer, command, paths }).to_string();
        let (own, name) = (call.clone(), KEEP.to_owned());
        let opened = CallRecord { call: own.clone(), id: String::new(), name, arguments };
        let (verdict, rule) = (Verdict::Allow, String::new());
        let planned = Record::Planned { call: own, verdict, rule, summary, risk: None };
        // Before the layer is touched, so that whatever is left of it is found.
        let calls = vec![opened];
        core.recorder.records(vec![Record::BatchOpened { batch, calls }, planned])?;
        let done = keep_names(&core, &call, id, wanted.as_deref()).map_err(KeepFault::into_error);
        let outcome = done.as_ref().map(|_| "kept".to_owned());
        let recorded = record_result(&core, (batch, call), KEEP, outcome);
        crash_point("held.finished");
        let kept = done?;
        recorded.map(|()| kept).map_err(|error| done_unrecorded(KEEP, error))
    }
}

impl KeepFault {
    fn into_error(self) -> ToolError {
        match self {
            KeepFault::Choice(error) => {
                ToolError::failed(KEEP, error.to_string()).hint("`jm held diff` shows the changes")
            }
            KeepFault::NotKept(not_kept) => not_kept.failure("the command ended", String::new()),
        }
    }
}
