//! The catalogue of models: context, prices, and how each thinks.
//!
//! Law: a model that nobody has described works all the same; only its figures are missing.

use std::collections::BTreeMap;

use jm_types::Usage;
use serde::Deserialize;

use crate::parameter_layers::ParameterLayers;

const EMBEDDED: &str = include_str!("models.toml");

/// The models of every provider, by provider and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    models: BTreeMap<String, BTreeMap<String, ModelInfo>>,
    /// Short names of models.
    aliases: BTreeMap<String, String>,
    /// How the user's models shall answer.
    pub parameters: ParameterLayers,
}

/// The heading that is no provider's.
const WISHES: &str = "parameters";
/// The heading of short names.
const ALIASES: &str = "aliases";

/// One model. Nothing means unknown.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelInfo {
    /// Tokens that fit, question and answer together.
    pub context: Option<u64>,
    /// Tokens that one answer may have.
    pub output: Option<u32>,
    /// Dollars for a million tokens; `None` where it is not known.
    pub price: Option<Price>,
    /// The vendor's way to set the effort.
    pub thinking: Option<ThinkingStyle>,
    /// True if the vendor accepts a temperature.
    pub sampling: Option<bool>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens of the request that no cache had.
    pub input: f64,
    /// Tokens of the answer, thinking included.
    pub output: f64,
    /// Tokens that the vendor had in its cache.
    #[serde(default)]
    pub cache_read: f64,
    /// Tokens that the vendor put into its cache.
    #[serde(default)]
    pub cache_write: f64,
    /// Other prices for a long request.
    #[serde(default)]
    pub long: Option<LongPrice>,
}

/// The prices of a request whose whole input is larger than `above`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    /// Tokens of input, cached ones included.
    pub above: u64,
    /// Tokens of the request that no cache had.
    pub input: f64,
    /// Tokens of the answer, thinking included.
    pub output: f64,
    /// Tokens that the vendor had in its cache.
    #[serde(default)]
    pub cache_read: f64,
    /// Tokens that the vendor put into its cache.
    #[serde(default)]
    pub cache_write: f64,
}

/// How a model is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingStyle {
    /// It does not think, so nothing is sent.
    None,
    /// A number of tokens.
    Budget,
    /// A word for the effort.
    Effort,
    /// A word for the effort, and no way to turn it off.
    Always,
    /// Gemini's word for the level.
    Level,
}

impl Catalogue {
    /// The table that the program carries.
    pub fn embedded() -> Result<Self, toml::de::Error> {
        Self::default().extended(EMBEDDED)
    }

    /// This table with a user's rows and parameters over it: a field that the user gives wins.
    pub fn extended(mut self, text: &str) -> Result<Self, toml::de::Error> {
        let mut table: toml::Table = toml::from_str(text)?;
        if let Some(toml::Value::Table(parameters)) = table.remove(WISHES) {
            self.parameters = ParameterLayers::read(parameters)?;
        }
        if let Some(aliases) = table.remove(ALIASES) {
            let aliases: BTreeMap<String, String> = aliases.try_into()?;
            self.aliases.extend(aliases);
        }
        let rows: BTreeMap<String, BTreeMap<String, ModelInfo>> = table.try_into()?;
        for (provider, models) in rows {
            let known = self.models.entry(provider).or_default();
            for (name, row) in models {
                let below = known.remove(&name).unwrap_or_default();
                known.insert(name, row.over(below));
            }
        }
        Ok(self)
    }

    /// The facts of a model; a dated name (`…-20250929`) is the model without its date.
    pub fn get(&self, provider: &str, name: &str) -> Option<&ModelInfo> {
        let models = self.models.get(provider)?;
        models.get(name).or_else(|| models.get(undated(name)?))
    }

    /// The provider of a bare model name: the one whose row it is, or whose names look like it.
    pub fn provider_of(&self, name: &str) -> Option<&str> {
        let listed = self.models.keys().find(|provider| self.get(provider, name).is_some());
        listed.map(String::as_str).or_else(|| family(name))
    }

    /// The model that a short name means.
    pub fn alias(&self, name: &str) -> Option<&str> {
        self.aliases.get(name).map(String::as_str)
    }

    /// Short names and the models that they mean, sorted.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, name)| (alias.as_str(), name.as_str()))
    }

    /// Every row with its `PROVIDER/NAME`, sorted.
    pub fn rows(&self) -> impl Iterator<Item = (String, &ModelInfo)> {
        self.models.iter().flat_map(|(provider, models)| {
            models.iter().map(move |(name, info)| (format!("{provider}/{name}"), info))
        })
    }

    /// `PROVIDER/NAME` of every row, sorted.
    pub fn names(&self) -> Vec<String> {
        let row = |(provider, models): (&String, &BTreeMap<String, ModelInfo>)| {
            models.keys().map(|name| format!("{provider}/{name}")).collect::<Vec<_>>()
        };
        self.models.iter().flat_map(row).collect()
    }
}

