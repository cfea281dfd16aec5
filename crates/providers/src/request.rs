//! The request to a model, in a form that every vendor's adapter understands.

use std::collections::BTreeMap;

use jm_types::Messages;
use serde::{Deserialize, Serialize};

use crate::cache_retention::CacheRetention;
use crate::tools::OfferedTools;

/// One request. The adapters pair calls with results; callers need not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// Instructions of the program and the project.
    pub system: String,
    /// The conversation so far.
    pub messages: Messages,
    /// Definitions of the tools that the model may call.
    pub tools: OfferedTools,
    /// Wishes that hold for every vendor.
    pub parameters: Parameters,
    /// Values for one provider (`anthropic`, `openai`, …), which win over `parameters` (FL-PARAM).
    pub specific: BTreeMap<String, Parameters>,
    /// Names the conversation to vendors that route by it for the sake of their prompt caches.
    pub conversation: Option<String>,
}

/// How the model should answer. Nothing means the model's own default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Tokens of the answer.
    pub max_tokens: Option<u32>,
    /// Randomness in the vendor's scale.
    pub temperature: Option<f64>,
    /// The effort in words that every vendor's values are made from.
    pub thinking: Option<Thinking>,
    /// The time that the prompt stays in the vendor's cache.
    pub cache_retention: Option<CacheRetention>,
    /// Tokens to think with, for vendors that count them; wins over `thinking`.
    pub thinking_budget: Option<u32>,
    /// The vendor's own word for the effort; wins over `thinking`.
    pub reasoning: Option<String>,
}

/// How hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// No thinking, as far as the model can go without.
    Off,
    /// The least that the vendor offers.
    Minimal,
    /// A small budget.
    Low,
    /// The vendor's middle.
    Medium,
    /// A large budget.
    High,
    /// The most that the vendor offers.
    Max,
}

impl ModelRequest {
    /// The parameters as this provider should see them.
    pub fn parameters_for(&self, provider: &str) -> Parameters {
        // One vendor, whichever way it is asked.
        let vendor = if provider == "openai-chat" { "openai" } else { provider };
        match self.specific.get(vendor) {
            Some(specific) => specific.clone().or(&self.parameters),
            None => self.parameters.clone(),
        }
    }
}

impl Parameters {
    /// These values, and the general ones where there are none.
    pub(crate) fn or(self, general: &Parameters) -> Parameters {
        // A specific level must not lose against a general budget or word, which say the same
        // thing more precisely.
        let says_thinking =
            self.thinking.is_some() || self.thinking_budget.is_some() || self.reasoning.is_some();
        let (thinking, thinking_budget, reasoning) = match says_thinking {
            true => (self.thinking, self.thinking_budget, self.reasoning),
            false => (general.thinking, general.thinking_budget, general.reasoning.clone()),
        };
        Parameters {
            max_tokens: self.max_tokens.or(general.max_tokens),
            temperature: self.temperature.or(general.temperature),
            cache_retention: self.cache_retention.or(general.cache_retention),
            thinking,
            thinking_budget,
            reasoning,
        }
    }
}

impl Thinking {
    /// A budget in tokens for vendors that want one.
    pub fn budget(self) -> Option<u32> {
        match self {
            Thinking::Off => None,
            Thinking::Minimal => Some(1024),
            Thinking::Low => Some(4096),
            Thinking::Medium => Some(8192),
            Thinking::High => Some(16_384),
            Thinking::Max => Some(32_768),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FL-PARAM: provider-specific values win.
    #[test]
    fn specific_parameters_win() {
        let general = Parameters {
            thinking: Some(Thinking::Low),
            max_tokens: Some(8000),
            temperature: Some(0.3),
            cache_retention: Some(CacheRetention::Long),
            ..Parameters::default()
        };
        let specific = Parameters { thinking_budget: Some(20_000), ..Parameters::default() };
        let request = ModelRequest {
            parameters: general.clone(),
            specific: BTreeMap::from([("anthropic".to_owned(), specific)]),
            ..ModelRequest::default()
        };
        let expected =
            Parameters { thinking: None, thinking_budget: Some(20_000), ..general.clone() };
        assert_eq!(request.parameters_for("anthropic"), expected);
        assert_eq!(request.parameters_for("openai"), general);
    }
}
