//! Ctrl-C and its like, remembered until somebody has taken note.

use jm_engine::Canceller;
use tokio::sync::watch;

/// One that comes while nobody waits is not lost: whoever waits next is told at once.
pub(crate) struct Interrupts(watch::Receiver<()>);

impl Interrupts {
    /// Listens from here on. The first signal stops what is under way in an orderly way. Must be
    /// called inside the runtime.
    pub(crate) fn listen(canceller: &Canceller) -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let (sender, receiver) = watch::channel(());
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        for mut signals in kinds.into_iter().filter_map(|kind| signal(kind).ok()) {
            let (canceller, sender) = (canceller.clone(), sender.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    canceller.cancel();
                    sender.send_replace(());
                }
            });
        }
        Self(receiver)
    }

    /// In a `select!` it comes first and `biased`, else an answer that is ready may win over it.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Forgets past interrupts: from here on only new ones count.
    pub(crate) fn forget(&mut self) {
        self.0.mark_unchanged();
    }
}
