//! Presets (FL-PRESET): named sets of tools to approve and to deny, and the list that is made of them.
//!
//! Law: the sets of all named presets are united, and a denial wins over an approval. A name that was
//! removed stays removed, also where a preset holds it.

use std::collections::{BTreeMap, BTreeSet};

use jm_types::text::suggest;
use jm_types::{ToolEffect, Verdict};
use thiserror::Error;

/// A named set of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preset {
    /// Tools that the preset allows.
    pub approve: Vec<String>,
    /// Tools that the preset denies.
    pub deny: Vec<String>,
}

/// The content of the two built-in presets: a document's names, or tools by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// Toolset `flemma`: `$readonly` is `read`, `$default` is `read`, `write` and `edit`.
    Named,
    /// Other toolsets: tools that only read, and with `$default` those that change files too.
    ByEffect,
}

/// An approval list as a person wrote it, resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalList {
    approved: BTreeSet<String>,
    denied: BTreeSet<String>,
    removed: BTreeSet<String>,
    /// Calls are approved by what they do: up to changes of files, or reads only.
    effects: Option<ByEffect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ByEffect {
    Reads,
    ReadsAndChanges,
}

/// A name in a list that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum ListError {
    #[error("unknown preset `{name}`{}", meant(near))]
    UnknownPreset { name: String, near: Vec<String> },
    #[error("unknown tool `{name}`{}", meant(near))]
    UnknownTool { name: String, near: Vec<String> },
}

fn meant(near: &[String]) -> String {
    match near.first() {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => String::new(),
    }
}

impl ApprovalList {
    /// Resolves `items` (tool names and `$presets`), less `removed`. `tools` are the names that exist.
    pub fn resolve(
        items: &[String],
        removed: &[String],
        own: &BTreeMap<String, Preset>,
        built_in: BuiltIn,
        tools: &BTreeSet<&str>,
    ) -> Result<Self, ListError> {
        let mut list = Self { removed: removed.iter().cloned().collect(), ..Self::default() };
        for item in items {
            match item.strip_prefix('$') {
                Some(name) => list.add_preset(name, own, built_in)?,
                None if tools.contains(item.as_str()) => drop(list.approved.insert(item.clone())),
                None => return Err(unknown_tool(item, tools)),
            }
        }
        if let Some(name) = removed.iter().find(|name| !tools.contains(name.as_str())) {
            return Err(unknown_tool(name, tools));
        }
        Ok(list)
    }

    fn add_preset(
        &mut self,
        name: &str,
        own: &BTreeMap<String, Preset>,
        built_in: BuiltIn,
    ) -> Result<(), ListError> {
        // A person's own preset replaces a built-in one of the same name.
        if let Some(preset) = own.get(name) {
            self.approved.extend(preset.approve.iter().cloned());
            self.denied.extend(preset.deny.iter().cloned());
            return Ok(());
        }
        let (named, effects): (&[&str], _) = match name {
            "readonly" => (&["read"], ByEffect::Reads),
            "default" => (&["read", "write", "edit"], ByEffect::ReadsAndChanges),
            _ => {
                let known = own.keys().map(String::as_str).chain(["readonly", "default"]);
                let near = suggest(name, known, 1).iter().map(|name| format!("${name}")).collect();
                return Err(ListError::UnknownPreset { name: format!("${name}"), near });
            }
        };
        match built_in {
            BuiltIn::Named => self.approved.extend(named.iter().map(|name| (*name).to_owned())),
            BuiltIn::ByEffect => self.effects = self.effects.max(Some(effects)),
        }
        Ok(())
    }

    /// The list's answer about a call; `None` where it says nothing.
    pub fn answer(&self, tool: &str, effect: ToolEffect) -> Option<Verdict> {
        if self.denied.contains(tool) {
            return Some(Verdict::Deny);
        }
        if self.removed.contains(tool) {
            return None;
        }
        let by_effect = match (self.effects, effect) {
            (None, _) | (Some(_), ToolEffect::Runs) => false,
            (Some(_), ToolEffect::Reads | ToolEffect::Inspects) => true,
            (Some(most), ToolEffect::Changes) => most == ByEffect::ReadsAndChanges,
        };
        (by_effect || self.approved.contains(tool)).then_some(Verdict::Allow)
    }
}

