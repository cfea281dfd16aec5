//! When to ask again, and how long to wait before.
//!
//! Law: a request is sent again only while nothing of its answer was shown.

use std::time::Duration;

use jm_types::{StreamError, StreamEvent};

/// The attempts of a request that failed in a way that may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The wait after the first failure; it doubles each time.
    pub first: Duration,
    /// The longest wait. A vendor that demands more is not waited for.
    pub longest: Duration,
    /// Spreads the waits of many clients. Nothing keeps them exact.
    pub seed: Option<u64>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
            seed: None,
        }
    }
}

impl Retry {
    /// How long to wait after this many attempts have failed; nothing means to give up.
    pub(crate) fn wait(&self, failed: u32, error: &StreamError) -> Option<Duration> {
        if failed >= self.attempts || !error.kind.is_retryable() {
            return None;
        }
        match error.kind.retry_after() {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked),
            None => Some(self.backoff(failed)),
        }
    }

    fn backoff(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1).min(16);
        let wait = self.first.saturating_mul(1 << doublings).min(self.longest);
        match self.seed {
            None => wait,
            Some(seed) => wait.mul_f64(0.5 + 0.5 * fraction(seed.wrapping_add(u64::from(failed)))),
        }
    }
}

/// True once a person has seen something of the answer.
pub(crate) fn shows(event: &StreamEvent) -> bool {
    match event {
        StreamEvent::Usage(_) | StreamEvent::Retrying { .. } => false,
        StreamEvent::Text { .. }
        | StreamEvent::Thinking { .. }
        | StreamEvent::CallStarted { .. }
        | StreamEvent::CallArguments { .. }
        | StreamEvent::CallSealed { .. }
        | StreamEvent::PartSealed { .. }
        | StreamEvent::Stop { .. } => true,
    }
}

/// A number between 0 and 1 that looks random (SplitMix64).
fn fraction(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use jm_types::StreamErrorKind;

    #[test]
    fn waits_double_and_the_vendors_word_counts() {
        let retry = Retry { attempts: 4, ..Retry::default() };
        let server = StreamError::new(StreamErrorKind::Server, "");
        let waits: Vec<_> = (1..=4).map(|failed| retry.wait(failed, &server)).collect();
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(waits, vec![ms(500), ms(1000), ms(2000), None]);
        let after = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds));
            retry.wait(1, &StreamError::new(StreamErrorKind::RateLimited { retry_after }, ""))
        };
        assert_eq!(after(7), Some(Duration::from_secs(7)));
        assert_eq!(after(61), None);
        assert_eq!(retry.wait(1, &StreamError::new(StreamErrorKind::BadRequest, "")), None);
    }

    #[test]
    fn spread_waits_stay_within_bounds_and_repeat_with_their_seed() {
        let retry = |seed| Retry { seed: Some(seed), ..Retry::default() };
        let full = Retry::default().backoff(3);
        for seed in 0..1000 {
            let wait = retry(seed).backoff(3);
            assert!(wait >= full / 2 && wait <= full, "{wait:?}");
            assert_eq!(wait, retry(seed).backoff(3));
        }
        assert_ne!(retry(1).backoff(3), retry(2).backoff(3));
    }
}
