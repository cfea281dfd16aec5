//! Parameter layers: a user's values for every model, for one provider, and for one run (FL-PARAM).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};
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

    /// Values as a document has them: general ones, and a table of them for each provider.
    pub fn of_json(
        general: Map<String, Json>,
        specific: Map<String, Json>,
    ) -> Result<Self, String> {
        let read = |values: Json| -> Result<Parameters, String> {
            let Json::Object(mut values) = values else {
                return Err("the parameters of a provider are a table".to_owned());
            };
            spell_thinking(&mut values);
            serde_json::from_value(Json::Object(values)).map_err(|error| error.to_string())
        };
        let pair = |(name, values): (String, Json)| match read(values) {
            Ok(values) => Ok((name, values)),
            Err(error) => Err(format!("{name}: {error}")),
        };
        let specific = specific.into_iter().map(pair).collect::<Result<_, _>>()?;
        Ok(Self { general: read(Json::Object(general))?, specific })
    }

    /// These, and over all of them a nearer layer.
    #[must_use]
    pub fn under(&self, nearer: &Self) -> Self {
        let mut joined = self.beneath(&nearer.general);
        for (provider, own) in &nearer.specific {
            let below = joined.specific.get(provider).unwrap_or(&joined.general).clone();
            joined.specific.insert(provider.clone(), own.clone().or(&below));
        }
        joined
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

/// A number of tokens and yes or no are understood too.
fn spell_thinking(values: &mut Map<String, Json>) {
    match values.get("thinking") {
        Some(Json::Number(tokens)) => {
            let tokens = Json::Number(tokens.clone());
            values.remove("thinking");
            values.insert("thinking_budget".to_owned(), tokens);
        }
        Some(Json::Bool(wanted)) => {
            let word = if *wanted { "medium" } else { "off" };
            values.insert("thinking".to_owned(), Json::from(word));
        }
        Some(_) | None => {}
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

    /// FL-PARAM, FL-BUFFER: a document's values win over the configuration's, and a provider's over general ones.
    #[test]
    fn a_documents_values_are_nearer() {
        let json = |text: &str| match serde_json::from_str(text).unwrap() {
            Json::Object(values) => values,
            other => panic!("{other}"),
        };
        let document = ParameterLayers::of_json(
            json(r#"{"thinking": "low", "max_tokens": 8000, "temperature": 0.3, "cache_retention": "long"}"#),
            json(r#"{"anthropic": {"thinking_budget": 20000}, "openai": {"reasoning": "high"}}"#),
        )
        .unwrap();
        let below =
            read("max_tokens = 9\n[anthropic]\nthinking = 'max'\n[gemini]\nmax_tokens = 7\n");
        let request = below.unwrap().under(&document).in_request(ModelRequest::default());
        let claude = request.parameters_for("anthropic");
        assert_eq!((claude.thinking, claude.thinking_budget), (None, Some(20_000)));
        assert_eq!((claude.max_tokens, claude.temperature), (Some(8000), Some(0.3)));
        assert_eq!(request.parameters_for("openai").reasoning.as_deref(), Some("high"));
        let gemini = request.parameters_for("gemini");
        assert_eq!((gemini.thinking, gemini.max_tokens), (Some(Thinking::Low), Some(8000)));
        let tokens = ParameterLayers::of_json(json(r#"{"thinking": 5}"#), Map::new()).unwrap();
        assert_eq!(tokens.general.thinking_budget, Some(5));
        assert!(ParameterLayers::of_json(json(r#"{"thinkin": 5}"#), Map::new()).is_err());
    }

    #[test]
    fn unknown_parameters_are_refused() {
        for text in ["thinkin = 'low'", "thinking = 'much'", "[openai]\nbudget = 1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
