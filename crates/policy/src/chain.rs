//! The resolver chain (FL-RESOLVE): whoever has an opinion about a call, asked by priority.
//!
//! Law: the first answer wins. A resolver that fails is reported and passed over; it can neither allow
//! nor deny by failing. A project's resolver may deny and ask, and allow only what the project brought.

use std::fmt;
use std::sync::Arc;

use jm_types::Verdict;

use crate::facts::{CallFacts, ToolOrigin};

/// Priority of the configuration's own lists and rules.
pub const CONFIGURATION: i32 = 100;
/// Priority of a document's settings.
pub const DOCUMENT: i32 = 90;
/// Priority of resolvers that say nothing else.
pub const THIRD_PARTY: i32 = 50;
/// Priority of the last resort.
pub const CATCH_ALL: i32 = 0;

/// On whose behalf a resolver answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    Person,
    Project,
}

/// A resolver's answer, with its reason in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolverAnswer {
    pub verdict: Verdict,
    pub reason: String,
    /// The person's confirmation given beforehand, for this very shape of call; it satisfies
    /// [`crate::Floor::Confirmation`].
    pub is_confirmation: bool,
}

/// Something that has an opinion about calls.
pub trait Resolver: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;

    fn priority(&self) -> i32 {
        THIRD_PARTY
    }

    fn authority(&self) -> Authority {
        Authority::Person
    }

    /// `None` passes the call on; an error is reported and passes it on too.
    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, String>;
}

/// A resolver that failed, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolverFailure {
    pub resolver: String,
    pub message: String,
}

/// The resolvers in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct ResolverChain {
    resolvers: Vec<Arc<dyn Resolver>>,
}

impl ResolverChain {
    /// Adds a resolver, or replaces the one of the same name. Of equal priorities the earlier one is
    /// asked first.
    pub fn register(&mut self, resolver: Arc<dyn Resolver>) {
        self.unregister(resolver.name());
        let place = self.resolvers.partition_point(|other| other.priority() >= resolver.priority());
        self.resolvers.insert(place, resolver);
    }

