//! Remembered answers: rules that a person stored by answering "always", with their scope and expiry.
//!
//! Law: this is data; the caller keeps it in the state directory, never in the workspace. What has expired
//! or belongs to another project or session is as if it were not there.

use serde::{Deserialize, Serialize};

/// How far an answer reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RuleScope {
    /// One session.
    Session {
        /// The id of that session.
        session: String,
    },
    /// Every session in one workspace.
    Project {
        /// The absolute path of its first root.
        root: String,
    },
    /// Every workspace of this person.
    Everywhere,
}

/// An answer "always", as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedRule {
    /// The name by which `jm policy revoke` takes it; never used twice.
    pub number: u64,
    /// The rule as `TOOL: PATTERN`.
    pub rule: String,
    /// The reach of the rule.
    pub scope: RuleScope,
    /// Seconds since 1970.
    pub since: u64,
    /// Seconds since 1970 at which it ends; `None` for no end.
    pub until: Option<u64>,
    /// A hash that must still hold: of an external tool's program and definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_to: Option<String>,
    /// A no to switching the tool on: it stays off, and nobody is asked again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_declined: bool,
}

/// The place that asks which rules are in force: a session in a project, now.
#[derive(Debug, Clone, Copy)]
pub struct RuleSite<'a> {
    /// The id of the running session.
    pub session: &'a str,
    /// The workspace root.
    pub root: &'a str,
    /// Seconds since 1970.
    pub now: u64,
}

/// All remembered answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedRules {
    rules: Vec<RememberedRule>,
    last: u64,
}

impl RememberedRules {
    /// Stores an answer and gives its number. One that is there already with the same reach is renewed.
    pub fn add(&mut self, rule: String, scope: RuleScope, since: u64, until: Option<u64>) -> u64 {
        if let Some(known) =
            self.rules.iter_mut().find(|known| known.rule == rule && known.scope == scope)
        {
            known.until = until;
            known.is_declined = false;
            return known.number;
        }
        self.last += 1;
        let (number, bound_to, is_declined) = (self.last, None, false);
        self.rules.push(RememberedRule {
            number,
            rule,
            scope,
            since,
            until,
            bound_to,
            is_declined,
        });
        number
    }

    /// Stores that a tool stays off; gives its number.
    pub fn decline(&mut self, tool: String, scope: RuleScope, since: u64) -> u64 {
        let number = self.add(tool, scope, since, None);
        let declined = self.rules.iter_mut().filter(|rule| rule.number == number);
        declined.for_each(|rule| rule.is_declined = true);
        number
    }

    /// Forgets an answer; gives it back if it was there.
    pub fn revoke(&mut self, number: u64) -> Option<RememberedRule> {
        let place = self.rules.iter().position(|rule| rule.number == number)?;
        Some(self.rules.remove(place))
    }

    /// Drops what has expired, and answers of sessions that are not `alive`.
    pub fn tidy(&mut self, now: u64, alive: impl Fn(&str) -> bool) {
        self.rules.retain(|rule| {
            let lives = match &rule.scope {
                RuleScope::Session { session } => alive(session),
                RuleScope::Project { .. } | RuleScope::Everywhere => true,
            };
            lives && rule.is_valid(now)
        });
    }

    /// All rules in the order of storing, expired ones too.
    pub fn all(&self) -> &[RememberedRule] {
        &self.rules
    }

    /// The rules that count for this session, workspace and moment.
    pub fn in_force<'a>(&'a self, site: RuleSite<'a>) -> impl Iterator<Item = &'a RememberedRule> {
        self.rules.iter().filter(move |rule| rule.is_in_force(site))
    }
}

impl RememberedRule {
    fn is_valid(&self, now: u64) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    fn is_in_force(&self, site: RuleSite<'_>) -> bool {
        let reaches = match &self.scope {
            RuleScope::Session { session } => session == site.session,
            RuleScope::Project { root } => root == site.root,
            RuleScope::Everywhere => true,
        };
        reaches && self.is_valid(site.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site<'a>(session: &'a str, root: &'a str, now: u64) -> RuleSite<'a> {
        RuleSite { session, root, now }
    }

    #[test]
    fn an_answer_counts_only_where_and_while_it_was_given_for() {
        let mut rules = RememberedRules::default();
        let project = || RuleScope::Project { root: "/p".into() };
        assert_eq!(rules.add("a".into(), RuleScope::Session { session: "s".into() }, 5, None), 1);
        assert_eq!(rules.add("b".into(), project(), 5, Some(10)), 2);
        assert_eq!(rules.add("c".into(), RuleScope::Everywhere, 5, None), 3);
        let cases: &[(RuleSite<'_>, &[&str])] = &[
            (site("s", "/p", 9), &["a", "b", "c"]),
            (site("s", "/p", 10), &["a", "c"]),
            (site("t", "/p", 9), &["b", "c"]),
            (site("t", "/q", 9), &["c"]),
        ];
        for (site, expected) in cases {
            let found: Vec<&str> = rules.in_force(*site).map(|rule| rule.rule.as_str()).collect();
            assert_eq!(found, *expected, "{site:?}");
        }
        assert_eq!(rules.add("b".into(), project(), 8, None), 2, "the same answer is renewed");
        assert_eq!(rules.revoke(2).map(|rule| rule.rule), Some("b".into()));
        assert_eq!(rules.revoke(2), None);
        assert_eq!(rules.decline("d".into(), project(), 9), 4, "no number is used twice");
        assert!(rules.all().iter().any(|rule| rule.number == 4 && rule.is_declined));
        assert_eq!(rules.add("d".into(), project(), 9, None), 4);
        assert!(!rules.all().iter().any(|rule| rule.is_declined), "a later yes counts");
        rules.tidy(20, |session| session == "t");
        let left: Vec<u64> = rules.all().iter().map(|rule| rule.number).collect();
        assert_eq!(left, [3, 4]);
    }
}
