//! The resolver chain (FL-RESOLVE): whoever has an opinion about a call, asked by priority.
//!
//! Law: the first answer wins. A resolver that fails is reported and passed over; it can neither allow
//! nor deny by failing. A project's resolver may deny and ask, and allow only what the project brought.
//! Where a whole source of resolvers cannot be asked, what it would have said is unknown: a side effect is
//! then asked about.

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
    /// The person who runs the program: any answer counts.
    Person,
    /// Files of the project: may ask and deny, and allow only the project's own tools.
    Project,
    /// A document that the person has not trusted: it may only tighten.
    Document,
}

/// A resolver's answer, with its reason in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolverAnswer {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// One line for the person, in the resolver's own words.
    pub reason: String,
    /// The person's confirmation given beforehand, for this very shape of call; it satisfies
    /// [`crate::Floor::Confirmation`].
    pub is_confirmation: bool,
}

/// Something that has an opinion about calls.
pub trait Resolver: Send + Sync + fmt::Debug {
    /// The name under which it is registered, shown with its answers.
    fn name(&self) -> &str;

    /// The place in the chain; a higher number is asked earlier.
    fn priority(&self) -> i32 {
        THIRD_PARTY
    }

    /// The weight of its answers.
    fn authority(&self) -> Authority {
        Authority::Person
    }

    /// True for one that speaks for the person's `auto_approve`, and so replaces its default.
    fn is_configuration(&self) -> bool {
        false
    }

    /// `None` passes the call on; an error is reported and passes it on too.
    fn resolve(&self, facts: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError>;
}

/// A reason why a resolver has no opinion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// Its own error: it is passed over.
    Failed(String),
    /// It could not be asked to the end, so its opinion is unknown.
    Unknown(String),
}

/// Resolvers that are found when a call is judged, such as those of a script.
pub trait ResolverSource: Send + Sync + fmt::Debug {
    /// The source's name, for the log.
    fn name(&self) -> String;

    /// Those that are there now. The error is why nobody knows.
    fn resolvers(&self) -> Result<Vec<Arc<dyn Resolver>>, String>;
}

/// A resolver that failed, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolverFailure {
    /// The name of the resolver that failed.
    pub resolver: String,
    /// Its error, as it is told to the person.
    pub message: String,
}

/// The resolvers in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct ResolverChain {
    resolvers: Vec<Arc<dyn Resolver>>,
    sources: Vec<Arc<dyn ResolverSource>>,
}

/// The resolvers of one decision, and what went wrong with them so far.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    resolvers: Vec<Arc<dyn Resolver>>,
    pub(crate) failures: Vec<ResolverFailure>,
    /// The first of those whose opinion is unknown.
    pub(crate) unknown: Option<ResolverFailure>,
    /// A document would approve the call, which does not count by itself.
    pub(crate) agrees: bool,
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

    /// Finds a resolver by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Resolver>> {
        self.resolvers.iter().find(|resolver| resolver.name() == name)
    }

    /// All of them, the first to be asked first.
    pub fn get_all(&self) -> &[Arc<dyn Resolver>] {
        &self.resolvers
    }

    /// The number of registered resolvers, those of sources not counted.
    pub fn count(&self) -> usize {
        self.resolvers.len()
    }

    /// Adds resolvers that are found when a call is judged.
    pub fn add_source(&mut self, source: Arc<dyn ResolverSource>) {
        self.sources.push(source);
    }

    /// All resolvers of this moment, those of sources behind the others of their priority.
    pub(crate) fn gather(&self) -> Asking {
        let mut asking = Asking { resolvers: self.resolvers.clone(), ..Asking::default() };
        for source in &self.sources {
            match source.resolvers() {
                Ok(found) => asking.resolvers.extend(found),
                Err(message) => asking.miss(source.name(), message),
            }
        }
        // Stable, so of equal priorities the earlier one stays first.
        asking.resolvers.sort_by_key(|resolver| std::cmp::Reverse(resolver.priority()));
        asking
    }
}

impl Asking {
    /// True if one of them stands for the `auto_approve` of the person or of a document.
    pub(crate) fn has_configuration(&self) -> bool {
        let counts = |resolver: &Arc<dyn Resolver>| {
            resolver.is_configuration() && resolver.authority() != Authority::Project
        };
        self.resolvers.iter().any(counts)
    }

