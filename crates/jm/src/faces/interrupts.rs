//! Ctrl-C and its like, remembered until somebody has taken note.

use jm_engine::Canceller;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// The signals that end a program: SIGINT, SIGTERM and SIGHUP.
pub(crate) struct StopSignals([Option<Signal>; 3]);

impl StopSignals {
    /// Listens from here on. Must be called inside the runtime.
    pub(crate) fn listen() -> Self {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Self(kinds.map(|kind| signal(kind).ok()))
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
            () = received(hangup) => {}
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => signal.recv().await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

/// One that comes while nobody waits is not lost: whoever waits next is told at once.
pub(crate) struct Interrupts {
    receiver: watch::Receiver<()>,
    interrupter: Interrupter,
}

/// Interrupts like a signal would.
#[derive(Clone)]
pub(crate) struct Interrupter {
    canceller: Canceller,
    sender: watch::Sender<()>,
}

impl Interrupter {
    pub(crate) fn interrupt(&self) {
        self.canceller.cancel();
        self.sender.send_replace(());
    }
}

impl Interrupts {
    /// Listens from here on. The first signal stops what is under way in an orderly way. Must be
    /// called inside the runtime.
    pub(crate) fn listen(canceller: &Canceller) -> Self {
        let (sender, receiver) = watch::channel(());
        let interrupter = Interrupter { canceller: canceller.clone(), sender };
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        for mut signals in kinds.into_iter().filter_map(|kind| signal(kind).ok()) {
            let interrupter = interrupter.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    interrupter.interrupt();
                }
            });
        }
        Self { receiver, interrupter }
    }

    pub(crate) fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// In a `select!` it comes first and `biased`, else an answer that is ready may win over it.
    pub(crate) async fn next(&mut self) {
        if self.receiver.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Forgets past interrupts: from here on only new ones count.
    pub(crate) fn forget(&mut self) {
        self.receiver.mark_unchanged();
    }
}