impl ModelInfo {
    fn over(self, below: ModelInfo) -> ModelInfo {
        ModelInfo {
            context: self.context.or(below.context),
            output: self.output.or(below.output),
            price: self.price.or(below.price),
            thinking: self.thinking.or(below.thinking),
            sampling: self.sampling.or(below.sampling),
        }
    }

    /// The price of a response in US dollars, if it is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        Some(self.price?.of(usage))
    }
}

impl Price {
    fn of(&self, usage: &Usage) -> f64 {
        let whole_input = usage.input + usage.cache_read + usage.cache_write;
        let (input, output, cache_read, cache_write) = match self.long {
            Some(long) if whole_input > long.above => {
                (long.input, long.output, long.cache_read, long.cache_write)
            }
            Some(_) | None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let dollars = usage.input as f64 * input
            + usage.output as f64 * output
            + usage.cache_read as f64 * cache_read
            + usage.cache_write as f64 * cache_write;
        dollars / 1e6
    }
}

fn undated(name: &str) -> Option<&str> {
    let (stem, date) = name.rsplit_once('-')?;
    (date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())).then_some(stem)
}

fn family(name: &str) -> Option<&'static str> {
    const FAMILIES: &[(&str, &str)] = &[
        ("claude", "anthropic"),
        ("gpt-", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("codex", "openai"),
        ("gemini", "gemini"),
    ];
    FAMILIES.iter().find(|(stem, _)| name.starts_with(stem)).map(|(_, provider)| *provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_find_their_provider() {
        let catalogue = Catalogue::embedded().unwrap();
        let cases = [
            ("claude-opus-5-5", Some("anthropic")),
            ("claude-haiku-4-5-20251001", Some("anthropic")),
            ("gpt-99", Some("openai")),
            ("gemini-9-ultra", Some("gemini")),
            ("llama", None),
        ];
        for (name, provider) in cases {
            assert_eq!(catalogue.provider_of(name), provider, "{name}");
        }
    }

    #[test]
    fn the_rows_that_the_program_carries_make_sense() {
        let catalogue = Catalogue::embedded().unwrap();
        for name in catalogue.names() {
            let (provider, model) = name.split_once('/').unwrap();
            let info = catalogue.get(provider, model).unwrap();
            let (context, price) = (info.context.unwrap(), info.price.unwrap());
            assert!(u64::from(info.output.unwrap()) < context, "{name}");
            assert!(price.input > 0.0 && price.output > price.input, "{name}");
            assert!(price.cache_read < price.input, "{name}");
            assert!(price.long.is_none_or(|long| long.input > price.input), "{name}");
            assert!(info.thinking.is_some(), "{name}");
        }
    }

    #[test]
    fn a_users_table_extends_and_overrides() {
        let text = "[local.llama]\ncontext = 8192\n\
                    [anthropic.claude-opus-5-5]\nprice = { input = 1.0, output = 2.0 }\n";
        let catalogue = Catalogue::embedded().unwrap().extended(text).unwrap();
        assert_eq!(catalogue.provider_of("llama"), Some("local"));
        let opus = catalogue.get("anthropic", "claude-opus-5-5").unwrap();
        assert_eq!((opus.context, opus.price.unwrap().input), (Some(1_000_000), 1.0));
        assert!(Catalogue::default().extended("[a.b]\nkontext = 1\n").is_err());
    }

    #[test]
    fn cost_counts_each_token_once_and_knows_long_requests() {
        let price = Price {
            input: 2.0,
            output: 10.0,
            cache_read: 0.2,
            cache_write: 2.5,
            long: Some(LongPrice {
                above: 1_000_000,
                input: 4.0,
                output: 20.0,
                cache_read: 0.4,
                cache_write: 5.0,
            }),
        };
        let info = ModelInfo { price: Some(price), ..ModelInfo::default() };
        let usage = Usage {
            input: 500_000,
            output: 100_000,
            cache_read: 400_000,
            cache_write: 100_000,
            reasoning: 50_000,
        };
        assert!((info.cost(&usage).unwrap() - 2.33).abs() < 1e-9);
        let longer = Usage { input: 500_001, ..usage };
        assert!((info.cost(&longer).unwrap() - 4.660_004).abs() < 1e-9);
        assert_eq!(ModelInfo::default().cost(&usage), None);
    }
}