    /// Asks those whose priority is `wanted` until one answers; gives the answer with the resolver's name.
    pub(crate) fn ask_while(
        &mut self,
        facts: &CallFacts<'_>,
        wanted: impl Fn(i32) -> bool,
    ) -> Option<(String, ResolverAnswer)> {
        for resolver in self.resolvers.clone() {
            if !wanted(resolver.priority()) {
                continue;
            }
            let name = resolver.name().to_owned();
            match resolver.resolve(facts) {
                Ok(Some(answer)) if may_say(resolver.as_ref(), &answer, facts) => {
                    return Some((name, answer));
                }
                Ok(Some(_)) => self.agrees |= resolver.authority() == Authority::Document,
                Ok(None) => {}
                Err(ResolveError::Failed(message)) => {
                    self.failures.push(ResolverFailure { resolver: name, message });
                }
                Err(ResolveError::Unknown(message)) => self.miss(name, message),
            }
        }
        None
    }

    fn miss(&mut self, resolver: String, message: String) {
        let failure = ResolverFailure { resolver, message };
        self.failures.push(failure.clone());
        self.unknown.get_or_insert(failure);
    }
}

fn may_say(resolver: &dyn Resolver, answer: &ResolverAnswer, facts: &CallFacts<'_>) -> bool {
    match (resolver.authority(), answer.verdict) {
        (Authority::Person, _) => true,
        (Authority::Project | Authority::Document, Verdict::Ask | Verdict::Deny) => true,
        (Authority::Project, Verdict::Allow) => facts.origin == ToolOrigin::Project,
        (Authority::Document, Verdict::Allow) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jm_types::ToolEffect;

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
        fn resolve(&self, _: &CallFacts<'_>) -> Result<Option<ResolverAnswer>, ResolveError> {
            let answer =
                |verdict| ResolverAnswer { verdict, reason: self.0.into(), is_confirmation: false };
            let failed = |text: &str| ResolveError::Failed(text.to_owned());
            self.3.map(|verdict| verdict.map(answer)).map_err(failed)
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
        let mut asking = chain.gather();
        (asking.ask_while(facts, |_| true), asking.failures)
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
        let facts = CallFacts::of_tool("write", ToolEffect::Changes);
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
        let (answer, failures) = ask(&chain, &CallFacts::of_tool("write", ToolEffect::Changes));
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
            let facts = CallFacts { origin, ..CallFacts::of_tool("t", ToolEffect::Runs) };
            assert_eq!(ask(&chain, &facts).0.is_some(), counts, "{verdict:?} {origin:?}");
        }
    }

    #[derive(Debug)]
    struct Script(Result<Vec<(&'static str, i32)>, &'static str>);

    impl ResolverSource for Script {
        fn name(&self) -> String {
            "script".to_owned()
        }
        fn resolvers(&self) -> Result<Vec<Arc<dyn Resolver>>, String> {
            let one = |(name, priority): &(&'static str, i32)| {
                let says = Ok(Some(Verdict::Deny));
                Arc::new(Fixed(name, *priority, Authority::Person, says)) as Arc<dyn Resolver>
            };
            self.0.as_ref().map(|all| all.iter().map(one).collect()).map_err(|why| (*why).into())
        }
    }

    /// FL-RESOLVE: resolvers of scripts stand among the others by their priority.
    #[test]
    fn resolvers_of_a_source_are_found_when_a_call_is_judged() {
        let person = Authority::Person;
        let mut chain = chain(vec![Fixed("own", THIRD_PARTY, person, Ok(Some(Verdict::Allow)))]);
        let facts = CallFacts::of_tool("write", ToolEffect::Changes);
        chain.add_source(Arc::new(Script(Ok(vec![("late", THIRD_PARTY)]))));
        assert_eq!(ask(&chain, &facts).0.map(|(name, _)| name), Some("own".into()));
        chain.add_source(Arc::new(Script(Ok(vec![("early", 200)]))));
        assert_eq!(ask(&chain, &facts).0.map(|(name, _)| name), Some("early".into()));
        chain.add_source(Arc::new(Script(Err("it hung"))));
        let asking = chain.gather();
        let missed = ResolverFailure { resolver: "script".into(), message: "it hung".into() };
        assert_eq!(asking.unknown, Some(missed.clone()));
        assert_eq!(asking.failures, [missed]);
    }
}
