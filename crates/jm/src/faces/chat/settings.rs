//! The settings of a document: its front matter, evaluated and put in force (FL-BUFFER, FL-PARAM).
//!
//! Law: until the person trusts these very bytes (`jm trust FILE`), front matter may only tighten.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use jm_chat::{JsonFrontMatter, JsonSetting, ListChange};
use jm_lua::DocumentOptions;
use jm_policy::{
    ApprovalList, Authority, CallFacts, DOCUMENT, Policy, ResolveError, Resolver, ResolverAnswer,
};
use jm_providers::ParameterLayers;
use jm_types::text::{one_line, suggest};
use jm_types::{ToolDefinition, Verdict};
use serde_json::{Map, Value};

use super::Chatting;
use crate::cli::Common;
use crate::lua::{FRONT_MATTER, FrontMatterScript};
use crate::{approval, trust, wire};

/// The resolver that keeps a document to the tools that it chose.
const CHOSEN_TOOLS: &str = "urn:journeyman:document:tools";
/// The general parameters; every other name with a dot is a provider's.
const PARAMETERS: [&str; 4] = ["thinking", "cache_retention", "max_tokens", "temperature"];
const PROVIDERS: [&str; 4] = ["anthropic", "openai", "vertex", "gemini"];

/// The settings in force, and the front matter that they come from.
#[derive(Debug, Default)]
pub(super) struct DocumentSettings {
    front_matter: Option<Vec<u8>>,
    script: Option<FrontMatterScript>,
    tools: Option<Vec<String>>,
    parameters: ParameterLayers,
}

impl DocumentSettings {
    /// Parameters of the configuration, and over them the document's.
    pub(super) fn over(&self, configured: &ParameterLayers) -> ParameterLayers {
        configured.under(&self.parameters)
    }
}

impl Chatting {
    /// Evaluates the front matter where it has changed, and puts its settings in force.
    pub(super) fn apply_front_matter(&mut self, common: &Common) -> Result<()> {
        let document = &self.paper.document;
        let found = document.front_matter();
        let bytes = found.map(|front| front.span.of(document.bytes()).to_vec());
        if bytes == self.settings.front_matter {
            return Ok(());
        }
        let options = match found {
            None => Options::default(),
            Some(front) => match front.evaluate(document.bytes()) {
                Some(json) => self.of_json(common, json.map_err(|error| anyhow!("{error}"))?)?,
                None => {
                    let text = front.text(document.bytes());
                    self.of_lua(common, &text)?
                }
            },
        };
        self.put_in_force(options)?;
        self.settings.front_matter = bytes;
        Ok(())
    }

    fn of_lua(&mut self, common: &Common, text: &str) -> Result<Options> {
        if self.settings.script.is_none() {
            self.settings.script = Some(wire::front_matter(common)?);
        }
        let Some(script) = &self.settings.script else { return Ok(Options::default()) };
        let path = self.paper.path.display().to_string();
        let name = self.paper.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = (self.known(), self.enabled());
        let options = script.evaluate(&name, text, names).map_err(|failure| {
            anyhow!("{path}: front matter: {}", one_line(&failure.to_string()))
        })?;
        let authority = self.trusted_authority();
        let resolver = options
            .has_resolver
            .then(|| Arc::new(script.resolver(&options, authority)) as Arc<dyn Resolver>);
        let DocumentOptions { tools, parameters, providers, .. } = options;
        Ok(Options { tools, parameters, providers, resolver })
    }

    fn of_json(&self, common: &Common, json: JsonFrontMatter) -> Result<Options> {
        let mut options = Options::default();
        for (path, setting) in json.settings {
            match (path.as_str(), setting) {
                ("tools", JsonSetting::List(change)) => {
                    let chosen = change.apply(&self.enabled()).items;
                    self.check_tools(&chosen)?;
                    options.tools = Some(chosen);
                }
                ("tools.auto_approve", JsonSetting::List(change)) => {
                    options.resolver = Some(self.list_resolver(common, &change)?);
                }
                (name, JsonSetting::Value(value)) if PARAMETERS.contains(&name) => {
                    options.parameters.insert(name.to_owned(), value);
                }
                (name, setting) => match (name.split_once('.'), setting) {
                    (Some((provider, name)), JsonSetting::Value(value))
                        if PROVIDERS.contains(&provider) =>
                    {
                        let own = options.providers.entry(provider).or_insert_with(empty_object);
                        if let Value::Object(own) = own {
                            own.insert(name.to_owned(), value);
                        }
                    }
                    _ => bail!("{}", self.unknown_setting(name)),
                },
            }
        }
        Ok(options)
    }

    fn unknown_setting(&self, name: &str) -> String {
        let known = ["tools", "tools.auto_approve"].into_iter().chain(PARAMETERS).chain(PROVIDERS);
        let near = suggest(name, known, 1);
        let near = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("{}: front matter: unknown option `{name}`{near}", self.paper.path.display())
    }

