//! Resolvers of a script in the approval chain (FL-RESOLVE, FL-APPROVE).
//!
//! Law: the script is asked about the call as it came, and its answer is one opinion among others. A script
//! that cannot be asked has no opinion, which is told, and a side effect is asked about then.

use std::sync::Arc;

use jm_lua::{CallFailure, Resolved, ResolverEntry, ScriptContext, ScriptVerdict, Scripts};
use jm_policy::{Authority, CallFacts, ResolveError, Resolver, ResolverAnswer, ResolverSource};
use jm_types::{Verdict, json};
use serde_json::Value;

use super::Owner;

/// The resolvers of one script, as they are when a call is judged.
#[derive(Debug)]
pub(super) struct LuaResolvers {
    pub(super) scripts: Arc<Scripts>,
    pub(super) owner: Owner,
    /// The script's path, for messages.
    pub(super) init: String,
}

impl ResolverSource for LuaResolvers {
    fn name(&self) -> String {
        self.init.clone()
    }

    fn resolvers(&self) -> Result<Vec<Arc<dyn Resolver>>, String> {
        let entries = self.scripts.resolvers().map_err(|failure| failure.to_string())?;
        let resolver = |entry| {
            let (scripts, authority) = (Arc::clone(&self.scripts), self.owner.authority());
            Arc::new(LuaResolver { scripts, authority, entry }) as Arc<dyn Resolver>
        };
        Ok(entries.into_iter().map(resolver).collect())
    }
}

#[derive(Debug)]
struct LuaResolver {
    scripts: Arc<Scripts>,
    authority: Authority,
    entry: ResolverEntry,
}

impl Resolver for LuaResolver {
    fn name(&self) -> &str {
        &self.entry.name
    }

    fn priority(&self) -> i32 {
        let most = if self.entry.priority < 0 { i32::MIN } else { i32::MAX };
        i32::try_from(self.entry.priority).unwrap_or(most)
    }

    fn authority(&self) -> Authority {
        self.authority
    }

    fn is_configuration(&self) -> bool {
        self.entry.is_setting
    }

    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
        let asked = self.scripts.resolve(
            Some(&self.entry.name),
            facts.tool,
            arguments(facts)?,
            context_of(facts),
        );
        answer(asked)
    }
}

/// The arguments as a script is given them.
pub(super) fn arguments(facts: &CallFacts<'_>) -> Result<Value, ResolveError> {
    match facts.arguments.trim() {
        "" => Ok(Value::Object(Default::default())),
        text => json::parse_strictly(text).map_err(ResolveError::Unknown),
    }
}

/// The facts that a resolver is told of a call.
pub(super) fn context_of(facts: &CallFacts<'_>) -> ScriptContext {
    ScriptContext { tool_id: facts.id.to_owned(), ..ScriptContext::default() }
}

/// A script's answer in the words of the policy.
pub(super) fn answer(
    asked: Result<Option<Resolved>, CallFailure>,
) -> Result<Option<ResolverAnswer>, ResolveError> {
    let resolved = asked.map_err(|failure| match failure {
        CallFailure::Script(text) => ResolveError::Failed(text),
        CallFailure::TimedOut(_)
        | CallFailure::Hung(_)
        | CallFailure::Cancelled
        | CallFailure::Died(_)
        | CallFailure::NotStarted(_) => ResolveError::Unknown(failure.to_string()),
    })?;
    Ok(resolved.map(|Resolved { verdict, by }| {
        let (verdict, word) = match verdict {
            ScriptVerdict::Approve => (Verdict::Allow, "approved"),
            ScriptVerdict::RequireApproval => (Verdict::Ask, "approval required"),
            ScriptVerdict::Deny => (Verdict::Deny, "denied"),
        };
        ResolverAnswer { verdict, reason: format!("{word} by {by}"), is_confirmation: false }
    }))
}
