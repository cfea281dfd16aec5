//! Parameter layers: a user's values for every model, for one provider, and for one run (FL-PARAM).

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Table, Value};

use crate::request::{ModelRequest, Parameters};

/// Values for every model, and beneath a provider's name for its models, which win.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterLayers {
    general: Parameters,
    specific: BTreeMap<String, Parameters>,
}

impl ParameterLayers {
    /// A table of parameters, and beneath it one for each provider that has its own.
    pub(crate) fn read(table: Table) -> Result<Self, toml::de::Error> {
        let (specific, general): (Table, Table) =
            table.into_iter().partition(|(_, value)| value.is_table());
        let read = |(provider, table)| Ok((provider, Parameters::deserialize(table)?));
        Ok(Self {
            general: Parameters::deserialize(Value::Table(general))?,
            specific: specific.into_iter().map(read).collect::<Result<_, _>>()?,
        })
    }

    /// These, and over all of them what is asked for now.
    #[must_use]
    pub fn beneath(&self, now: &Parameters) -> Self {
        let over = |below: &Parameters| now.clone().or(below);
        let pair = |(provider, below): (&String, &Parameters)| (provider.clone(), over(below));
        Self { general: over(&self.general), specific: self.specific.iter().map(pair).collect() }
    }

    /// The request with these parameters.
    #[must_use]
    pub fn in_request(&self, request: ModelRequest) -> ModelRequest {
        ModelRequest {
            parameters: self.general.clone(),
            specific: self.specific.clone(),
            ..request
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Thinking;

    fn read(text: &str) -> Result<ParameterLayers, toml::de::Error> {
        ParameterLayers::read(text.parse().unwrap())
    }

    #[test]
    fn the_nearer_wins() {
        let text = "thinking = 'low'\nmax_tokens = 9\n[anthropic]\nthinking_budget = 20000\n";
        let now = Parameters { max_tokens: Some(5), ..Parameters::default() };
        let request = read(text).unwrap().beneath(&now).in_request(ModelRequest::default());
        let claude = request.parameters_for("anthropic");
        assert_eq!((claude.thinking, claude.thinking_budget), (None, Some(20_000)));
        assert_eq!(claude.max_tokens, Some(5));
        let gpt = request.parameters_for("openai");
        assert_eq!((gpt.thinking, gpt.max_tokens), (Some(Thinking::Low), Some(5)));
        let now = Parameters { thinking: Some(Thinking::High), ..Parameters::default() };
        let request = read(text).unwrap().beneath(&now).in_request(ModelRequest::default());
        assert_eq!(request.parameters_for("anthropic").thinking, Some(Thinking::High));
    }

    #[test]
    fn unknown_parameters_are_refused() {
        for text in ["thinkin = 'low'", "thinking = 'much'", "[openai]\nbudget = 1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
