//! The approval policy of a session: from lists, rules and remembered answers to one [`Policy`].
//!
//! Law: a rule names a tool that exists, and a pattern that the tool can be judged by. What was remembered and
//! cannot be read any more allows nothing.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use jm_config::{
    ALLOW_RULES, ASK_RULES, AUTO_APPROVE, DENY_RULES, Loaded, PresetEntry, RuleEntry,
    SettingOrigin, Source,
};
use jm_dialects::dialect_of;
use jm_engine::Engine;
use jm_policy::{
    ApprovalList, BuiltIn, HOST_RULE, ListError, Policy, PolicyRule, Preset, RuleBook, RuleOrigin,
    RuleSite, Subject,
};
use jm_tools::Workspace;
use jm_tools::toolsets::Row;
use jm_types::{Profile, Toolset, Verdict};

use crate::remembered;

/// The reach of a policy: a workspace, and a session in it.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Absolute paths, the working root first.
    pub(crate) roots: Vec<String>,
    pub(crate) session: String,
}

impl Site {
    pub(crate) fn of(workspace: &Workspace, session: &str) -> Self {
        let roots = workspace.sandbox.roots();
        let roots = roots.map(|root| root.path().to_string_lossy().into_owned());
        Self { roots: roots.collect(), session: session.to_owned() }
    }

    pub(crate) fn root(&self) -> &str {
        self.roots.first().map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn rule_site(&self) -> RuleSite<'_> {
        RuleSite { session: &self.session, root: self.root(), now: remembered::now() }
    }
}

/// The policy that is in force at a site. Gives warnings about remembered answers that cannot be used.
pub(crate) fn policy(loaded: &mut Loaded, site: &Site) -> Result<(Policy, Vec<String>)> {
    let subjects = Subjects::new();
    let mut rules = configured(loaded, &subjects)?;
    let (remembered, warnings) = remembered_rules(site, &subjects);
    // A remembered answer is the person's own, like a rule that they wrote.
    remembered.iter().for_each(|rule| loaded.lift_default(&rule.tool));
    rules.extend(remembered);
    let approval = &loaded.config.tools.approval;
    let by_default = loaded.denials.iter().filter(|(_, by)| by.source == Source::Default);
    let policy = Policy {
        enabled: approval.enabled,
        allowlist: approval.allowlist.iter().cloned().collect(),
        denylist: approval.denylist.iter().cloned().collect(),
        denied_by_default: by_default.map(|(tool, _)| tool.clone()).collect(),
        prompt_side_effects: approval.prompt_side_effects,
        rules: RuleBook::new(rules, site.roots.clone())?,
        approval: approval_list(loaded, &subjects)?,
        approval_is_default: is_unset(loaded),
        approvals_confirm: loaded.config.toolset == Toolset::Flemma
            && loaded.config.profile != Profile::Careful,
        runs_readers: approval.run_readers && loaded.config.toolset == Toolset::Standard,
        // To the letter of the document, or by wish: every command is asked about.
        is_strict: loaded.config.toolset == Toolset::Forge
            || loaded.config.profile == Profile::Careful,
        ..Policy::of_mode(approval.mode)
    };
    Ok((policy, warnings))
}

/// Lets an answer switch on the tools that are off by default, but for those that the person declined here. Only
/// where somebody can be asked; a document that is followed to the letter keeps its denials.
pub(crate) fn offer_opt_in(engine: &Engine) {
    let core = engine.core();
    let policy = Policy::clone(&core.policy.now());
    if policy.is_strict {
        return;
    }
    let site = Site::of(&core.workspace, "");
    // A file that cannot be read was told of already; nobody is asked then.
    let Ok(known) = remembered::read() else { return };
    let declined = known.in_force(site.rule_site()).filter(|found| found.is_declined);
    let declined: BTreeSet<&str> = declined.map(|found| found.rule.as_str()).collect();
    let open = policy.denied_by_default.iter().filter(|tool| !declined.contains(tool.as_str()));
    let opt_in = open.cloned().collect();
    core.policy.replace(Policy { opt_in, ..policy });
}

