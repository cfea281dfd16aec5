//! Turns: commands that ran side by side are kept in the order of their calls.
//!
//! Law: nothing is kept while another command of the message still runs, because it would see half of it; and a call
//! has its turn when every call before it is over, whatever became of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The turns of calls that run side by side.
#[derive(Debug)]
pub(crate) struct KeepTurns {
    stages: Mutex<Vec<TurnStage>>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TurnStage {
    /// It has not begun, and may be waiting for the thread of one that has.
    Waiting,
    Running,
    /// Its command has ended, and nothing of it was decided about.
    Ended,
    /// The call has its outcome.
    Over,
}

impl KeepTurns {
    /// One turn a call, in call order.
    pub(crate) fn of(calls: usize) -> Vec<KeepTurn> {
        let stages = Mutex::new(vec![TurnStage::Waiting; calls]);
        let turns = Arc::new(Self { stages, changed: Condvar::new() });
        (0..calls).map(|number| KeepTurn { turns: Arc::clone(&turns), number }).collect()
    }

    fn stages(&self) -> MutexGuard<'_, Vec<TurnStage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, number: usize, stage: TurnStage) {
        let mut stages = self.stages();
        stages[number] = stages[number].max(stage);
        self.changed.notify_all();
    }
}

/// The turn of one call.
#[derive(Debug, Clone)]
pub(crate) struct KeepTurn {
    turns: Arc<KeepTurns>,
    number: usize,
}

/// The end of a call's turn, however the call ends.
#[derive(Debug)]
pub(crate) struct TurnEnd(KeepTurn);

impl KeepTurn {
    /// The call begins; its turn is over when the value is dropped.
    pub(crate) fn begin(&self) -> TurnEnd {
        self.turns.enter(self.number, TurnStage::Running);
        TurnEnd(self.clone())
    }

    /// Waits until the call's ended command may be decided about; `false` where the call is over already.
    pub(crate) fn come(&self) -> bool {
        self.turns.enter(self.number, TurnStage::Ended);
        let is_early = |stages: &mut Vec<TurnStage>| {
            let runs = stages.contains(&TurnStage::Running);
            let begun = |stage: &TurnStage| *stage != TurnStage::Waiting;
            let before = stages[..self.number].iter().filter(|stage| begun(stage));
            runs || before.into_iter().any(|stage| *stage != TurnStage::Over)
        };
        let stages = self.turns.changed.wait_while(self.turns.stages(), is_early);
        let stages = stages.unwrap_or_else(PoisonError::into_inner);
        stages[self.number] != TurnStage::Over
    }
}

impl Drop for TurnEnd {
    fn drop(&mut self) {
        self.0.turns.enter(self.0.number, TurnStage::Over);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    /// Whichever command ends first, turns come in call order, and not before the last command has ended.
    #[test]
    fn turns_come_in_call_order_when_everything_has_ended() {
        let turns = KeepTurns::of(4);
        let ends: Vec<TurnEnd> = turns.iter().map(KeepTurn::begin).collect();
        let (tell, told) = channel();
        let mut ends = ends.into_iter();
        // The first call never has a command, and ends without one.
        let first = ends.next().unwrap();
        let mut threads = Vec::new();
        for (turn, end) in turns.into_iter().skip(1).zip(ends).rev() {
            let tell = tell.clone();
            threads.push(std::thread::spawn(move || {
                assert!(turn.come());
                tell.send(turn.number).unwrap();
                // Dropped after it was told.
                drop(end);
            }));
            assert!(told.recv_timeout(Duration::from_millis(20)).is_err());
        }
        drop(first);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1, 2, 3]);
    }

    /// A call that was given up has no turn any more, and nobody waits for it.
    #[test]
    fn a_call_that_is_over_has_no_turn() {
        let turns = KeepTurns::of(2);
        let (given_up, other) = (turns[0].begin(), turns[1].begin());
        drop(given_up);
        assert!(turns[1].come());
        assert!(!turns[0].come());
        drop(other);
    }
}
