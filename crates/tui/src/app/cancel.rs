//! Stopping the turn.

use super::panels;
use super::state::App;
use crate::msg::Effect;

/// Asks the engine to stop, and takes back what waits for an answer.
pub(super) fn stop(app: &mut App, out: &mut Vec<Effect>) {
    if let Some(turn) = &mut app.turn {
        turn.is_stopping = true;
        out.push(Effect::Stop);
    }
    panels::withdrawn(app);
}