fn unknown_tool(name: &str, tools: &BTreeSet<&str>) -> ListError {
    let near = suggest(name, tools.iter().copied(), 1);
    ListError::UnknownTool { name: name.to_owned(), near }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 5] = ["bash", "read", "write", "edit", "calculator"];

    fn resolve(
        items: &[&str],
        removed: &[&str],
        built_in: BuiltIn,
    ) -> Result<ApprovalList, ListError> {
        let preset = |approve: &[&str], deny: &[&str]| Preset {
            approve: approve.iter().map(|name| (*name).to_owned()).collect(),
            deny: deny.iter().map(|name| (*name).to_owned()).collect(),
        };
        let own = BTreeMap::from([
            ("no-bash".to_owned(), preset(&["read"], &["bash"])),
            ("yolo".to_owned(), preset(&["bash", "write"], &[])),
        ]);
        let owned = |names: &[&str]| -> Vec<String> { names.iter().map(|n| (*n).into()).collect() };
        let tools = BTreeSet::from(TOOLS);
        ApprovalList::resolve(&owned(items), &owned(removed), &own, built_in, &tools)
    }

    /// A list, what is removed from it, and the answers it gives about tools.
    type ListCase = (
        &'static [&'static str],
        &'static [&'static str],
        &'static [(&'static str, Option<Verdict>)],
    );

    /// FL-PRESET: union, denial wins, plain names mix in, remove reaches into presets.
    #[test]
    fn lists_are_united_and_denial_wins() {
        use Verdict::{Allow, Deny};
        let cases: &[ListCase] = &[
            (&["$readonly"], &[], &[("read", Some(Allow)), ("write", None), ("bash", None)]),
            (&["$default"], &[], &[("read", Some(Allow)), ("edit", Some(Allow)), ("bash", None)]),
            (&["$default"], &["write"], &[("read", Some(Allow)), ("write", None)]),
            (&["$default", "bash"], &[], &[("bash", Some(Allow)), ("calculator", None)]),
            (&["$yolo", "$no-bash"], &[], &[("bash", Some(Deny)), ("write", Some(Allow))]),
            (&["bash", "$no-bash"], &[], &[("bash", Some(Deny))]),
            (&[], &[], &[("read", None)]),
        ];
        for (items, removed, answers) in cases {
            let list = resolve(items, removed, BuiltIn::Named).unwrap();
            for (tool, expected) in *answers {
                let found = list.answer(tool, ToolEffect::Changes);
                assert_eq!(found, *expected, "{items:?} less {removed:?}: {tool}");
            }
        }
    }

    #[test]
    fn outside_flemma_presets_go_by_what_a_call_does() {
        use ToolEffect::{Changes, Inspects, Reads, Runs};
        let readonly = resolve(&["$readonly"], &[], BuiltIn::ByEffect).unwrap();
        let default = resolve(&["$default"], &["edit"], BuiltIn::ByEffect).unwrap();
        for (effect, reads, changes) in [
            (Reads, true, true),
            (Inspects, true, true),
            (Changes, false, true),
            (Runs, false, false),
        ] {
            assert_eq!(readonly.answer("any", effect).is_some(), reads, "{effect:?}");
            assert_eq!(default.answer("any", effect).is_some(), changes, "{effect:?}");
        }
        assert_eq!(default.answer("edit", Changes), None, "what was removed is not approved");
    }

    #[test]
    fn a_misspelt_name_is_an_error_with_a_suggestion() {
        for (items, removed, message) in [
            (&["wirte"][..], &[][..], "unknown tool `wirte` (did you mean `write`?)"),
            (&["$defualt"], &[], "unknown preset `$defualt` (did you mean `$default`?)"),
            (&["$yol"], &[], "unknown preset `$yol` (did you mean `$yolo`?)"),
            (&["$default"], &["edti"], "unknown tool `edti` (did you mean `edit`?)"),
        ] {
            let error = resolve(items, removed, BuiltIn::Named).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
