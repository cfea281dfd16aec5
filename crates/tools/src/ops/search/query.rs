//! The query of a search, and the matcher that it is compiled to.

use grep_regex::{ErrorKind as RegexFault, RegexMatcher, RegexMatcherBuilder};
use jm_types::{ErrorKind, ToolError};

/// The largest size of a compiled expression.
const MOST_COMPILED: usize = 16 << 20;

/// The text or expression that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// As the call gives it.
    pub text: String,
    /// Text or expression.
    pub syntax: Syntax,
    /// The treatment of upper and lower case.
    pub case: Case,
}

/// The meaning of a query's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Exactly these characters.
    Literal,
    /// A regular expression.
    Regex,
}

/// The treatment of upper and lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They differ.
    Sensitive,
    /// They are the same.
    Insensitive,
}

impl Query {
    pub(super) fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        if self.text.is_empty() {
            return Err(bad("the query is empty".to_owned()));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(self.case == Case::Insensitive)
            .fixed_strings(self.syntax == Syntax::Literal)
            .multi_line(true)
            .crlf(true)
            .size_limit(MOST_COMPILED)
            .dfa_size_limit(MOST_COMPILED);
        builder.build(&self.text).map_err(|error| self.explain(&error))
    }

    fn explain(&self, why: &grep_regex::Error) -> ToolError {
        let error =
            bad(format!("`{}` is not a regular expression: {}", self.text, why.to_string().trim()));
        let names_line_end =
            matches!(why.kind(), RegexFault::NotAllowed(_) | RegexFault::Banned(_));
        match (self.syntax, names_line_end) {
            (_, true) => error.hint("matches lie within one line; search for a part of one line"),
            (Syntax::Regex, false) => error
                .hint("to search for the text as it stands, search for a literal instead of a regular expression"),
            (Syntax::Literal, false) => error,
        }
    }
}

fn bad(message: String) -> ToolError {
    ToolError::new(ErrorKind::BadPattern { message })
}
