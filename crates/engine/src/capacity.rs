//! The part of the model's context that a result may take (FR-REG-04b).
//!
//! Law: a result that is owed has room for a sentence, however full the context is. Vendors refuse an
//! error without words, and such a result would stay in the history.

/// An estimate of the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextEstimate {
    /// Tokens that fit, question and answer together.
    pub model_context_limit: usize,
    /// Tokens that the conversation takes now.
    pub current_context_tokens: usize,
    /// Tokens that are kept free for the next answer.
    pub response_reserve_tokens: usize,
    /// Tokens that make up for a wrong estimate.
    pub safety_margin_tokens: usize,
}

const BYTES_PER_TOKEN: usize = 4;

/// The least that a result may take. It is part of the capacity, so every limit that is derived from
/// the capacity has it.
pub const RESULT_RESERVE_BYTES: usize = 256;

impl ContextEstimate {
    pub(crate) fn take(&mut self, bytes: usize) {
        let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
        self.current_context_tokens = self.current_context_tokens.saturating_add(tokens);
    }
}

/// The capacity for one result in bytes; `fallback` where nothing is known of the context.
pub fn available(estimate: Option<ContextEstimate>, fallback: usize) -> usize {
    let Some(estimate) = estimate else { return fallback };
    let tokens = estimate
        .model_context_limit
        .saturating_sub(estimate.current_context_tokens)
        .saturating_sub(estimate.response_reserve_tokens)
        .saturating_sub(estimate.safety_margin_tokens);
    tokens.saturating_mul(BYTES_PER_TOKEN).max(RESULT_RESERVE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FR-REG-04b
    #[test]
    fn capacity_is_what_is_left_and_never_less_than_a_sentence() {
        let estimate = |limit, used| ContextEstimate {
            model_context_limit: limit,
            current_context_tokens: used,
            response_reserve_tokens: 100,
            safety_margin_tokens: 50,
        };
        assert_eq!(available(Some(estimate(1_000, 250)), 7), 600 * 4);
        for used in [786, 787, 850, 851, 2_000, usize::MAX] {
            assert_eq!(available(Some(estimate(1_000, used)), 7), RESULT_RESERVE_BYTES, "{used}");
        }
        assert_eq!(available(Some(estimate(1_000, 785)), 7), 65 * 4);
        assert_eq!(available(None, 65_536), 65_536);
        let mut estimate = estimate(1_000, 250);
        estimate.take(1_001);
        assert_eq!(available(Some(estimate), 7), 600 * 4 - 1_004);
    }
}