/// The preset that the toolset `flemma` has out of the box (decision 33).
pub(crate) const FLEMMA_DEFAULT: &str = "$default";

/// Tells whether nobody wrote `auto_approve`.
fn is_unset(loaded: &Loaded) -> bool {
    let origins = loaded.provenance.get(AUTO_APPROVE);
    origins.is_none_or(|all| all.iter().all(|origin| origin.source == Source::Default))
}

/// Tells whether `auto_approve` is [`FLEMMA_DEFAULT`] because nobody wrote another.
pub(crate) fn is_flemma_default(loaded: &Loaded) -> bool {
    is_unset(loaded) && loaded.config.toolset == Toolset::Flemma
}

/// `auto_approve`, with the presets that it names.
fn approval_list(loaded: &Loaded, subjects: &Subjects) -> Result<ApprovalList> {
    let approval = &loaded.config.tools.approval;
    let items = match is_flemma_default(loaded) {
        true => vec![FLEMMA_DEFAULT.to_owned()],
        false => approval.auto_approve.clone(),
    };
    let (removed, items): (Vec<String>, Vec<String>) =
        items.into_iter().partition(|item| item.starts_with('-'));
    let removed: Vec<String> =
        removed.iter().map(|item| item.trim_start_matches('-').to_owned()).collect();
    resolved_list(loaded, subjects, &items, &removed)
        .map_err(|error| anyhow!("`{AUTO_APPROVE}`: {error}"))
}

/// A list of tools and presets, less `removed`, with the presets of the configuration.
pub(crate) fn list_of(
    loaded: &Loaded,
    items: &[String],
    removed: &[String],
) -> Result<ApprovalList> {
    Ok(resolved_list(loaded, &Subjects::new(), items, removed)?)
}

fn resolved_list(
    loaded: &Loaded,
    subjects: &Subjects,
    items: &[String],
    removed: &[String],
) -> Result<ApprovalList, ListError> {
    let approval = &loaded.config.tools.approval;
    let is_flemma = loaded.config.toolset == Toolset::Flemma;
    let own: BTreeMap<String, Preset> = (approval.presets.iter().cloned())
        .map(|PresetEntry { name, approve, deny }| (name, Preset { approve, deny }))
        .collect();
    let built_in = if is_flemma { BuiltIn::Named } else { BuiltIn::ByEffect };
    // Names are checked with those of the other lists, where external tools are known too.
    let tools = subjects.commands.iter().chain(&subjects.paths).chain(items).chain(removed);
    let tools: BTreeSet<&str> = tools.map(String::as_str).collect();
    ApprovalList::resolve(items, removed, &own, built_in, &tools)
}

/// The names of the built-in tools of some toolsets.
pub(crate) fn tool_names(is_wanted: impl Fn(&Toolset) -> bool) -> BTreeSet<String> {
    let toolsets = Toolset::ALL.iter().filter(|toolset| is_wanted(toolset));
    toolsets.flat_map(|it| dialect_of(*it).all_rows()).map(|row| row.name.to_owned()).collect()
}

/// The tools whose patterns speak of commands, and those whose patterns speak of paths.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    commands: BTreeSet<String>,
    paths: BTreeSet<String>,
}

impl Subjects {
    pub(crate) fn new() -> Self {
        let rows = Toolset::ALL.iter().flat_map(|toolset| dialect_of(*toolset).all_rows());
        let (commands, paths): (Vec<&Row>, Vec<&Row>) =
            rows.partition(|row| row.stakes.effect.is_command());
        let names = |rows: Vec<&Row>| rows.into_iter().map(|row| row.name.to_owned()).collect();
        Self { commands: names(commands), paths: names(paths) }
    }

