//! The screen's side of the machine: the guard, the editor, job control, and a way to the engine.

use jm_system::console;
use jm_system::console::TerminalGuard;
use jm_tui::msg::Effect;
use tokio::sync::mpsc::UnboundedSender;

pub(super) struct Host {
    orders: UnboundedSender<Effect>,
    guard: Option<TerminalGuard>,
}

impl Host {
    pub(super) fn new(orders: UnboundedSender<Effect>) -> Self {
        // Without a guard a kill leaves the terminal as it is, which `reset` mends.
        Self { orders, guard: TerminalGuard::start().ok() }
    }
}

impl jm_tui::runner::ScreenHost for Host {
    fn effect(&mut self, effect: Effect) {
        // Whoever does not listen any more is on the way out.
        self.orders.send(effect).unwrap_or_default();
    }

    fn rescue(&mut self, sequence: &str) {
        let told = self.guard.as_mut().map(|guard| guard.set(sequence));
        told.transpose().map(drop).unwrap_or_default();
    }

    fn edit(&mut self, text: &str) -> Option<String> {
        console::edit(text).ok().flatten()
    }

    fn suspend(&mut self) {
        console::suspend();
    }
}
