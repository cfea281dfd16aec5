//! How much of the model's context a result may take (FR-REG-04b).

/// What is known of the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextEstimate {
    pub model_context_limit: usize,
    pub current_context_tokens: usize,
    pub response_reserve_tokens: usize,
    pub safety_margin_tokens: usize,
}

const BYTES_PER_TOKEN: usize = 4;

impl ContextEstimate {
    pub(crate) fn take(&mut self, bytes: usize) {
        self.current_context_tokens += bytes.div_ceil(BYTES_PER_TOKEN);
    }
}

/// In bytes; `fallback` where nothing is known.
pub fn available(estimate: Option<ContextEstimate>, fallback: usize) -> usize {
    let Some(estimate) = estimate else { return fallback };
    let tokens = estimate
        .model_context_limit
        .saturating_sub(estimate.current_context_tokens)
        .saturating_sub(estimate.response_reserve_tokens)
        .saturating_sub(estimate.safety_margin_tokens);
    tokens.saturating_mul(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FR-REG-04b
    #[test]
    fn capacity_is_what_is_left_and_never_negative() {
        let estimate = |limit, used| ContextEstimate {
            model_context_limit: limit,
            current_context_tokens: used,
            response_reserve_tokens: 100,
            safety_margin_tokens: 50,
        };
        assert_eq!(available(Some(estimate(1_000, 250)), 7), 600 * 4);
        assert_eq!(available(Some(estimate(1_000, 2_000)), 7), 0);
        assert_eq!(available(None, 65_536), 65_536);
        let mut estimate = estimate(1_000, 250);
        estimate.take(1_001);
        assert_eq!(available(Some(estimate), 7), 600 * 4 - 1_004);
    }
}
