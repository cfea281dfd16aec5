//! The way to the screen: whoever sends never waits, and keys pass everything else.
//!
//! Law: what waits is bounded. Words are joined, and of a command's output that the screen has not
//! seen yet only the end is kept, because no more of it would be drawn.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::key::Input;
use crate::msg::Msg;

/// Of output that nobody has looked at yet.
const MOST_OUTPUT: usize = 256 * 1024;

/// Messages for the screen from every thread, input first.
#[derive(Debug, Default)]
pub struct Mailbox {
    queues: Mutex<Queues>,
    arrival: Condvar,
}

#[derive(Debug, Default)]
struct Queues {
    inputs: VecDeque<Input>,
    work: VecDeque<Msg>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a key or paste in, from the reader's thread.
    pub fn input(&self, input: Input) {
        self.lock().inputs.push_back(input);
        self.arrival.notify_one();
    }

    /// Puts a message in; output chunks are joined when many wait.
    pub fn send(&self, msg: Msg) {
        let mut queues = self.lock();
        match (queues.work.back_mut(), msg) {
            (Some(Msg::Text(text)), Msg::Text(more)) => text.push_str(&more),
            (Some(Msg::Thinking(text)), Msg::Thinking(more)) => text.push_str(&more),
            (Some(Msg::Tick), Msg::Tick) => {}
            (Some(Msg::Output { id, chunk }), Msg::Output { id: of, chunk: more }) if *id == of => {
                chunk.push_str(&more);
                if chunk.len() > 2 * MOST_OUTPUT {
                    let mut from = chunk.len() - MOST_OUTPUT;
                    while !chunk.is_char_boundary(from) {
                        from += 1;
                    }
                    chunk.drain(..from);
                }
            }
            (_, msg) => queues.work.push_back(msg),
        }
        drop(queues);
        self.arrival.notify_one();
    }

    /// Everything that has come, keys first; waits for it, so long at most.
    pub fn receive(&self, patience: Option<Duration>) -> Vec<Msg> {
        let is_empty = |queues: &mut Queues| queues.inputs.is_empty() && queues.work.is_empty();
        let queues = self.lock();
        let mut queues = match patience {
            Some(patience) => {
                let waited = self.arrival.wait_timeout_while(queues, patience, is_empty);
                waited.map(|(queues, _)| queues).unwrap_or_else(|gone| gone.into_inner().0)
            }
            None => {
                let waited = self.arrival.wait_while(queues, is_empty);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        let mut all: Vec<Msg> = queues.inputs.drain(..).map(Msg::Input).collect();
        all.extend(queues.work.drain(..));
        all
    }

    /// Tells if input waits, so that drawing can wait for it.
    pub fn has_input(&self) -> bool {
        !self.lock().inputs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn keys_come_first_and_a_flood_is_bounded() {
        let mailbox = Mailbox::default();
        for _ in 0..2_000 {
            mailbox.send(Msg::Output { id: "c".into(), chunk: "é".repeat(5_000) });
        }
        mailbox.send(Msg::Text("a".into()));
        mailbox.send(Msg::Text("b".into()));
        mailbox.input(Input::Key(Key::Enter));
        let all = mailbox.receive(None);
        assert!(matches!(&all[0], Msg::Input(Input::Key(Key::Enter))));
        assert!(matches!(&all[1], Msg::Output { chunk, .. } if chunk.len() <= 2 * MOST_OUTPUT));
        assert!(matches!(&all[2], Msg::Text(text) if text == "ab"));
        assert_eq!(all.len(), 3);
        assert!(mailbox.receive(Some(Duration::from_millis(1))).is_empty());
    }
}
