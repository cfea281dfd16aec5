//! The front matter of a `.chat` document: Lua in a process of its own, confined like a command (FL-BUFFER).
//!
//! Law: a document is text that anybody may have written. Its script has no state of the person's own script;
//! the modules that it may use are the person's, as texts.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use jm_lua::{CallFailure, DocumentOptions, ModuleSource, Scripts};
use jm_policy::{Authority, CallFacts, DOCUMENT, ResolveError, Resolver, ResolverAnswer};
use serde_json::{Map, Value};

use super::approval::{answer, arguments, context_of};
use super::{Owner, Script, ScriptGround};
use crate::locations;

/// The name of a document's own resolver.
pub(crate) const FRONT_MATTER: &str = "urn:flemma:approval:frontmatter";

/// Runs the front matter of one document.
#[derive(Debug)]
pub(crate) struct FrontMatterScript {
    scripts: Arc<Scripts>,
}

impl FrontMatterScript {
    /// `presets` are the person's, by their names with `$`.
    pub(crate) fn new(ground: ScriptGround<'_>, presets: &Map<String, Value>) -> Result<Self> {
        let presets = serde_json::to_string(presets)?;
        let text = format!(
            "require('flemma').setup({{ tools = {{ presets = vim.json.decode({}) }} }})",
            lua_string(&presets)
        );
        let init = locations::user_init().unwrap_or_else(|| PathBuf::from("/nowhere/init.lua"));
        let script = Script { owner: Owner::Document, init, text, trusted: None };
        Ok(Self { scripts: Arc::new(script.start(ground)?) })
    }

    /// Evaluates the text between the fences, whose first line is the document's second.
    pub(crate) fn evaluate(
        &self,
        name: &str,
        text: &str,
        (known, enabled): (Vec<String>, Vec<String>),
    ) -> Result<DocumentOptions, CallFailure> {
        let chunk = ModuleSource { name: name.to_owned(), text: format!("\n{text}") };
        self.scripts.evaluate(FRONT_MATTER, chunk, known, enabled)
    }

    /// The resolver of the front matter that was evaluated last.
    pub(crate) fn resolver(
        &self,
        options: &DocumentOptions,
        authority: Authority,
    ) -> FrontMatterResolver {
        let scripts = Arc::clone(&self.scripts);
        FrontMatterResolver { scripts, authority, is_list: options.has_list }
    }
}

/// A JSON text as a Lua string.
fn lua_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'$' | b'_' | b'-' => {
                quoted.push(char::from(byte));
            }
            other => quoted.push_str(&format!("\\{other:03}")),
        }
    }
    quoted.push('"');
    quoted
}

/// A document's own `auto_approve`.
#[derive(Debug)]
pub(crate) struct FrontMatterResolver {
    scripts: Arc<Scripts>,
    authority: Authority,
    is_list: bool,
}

impl Resolver for FrontMatterResolver {
    fn name(&self) -> &str {
        FRONT_MATTER
    }

    fn priority(&self) -> i32 {
        DOCUMENT
    }

    fn authority(&self) -> Authority {
        self.authority
    }

    /// A list takes the place of the default; a function comes after it.
    fn is_configuration(&self) -> bool {
        self.is_list
    }

    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let (input, context) = (arguments(facts)?, context_of(facts));
        answer(self.scripts.resolve_document(FRONT_MATTER, facts.tool, input, context))
    }
}
