//! Pastes by terminals that do not bracket them: keys that come faster than anybody types.
//!
//! Law: an Enter inside such a burst is a line break, never a submission or an answer.

/// So many keys within so many milliseconds are no typing.
const KEYS: usize = 3;
const WITHIN: u64 = 8;
/// A burst goes on until so long nothing came.
const PAUSE: u64 = 30;

/// Keys that come faster than a person types, which count as a paste.
#[derive(Debug, Default)]
pub struct Burst {
    /// Times of the last keys, oldest first.
    last: Vec<u64>,
    is_burst: bool,
}

impl Burst {
    /// Hears of a key; whether it belongs to a burst.
    pub fn key(&mut self, now: u64) -> bool {
        if self.last.last().is_none_or(|last| now.saturating_sub(*last) > PAUSE) {
            self.is_burst = false;
            self.last.clear();
        }
        self.last.push(now);
        if self.last.len() > KEYS {
            self.last.remove(0);
        }
        let first = self.last.first().copied().unwrap_or(now);
        if self.last.len() == KEYS && now.saturating_sub(first) <= WITHIN {
            self.is_burst = true;
        }
        self.is_burst
    }

    /// A bracketed paste has ended: what follows is typed.
    pub fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_is_no_burst_and_a_paste_is_one() {
        let mut burst = Burst::default();
        assert!([0, 80, 160, 170, 240].iter().all(|at| !burst.key(*at)));
        let pasted: Vec<bool> = [300, 301, 302, 303, 320].iter().map(|at| burst.key(*at)).collect();
        assert_eq!(pasted, [false, false, true, true, true]);
        assert!(!burst.key(400));
    }
}
