//! Work for commands before they run, on threads of its own: the trial of layers, launchers and layers that wait.
//!
//! Law: it only saves time. Whoever needs the outcome and finds it missing does the work itself. What makes the next
//! command start sooner begins when the result of the one before is on record, and a little later: a program that ends
//! now shall not have to wait for it.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jm_tools::ToolEffect;
use jm_types::{ToolCall, ToolsMode};

use crate::batch::{Batch, CallEntry, CallStatus};
use crate::core::Core;
use crate::hold;
use crate::layers::LayerUse;

/// Longer than a program takes to end, shorter than a model takes to answer.
const A_WHILE: Duration = Duration::from_millis(10);

/// The model has begun to call a tool, after earlier calls of the same message: while the arguments come, the command's
/// launcher is made, for each one where they run side by side.
pub(crate) fn command_begins<'a>(
    core: &Arc<Core>,
    tool: &str,
    earlier: impl Iterator<Item = &'a ToolCall>,
) {
    if !is_command(core, tool) {
        return;
    }
    let earlier = earlier.filter(|call| is_command(core, &call.name)).count();
    if earlier == 0 || core.layers.runs_side_by_side() {
        begin(core, move |core| start_launchers(core, earlier + 1));
    }
}

/// A message is whole: nobody waits any longer, and several of its commands at once have a launcher each.
pub(crate) fn calls_came<'a>(core: &Arc<Core>, calls: impl Iterator<Item = &'a ToolCall>) {
    let count = calls.filter(|call| is_command(core, &call.name)).count();
    if count == 0 {
        return;
    }
    {
        let mut ahead = core.layers.ahead();
        ahead.is_in_a_row = ahead.ended.is_some_and(|ended| ended.elapsed() < A_WHILE);
        ahead.hurry();
    }
    if count > 1 && core.layers.runs_side_by_side() {
        begin(core, move |core| start_launchers(core, count));
    }
}

/// Tells whether a tool starts commands on layers. Tools that others bring are not asked.
fn is_command(core: &Core, tool: &str) -> bool {
    let effect = core.registry.built_in(tool).map(|tool| tool.spec().effect);
    effect == Some(ToolEffect::Runs)
        && core.mode == ToolsMode::Enabled
        && core.layers.wanted() != LayerUse::Off
        && core.policy.now().stop(tool).is_none()
}

fn start_launchers(core: &Core, count: usize) {
    if hold::works(core).is_err() {
        return;
    }
    let workspace = &core.workspace;
    let environment = workspace.environment.sanitize(std::env::vars_os());
    if let Some(layers) = core.layers.place() {
        let directory = layers.directory();
        workspace.confiner.expect(&workspace.sandbox, &environment, directory, count);
    }
}

fn begin(core: &Arc<Core>, work: impl FnOnce(&Core) + Send + 'static) {
    let started = spawn(core, work);
    let mut ahead = core.layers.ahead();
    ahead.working.retain(|thread| !thread.is_finished());
    ahead.working.extend(started);
}

/// A call has its result: prepares the next command, at once where others follow in its message or commands come
/// without a pause, otherwise after a while.
pub(crate) fn call_ended(core: &Arc<Core>, batch: &Batch) {
    let is_next = |entry: &CallEntry| matches!(entry.status, CallStatus::Approved { .. });
    let others_follow = batch.entries.iter().any(is_next);
    let mut ahead = core.layers.ahead();
    ahead.ended = Some(Instant::now());
    ahead.resting.take_if(|thread| thread.is_finished());
    let is_due = core.workspace.confiner.expects_more() || core.layers.has_returned();
    if is_due && ahead.resting.is_none() && !ahead.is_closing {
        let rest = if others_follow || ahead.is_in_a_row { Duration::ZERO } else { A_WHILE };
        ahead.resting = spawn(core, move |core| prepare_next(core, rest));
    }
}

/// Rests, or waits until a command comes, and prepares what that one needs.
fn prepare_next(core: &Core, rest: Duration) {
    std::thread::park_timeout(rest);
    if !core.layers.ahead().is_closing {
        core.workspace.confiner.prepare_next();
        core.layers.prepare_spare();
    }
}

/// `None` where no thread is to be had, and then nothing is done ahead.
fn spawn(core: &Arc<Core>, work: impl FnOnce(&Core) + Send + 'static) -> Option<JoinHandle<()>> {
    let own = Arc::clone(core);
    let thread = std::thread::Builder::new().name("jm-ahead".to_owned());
    thread.spawn(move || work(&own)).ok()
}

/// Waits for what was begun, and begins nothing more.
pub(crate) fn close(core: &Core) {
    let threads = core.layers.ahead().close();
    // One that panicked has done nothing for anybody.
    threads.for_each(|thread| drop(thread.join()));
}
