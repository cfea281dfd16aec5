//! May this call run: lists, rules, presets, resolvers, the mode, and the call's own floor.
//!
//! Pure: it reads no file and asks no person. The engine hands in the facts of a prepared call and gets a
//! decision with its reason; faces show the question and hand the answer back.

#![warn(missing_docs)]

mod chain;
mod compiled_rules;
mod decision;
mod facts;
mod offer;
mod policy;
mod presets;
mod remembered;
mod rule;

pub use chain::{
    Authority, CATCH_ALL, CONFIGURATION, DOCUMENT, ResolveError, Resolver, ResolverAnswer,
    ResolverChain, ResolverFailure, ResolverSource, THIRD_PARTY,
};
pub use compiled_rules::RuleBook;
pub use decision::{Decision, Reason, RuleOrigin, Step};
pub use facts::{CallFacts, Floor, ToolOrigin, TouchedPath};
pub use jm_types::{AlwaysOffer, OfferedScope};
pub use policy::{Judged, Policy};
pub use presets::{ApprovalList, BuiltIn, ListError, Preset};
pub use remembered::{RememberedRule, RememberedRules, RuleScope, RuleSite};
pub use rule::{HOST_RULE, PolicyRule, PolicyRuleError, Subject};
