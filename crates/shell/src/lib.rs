//! Command lines: which programs one would run, and what rules say to them.
//!
//! A line becomes its parts, each a program with its arguments, wrappers taken off. A part is judged
//! by its words ([`Danger`]), and rules allow, ask about or deny it ([`CommandRules`]).
//!
//! Law: nothing here runs, reads or writes anything. What is not understood is never called harmless.
//!
//! ```
//! use jm_shell::{CommandLine, CommandRules, Readers, RuleContext, RuleSource};
//! use jm_types::Verdict;
//!
//! let rules = CommandRules::new(&[
//!     RuleSource::new(Verdict::Allow, "cargo test *"),
//!     RuleSource::new(Verdict::Deny, "rm *"),
//! ])?;
//! let context = RuleContext { readers: Readers::Allowed, roots: &["/home/me/project"] };
//!
//! let line = CommandLine::of_shell("cd crates && timeout 60 cargo test 2>&1 | tail");
//! assert_eq!(rules.decide(&line, &context).verdict, Verdict::Allow);
//!
//! let line = CommandLine::of_shell("cargo test --config x; cargo build");
//! let decision = rules.decide(&line, &context);
//! assert_eq!(decision.verdict, Verdict::Ask);
//! assert_eq!(decision.explain(&line, &rules), [
//!     "no rule for `cargo test --config x`; `cargo test *` does not match: `--config` loads code \
//!      or settings and is not spelt out in the rule",
//!     "no rule for `cargo build`",
//! ]);
//!
//! let line = CommandLine::of_shell("cargo test && cargo build --release");
//! let offered = rules.derive(&line, &context).unwrap_or_default();
//! assert_eq!(offered[0].pattern, "cargo build *");
//! assert!(offered[0].runs_project_code);
//!
//! let line = CommandLine::of_argv(&["sh", "-c", "ls | xargs rm"].map(str::to_owned));
//! assert_eq!(rules.decide(&line, &context).verdict, Verdict::Deny);
//! # Ok::<(), jm_shell::RuleError>(())
//! ```

#![warn(missing_docs)]

mod command_risk;
mod find;
mod line;
mod options;
mod quoting;
mod reads;
mod redirect;
mod rules;
mod syntax;
mod variables;
mod word;
mod wrappers;

pub use command_risk::{Danger, DangerClass};
pub use line::{CommandLine, CommandPart};
pub use rules::{
    Because, CommandDecision, CommandRules, PartDecision, PatternError, Readers, RuleContext,
    RuleError, RuleSource, RuleText,
};
