//! The context of a call, made from the engine's parts and the session's state.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use jm_files::{CommitLog, NoLog};
use jm_tools::CallContext;
use jm_types::{CallKey, Cancel};

use crate::core::Core;
use crate::effects::EffectLog;
use crate::session_context::Asker;

/// The context of a look at a call, in which nothing is run.
pub(crate) fn for_look(core: &Core, asker: Asker, tool: &str) -> CallContext {
    let deadline = Instant::now() + core.default_timeout;
    CallContext {
        freshness: asker.freshness,
        session_id: asker.session,
        tool_name: tool.to_owned(),
        output_limit: core.result_limit(),
        capacity: core.capacity(),
        ..CallContext::without_call(core.workspace.clone(), core.limits.clone(), deadline)
    }
}

/// The context in which a call runs; its deadline is set when the call itself begins.
pub(crate) fn for_run(
    core: &Arc<Core>,
    asker: Asker,
    (key, id, tool): (&CallKey, &str, &str),
    cancel: Cancel,
) -> CallContext {
    CallContext {
        whole: core.recorder.spool(key),
        effects: effect_log(core, key),
        cancel,
        output_tx: core.events.clone(),
        tool_call_id: id.to_owned(),
        call_key: key.clone(),
        ..for_look(core, asker, tool)
    }
}

fn effect_log(core: &Arc<Core>, key: &CallKey) -> Arc<Mutex<dyn CommitLog + Send>> {
    match core.recorder.journal() {
        None => Arc::new(Mutex::new(NoLog)),
        Some(_) => Arc::new(Mutex::new(EffectLog::new(core, key))),
    }
}