    fn check_tools(&self, chosen: &[String]) -> Result<()> {
        let known = self.known();
        let Some(name) = chosen.iter().find(|name| !known.contains(name)) else { return Ok(()) };
        let near = suggest(name, known.iter().map(String::as_str), 1);
        let near = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let path = self.paper.path.display();
        bail!("{path}: front matter: unknown tool `{}`{near}", one_line(name))
    }

    fn list_resolver(&self, common: &Common, change: &ListChange) -> Result<Arc<dyn Resolver>> {
        let list = change.apply(&[approval::FLEMMA_DEFAULT.to_owned()]);
        let path = self.paper.path.display();
        let list = approval::list_of(&wire::load(common)?, &list.items, &list.removed)
            .map_err(|error| anyhow!("{path}: front matter: `tools.auto_approve`: {error}"))?;
        Ok(Arc::new(ListResolver { list, authority: self.trusted_authority() }))
    }

    /// The names of all tools.
    fn known(&self) -> Vec<String> {
        self.driver.engine.core().registry.names()
    }

    /// Those that are offered where a document does not choose.
    fn enabled(&self) -> Vec<String> {
        self.driver.engine.advertised().into_iter().map(|tool| tool.name).collect()
    }

    fn trusted_authority(&self) -> Authority {
        let document = &self.paper.document;
        let front = document.front_matter().map(|front| front.span.of(document.bytes()));
        match front.is_some_and(|bytes| trust::is_granted(&self.paper.path, bytes)) {
            true => Authority::Person,
            false => Authority::Document,
        }
    }

    fn put_in_force(&mut self, options: Options) -> Result<()> {
        let Options { tools, parameters, providers, resolver } = options;
        let path = self.paper.path.display().to_string();
        self.settings.parameters = ParameterLayers::of_json(parameters, providers)
            .map_err(|error| anyhow!("{path}: front matter: {error}"))?;
        let core = self.driver.engine.core();
        let mut policy = Policy::clone(&core.policy.now());
        policy.chain.unregister(FRONT_MATTER);
        policy.chain.unregister(CHOSEN_TOOLS);
        if let Some(tools) = &tools {
            policy.chain.register(Arc::new(ChosenTools(tools.iter().cloned().collect())));
        }
        let is_untrusted =
            resolver.as_ref().is_some_and(|one| one.authority() == Authority::Document);
        resolver.into_iter().for_each(|one| policy.chain.register(one));
        core.policy.replace(policy);
        self.settings.tools = tools;
        if is_untrusted {
            let note = "approvals in this document's front matter are ignored until you trust it; read it, then run";
            self.teller.note(&format!("{note} `jm trust {path}`"))?;
        }
        Ok(())
    }

    /// The tools that the model is told of.
    pub(super) fn offered(&self) -> Vec<ToolDefinition> {
        let offered = self.driver.engine.advertised();
        let Some(chosen) = &self.settings.tools else { return offered };
        let registry = &self.driver.engine.core().registry;
        let definition = |name: &String| {
            let found = offered.iter().find(|tool| tool.name == *name).cloned();
            found.or_else(|| Some(registry.lookup(name).ok()?.definition()))
        };
        chosen.iter().filter_map(definition).collect()
    }
}

fn empty_object() -> Value {
    Value::Object(Map::new())
}

/// Front matter, evaluated.
#[derive(Default)]
struct Options {
    tools: Option<Vec<String>>,
    parameters: Map<String, Value>,
    providers: Map<String, Value>,
    resolver: Option<Arc<dyn Resolver>>,
}

/// `tools.auto_approve` of JSON front matter.
#[derive(Debug)]
struct ListResolver {
    list: ApprovalList,
    authority: Authority,
}

impl Resolver for ListResolver {
    fn name(&self) -> &str {
        FRONT_MATTER
    }

    fn priority(&self) -> i32 {
        DOCUMENT
    }

    fn authority(&self) -> Authority {
        self.authority
    }

    fn is_configuration(&self) -> bool {
        true
    }

    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let Some(verdict) = self.list.answer(facts.tool, facts.effect) else { return Ok(None) };
        let word = if verdict == Verdict::Allow { "approved" } else { "denied" };
        let reason = format!("{word} by {FRONT_MATTER}");
        Ok(Some(ResolverAnswer { verdict, reason, is_confirmation: false }))
    }
}

/// The tools that a document chose; a call of another one is denied.
#[derive(Debug)]
struct ChosenTools(BTreeSet<String>);

impl Resolver for ChosenTools {
    fn name(&self) -> &str {
        CHOSEN_TOOLS
    }

    fn priority(&self) -> i32 {
        i32::MAX
    }

    fn authority(&self) -> Authority {
        Authority::Document
    }

    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let reason = "not among the tools of this document".to_owned();
        let answer = ResolverAnswer { verdict: Verdict::Deny, reason, is_confirmation: false };
        Ok((!self.0.contains(facts.tool)).then_some(answer))
    }
}