    /// Reads a rule.
    pub(crate) fn parse(
        &self,
        text: &str,
        verdict: Verdict,
        origin: RuleOrigin,
    ) -> Result<PolicyRule> {
        if let Some((tool, _)) = text.split_once(':')
            && tool.trim() != HOST_RULE
            && !self.commands.contains(tool.trim())
            && !self.paths.contains(tool.trim())
        {
            let tool = tool.trim();
            return Err(anyhow!(
                "the rule `{text}`: calls of `{tool}` have no command or path that a pattern could match\n  hint: write `{tool}` alone to match every call"
            ));
        }
        let subject = |tool: &str| match self.commands.contains(tool) {
            _ if tool == HOST_RULE => Subject::Hosts,
            true => Subject::Commands,
            false => Subject::Paths,
        };
        Ok(PolicyRule::parse(text, verdict, origin, subject)?)
    }
}

/// Reads the rules where some are about hosts, which confinement needs before there is a policy: an error has its place.
pub(crate) fn check_host_rules(loaded: &Loaded) -> Result<()> {
    let approval = &loaded.config.tools.approval;
    let mut rules = [&approval.allow, &approval.ask, &approval.deny].into_iter().flatten();
    match rules.any(|rule| rule.tool() == HOST_RULE) {
        true => configured(loaded, &Subjects::new()).map(drop),
        false => Ok(()),
    }
}

/// The rules of files, environment and flags.
fn configured(loaded: &Loaded, subjects: &Subjects) -> Result<Vec<PolicyRule>> {
    let approval = &loaded.config.tools.approval;
    let lists = [
        (ALLOW_RULES, Verdict::Allow, &approval.allow),
        (ASK_RULES, Verdict::Ask, &approval.ask),
        (DENY_RULES, Verdict::Deny, &approval.deny),
    ];
    let mut rules = Vec::new();
    for (key, verdict, entries) in lists {
        for entry in entries {
            let origin = loaded.rule_origins.get(&(key, entry.rule.clone()));
            let rule = one(entry, verdict, place(origin, key), subjects);
            let told = |error: anyhow::Error| match origin {
                Some(origin) => anyhow!("{origin}: `{key}`: {error}"),
                None => error,
            };
            rules.push(rule.map_err(told)?);
        }
    }
    Ok(rules)
}

fn one(
    entry: &RuleEntry,
    verdict: Verdict,
    origin: RuleOrigin,
    subjects: &Subjects,
) -> Result<PolicyRule> {
    let rule = subjects.parse(&entry.rule, verdict, origin)?;
    let rule = rule.with_examples(entry.hits.clone(), entry.misses.clone())?;
    // A pattern of a command is read when rules are put together; here its place is known.
    RuleBook::new(vec![rule.clone()], Vec::new())?;
    Ok(rule)
}

fn place(origin: Option<&SettingOrigin>, key: &str) -> RuleOrigin {
    match origin.map(|origin| (&origin.source, origin.position)) {
        Some((Source::User(path) | Source::Project(path), position)) => {
            let line = position.map_or(0, |position| position.line);
            RuleOrigin::File { path: path.clone(), line }
        }
        Some((Source::Environment, _)) => {
            RuleOrigin::Environment(format!("JM_{}", key.replace('.', "_").to_uppercase()))
        }
        Some((Source::Flag, _)) => RuleOrigin::Flag,
        Some((Source::Default, _)) | None => RuleOrigin::BuiltIn,
    }
}

/// The remembered answers in force at a site.
fn remembered_rules(site: &Site, subjects: &Subjects) -> (Vec<PolicyRule>, Vec<String>) {
    let known = match remembered::read() {
        Ok(known) => known,
        Err(error) => {
            return (Vec::new(), vec![format!("remembered approvals are ignored: {error:#}")]);
        }
    };
    let (mut rules, mut warnings) = (Vec::new(), Vec::new());
    for found in known.in_force(site.rule_site()).filter(|found| !found.is_declined) {
        let number = found.number;
        let origin = RuleOrigin::Remembered { number };
        let rule = subjects.parse(&found.rule, Verdict::Allow, origin).and_then(|rule| {
            RuleBook::new(vec![rule.clone()], Vec::new())?;
            Ok(rule)
        });
        match rule {
            Ok(rule) => rules.push(rule),
            Err(error) => warnings.push(format!(
                "remembered approval {number} is ignored: {error} (remove it: `jm policy revoke {number}`)"
            )),
        }
    }
    (rules, warnings)
}
