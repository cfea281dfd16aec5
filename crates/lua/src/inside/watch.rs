//! Limits of time: a hook that the interpreter runs every few thousand instructions.
//!
//! Law: a script that is over its time gets an error. One that catches it gets it again; one that is
//! inside a C function does not get it at all. Both are ended by the program, from outside.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{HookTriggers, Lua, VmState};

use super::link::Link;
use crate::protocol::{Failure, MessageId};

const INSTRUCTIONS: u32 = 10_000;
/// How often a running script looks for a request to stop it.
const LISTENS_EVERY: Duration = Duration::from_millis(2);
/// For whoever handles the error.
const GRACE: Duration = Duration::from_millis(20);

const TIMED_OUT: &str = "timed out";
const CANCELLED: &str = "cancelled";

/// The time of what runs now.
#[derive(Debug)]
pub(super) struct Watch {
    deadline: Cell<Instant>,
    call: Cell<Option<MessageId>>,
    stopped: Cell<Option<Stop>>,
    listened: Cell<Instant>,
}

/// Why a script was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    TimedOut,
    Cancelled,
}

impl Stop {
    pub(super) fn failure(self) -> Failure {
        match self {
            Stop::TimedOut => Failure::TimedOut,
            Stop::Cancelled => Failure::Cancelled,
        }
    }
}

impl Watch {
    pub(super) fn new() -> Rc<Self> {
        let now = Instant::now();
        Rc::new(Self {
            deadline: Cell::new(now),
            call: Cell::new(None),
            stopped: Cell::new(None),
            listened: Cell::new(now),
        })
    }

    /// Begins a piece of work, for a call or for none.
    pub(super) fn begin(&self, call: Option<MessageId>, deadline: Instant) {
        self.call.set(call);
        self.deadline.set(deadline);
        self.stopped.set(None);
    }

    /// Why the work that began last was stopped, if it was.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.stopped.get()
    }

    /// The same, where that work was for this call.
    pub(super) fn stopped_call(&self, call: MessageId) -> Option<Stop> {
        self.stopped.get().filter(|_| self.call.get() == Some(call))
    }

    pub(super) fn install(
        self: &Rc<Self>,
        lua: &Lua,
        link: &Rc<RefCell<Link>>,
    ) -> mlua::Result<()> {
        let (watch, link) = (Rc::clone(self), Rc::clone(link));
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS);
        lua.set_global_hook(triggers, move |_, _| match watch.look(&link) {
            None => Ok(VmState::Continue),
            Some(Stop::TimedOut) => Err(mlua::Error::runtime(TIMED_OUT)),
            Some(Stop::Cancelled) => Err(mlua::Error::runtime(CANCELLED)),
        })
    }

    fn look(&self, link: &RefCell<Link>) -> Option<Stop> {
        let now = Instant::now();
        if now >= self.deadline.get() {
            let stop = self.stopped.get().unwrap_or(Stop::TimedOut);
            self.stopped.set(Some(stop));
            self.deadline.set(now + GRACE);
            return Some(stop);
        }
        let call = self.call.get()?;
        if self.stopped.get().is_some() || now.duration_since(self.listened.get()) < LISTENS_EVERY {
            return None;
        }
        self.listened.set(now);
        let mut link = link.try_borrow_mut().ok()?;
        // An error of the socket ends the loop when it reads next.
        link.hear(Some(Duration::ZERO)).unwrap_or_default();
        if !link.is_cancelled(call) {
            return None;
        }
        self.stopped.set(Some(Stop::Cancelled));
        self.deadline.set(now + GRACE);
        Some(Stop::Cancelled)
    }
}