    /// Removes a resolver by its name; says if there was one.
    pub fn unregister(&mut self, name: &str) -> bool {
        let before = self.resolvers.len();
        self.resolvers.retain(|resolver| resolver.name() != name);
        self.resolvers.len() < before
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Resolver>> {
        self.resolvers.iter().find(|resolver| resolver.name() == name)
    }

    /// All of them, the first to be asked first.
    pub fn get_all(&self) -> &[Arc<dyn Resolver>] {
        &self.resolvers
    }

    pub fn count(&self) -> usize {
        self.resolvers.len()
    }

    /// Asks those whose priority is `wanted` until one answers. Gives the answer with the resolver's name,
    /// and the resolvers that failed before it.
    pub(crate) fn ask_while(
        &self,
        facts: &CallFacts<'_>,
        wanted: impl Fn(i32) -> bool,
    ) -> (Option<(String, ResolverAnswer)>, Vec<ResolverFailure>) {
        let mut failures = Vec::new();
        for resolver in self.resolvers.iter().filter(|resolver| wanted(resolver.priority())) {
            match resolver.resolve(facts) {
                Ok(Some(answer)) if may_say(resolver.as_ref(), &answer, facts) => {
                    return (Some((resolver.name().to_owned(), answer)), failures);
                }
                Ok(_) => {}
                Err(message) => {
                    failures.push(ResolverFailure { resolver: resolver.name().to_owned(), message })
                }
            }
        }
        (None, failures)
    }
}

fn may_say(resolver: &dyn Resolver, answer: &ResolverAnswer, facts: &CallFacts<'_>) -> bool {
    match (resolver.authority(), answer.verdict) {
        (Authority::Person, _) | (Authority::Project, Verdict::Ask | Verdict::Deny) => true,
        (Authority::Project, Verdict::Allow) => facts.origin == ToolOrigin::Project,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::CallEffect;

    #[derive(Debug)]
    struct Fixed(&'static str, i32, Authority, Result<Option<Verdict>, &'static str>);

    impl Resolver for Fixed {
        fn name(&self) -> &str {
            self.0
        }
        fn priority(&self) -> i32 {
            self.1
        }
        fn authority(&self) -> Authority {
            self.2
        }
        fn resolve(&self, _: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, String> {
            let answer =
                |verdict| ResolverAnswer { verdict, reason: self.0.into(), is_confirmation: false };
            self.3.map(|verdict| verdict.map(answer)).map_err(str::to_owned)
        }
    }

    fn chain(resolvers: Vec<Fixed>) -> ResolverChain {
        let mut chain = ResolverChain::default();
        resolvers.into_iter().for_each(|resolver| chain.register(Arc::new(resolver)));
        chain
    }

    fn ask(
        chain: &ResolverChain,
        facts: &CallFacts<'_>,
    ) -> (Option<(String, ResolverAnswer)>, Vec<ResolverFailure>) {
        chain.ask_while(facts, |_| true)
    }

    fn names(chain: &ResolverChain) -> Vec<&str> {
        chain.get_all().iter().map(|resolver| resolver.name()).collect()
    }

    /// FL-RESOLVE: priority decides, then the order of registration.
    #[test]
    fn the_higher_priority_is_asked_first() {
        let person = Authority::Person;
        let mut chain = chain(vec![
            Fixed("late", CATCH_ALL, person, Ok(Some(Verdict::Allow))),
            Fixed("first", THIRD_PARTY, person, Ok(None)),
            Fixed("config", CONFIGURATION, person, Ok(None)),
            Fixed("second", THIRD_PARTY, person, Ok(Some(Verdict::Deny))),
        ]);
        assert_eq!(names(&chain), ["config", "first", "second", "late"]);
        assert_eq!(chain.count(), 4);
        let facts = CallFacts::of_tool("write", CallEffect::Changes);
        let (answer, failures) = ask(&chain, &facts);
        assert_eq!(
            answer.map(|(name, answer)| (name, answer.verdict)),
            Some(("second".into(), Verdict::Deny))
        );
        assert!(failures.is_empty());
        assert!(chain.get("second").is_some());
        assert!(chain.unregister("second"));
        assert!(!chain.unregister("second"));
        assert_eq!(ask(&chain, &facts).0.map(|(name, _)| name), Some("late".into()));
        chain.register(Arc::new(Fixed("late", CONFIGURATION, person, Ok(None))));
        assert_eq!(names(&chain), ["config", "late", "first"], "a name is there once");
    }

    /// FL-RESOLVE: an error is logged and skipped.
    #[test]
    fn a_resolver_that_fails_is_passed_over_and_reported() {
        let chain = chain(vec![
            Fixed("broken", 60, Authority::Person, Err("nil value")),
            Fixed("next", 50, Authority::Person, Ok(Some(Verdict::Ask))),
        ]);
        let (answer, failures) = ask(&chain, &CallFacts::of_tool("write", CallEffect::Changes));
        assert_eq!(answer.map(|(name, _)| name), Some("next".into()));
        assert_eq!(
            failures,
            [ResolverFailure { resolver: "broken".into(), message: "nil value".into() }]
        );
    }

    #[test]
    fn a_project_approves_only_the_tools_it_brought() {
        for (verdict, origin, counts) in [
            (Verdict::Allow, ToolOrigin::Person, false),
            (Verdict::Allow, ToolOrigin::Project, true),
            (Verdict::Ask, ToolOrigin::Person, true),
            (Verdict::Deny, ToolOrigin::Person, true),
        ] {
            let chain = chain(vec![Fixed("project", 50, Authority::Project, Ok(Some(verdict)))]);
            let facts = CallFacts { origin, ..CallFacts::of_tool("t", CallEffect::Runs) };
            assert_eq!(ask(&chain, &facts).0.is_some(), counts, "{verdict:?} {origin:?}");
        }
    }
}
