//! A shell's command line, taken apart by the grammar of bash.
//!
//! Law: every kind of syntax that is let through is named here. A new kind, an error of the parser
//! or a character that shells disagree about makes the whole unknown.

use tree_sitter::{Node, Parser};

use super::{Class, DEEPEST, Danger, Word, assigning, programs, worst, wrappers};

/// A longer script is not read.
const LONGEST: usize = 64 * 1024;
/// How deep syntax is followed; the parser itself does not recurse.
const MOST_NESTED: usize = 100;

pub(super) fn judge(script: &str, depth: usize) -> Danger {
    if depth > DEEPEST || script.len() > LONGEST {
        return Danger::unknown("the command is too deep or too long to be understood");
    }
    let is_odd = |c: char| !c.is_ascii() || (c.is_ascii_control() && c != '\n' && c != '\t');
    if script.contains(is_odd) {
        return Danger::unknown("characters outside ASCII may mean something else to a shell");
    }
    let mut parser = Parser::new();
    let tree = match parser.set_language(&tree_sitter_bash::LANGUAGE.into()) {
        Ok(()) => parser.parse(script, None),
        Err(_) => None,
    };
    match tree {
        Some(tree) if !tree.root_node().has_error() => {
            Walk { script, depth }.statement(tree.root_node(), 0)
        }
        _ => Danger::unknown("its shell syntax is not understood"),
    }
}

struct Walk<'a> {
    script: &'a str,
    depth: usize,
}

/// A word, or why it cannot be judged.
type Read = Result<Word, Danger>;

impl<'a> Walk<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.script.get(node.byte_range()).unwrap_or_default()
    }

    fn not_understood(&self, node: Node<'_>) -> Danger {
        let text: String = self.text(node).chars().take(40).collect();
        Danger::unknown(format!("`{text}` is shell syntax that is not judged"))
    }

    fn statement(&self, node: Node<'_>, nested: usize) -> Danger {
        if nested > MOST_NESTED {
            return Danger::unknown("the command is nested too deeply");
        }
        match node.kind() {
            "compound_statement" if self.text(node).starts_with("((") => self.not_understood(node),
            "program" | "list" | "pipeline" | "subshell" | "compound_statement"
            | "negated_command" | "if_statement" | "elif_clause" | "else_clause"
            | "while_statement" | "for_statement" | "do_group" | "case_statement" | "case_item" => {
                worst(children(node).map(|child| self.statement(child, nested + 1)))
            }
            "command" => self.command(node, nested),
            "redirected_statement" => {
                worst(children(node).map(|child| match child.kind().ends_with("redirect") {
                    true => self.redirect(child, nested + 1),
                    false => self.statement(child, nested + 1),
                }))
            }
            "variable_assignment" => self.assignment(node, nested),
            "test_command" if self.text(node).starts_with("[ ") => self.test(node, nested),
            "comment" => self.comment(node),
            // The variable of `for` and `select` is assigned to.
            "variable_name" => assigned(self.text(node)),
            "extglob_pattern" if !self.text(node).contains(['$', '`', '(']) => Danger::none(),
            "word"
            | "string"
            | "raw_string"
            | "number"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "command_substitution" => self.value(node, nested),
            _ => self.not_understood(node),
        }
    }

    fn value(&self, node: Node<'_>, nested: usize) -> Danger {
        self.word(node, nested + 1).map_or_else(|danger| danger, |_| Danger::none())
    }

    /// What the grammar calls a comment must be one to every shell.
    fn comment(&self, node: Node<'_>) -> Danger {
        let before = self.script[..node.start_byte()].chars().next_back();
        match before.is_none_or(|c| c == ' ' || c == '\n' || c == '\t') {
            true => Danger::none(),
            false => self.not_understood(node),
        }
    }

    /// `x=1` by itself. Only names that no program listens to.
    fn assignment(&self, node: Node<'_>, nested: usize) -> Danger {
        let name = node.child_by_field_name("name").map(|name| self.text(name)).unwrap_or_default();
        let named = assigned(name);
        let value = node.child_by_field_name("value");
        let value = value.map_or_else(Danger::none, |value| self.value(value, nested));
        match self.text(node).strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) {
            true => named.and(value),
            false => self.not_understood(node),
        }
    }

    fn command(&self, node: Node<'_>, nested: usize) -> Danger {
        let mut found = Danger::none();
        let mut words = Vec::new();
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => {
                    let name = child.child_by_field_name("name").map(|name| self.text(name));
                    let value = child.child_by_field_name("value");
                    found = found.and(assigning(name.unwrap_or_default()));
                    found =
                        value.map_or(found.clone(), |value| found.and(self.value(value, nested)));
                }
                "command_name" => {
                    let name = children(child).next().unwrap_or(child);
                    self.push(name, nested, &mut words, &mut found);
                }
                kind if kind.ends_with("redirect") => {
                    found = found.and(self.redirect(child, nested + 1));
                }
                _ => self.push(child, nested, &mut words, &mut found),
            }
        }
        found.and(wrappers::judge(&words, self.depth + 1))
    }

    fn push(&self, node: Node<'_>, nested: usize, words: &mut Vec<Word>, found: &mut Danger) {
        match self.word(node, nested + 1) {
            Ok(word) => words.push(word),
            Err(danger) => {
                words.push(Word::Opaque);
                *found = found.clone().and(danger);
            }
        }
    }

    /// `[ … ]`, judged as the command it is.
    fn test(&self, node: Node<'_>, nested: usize) -> Danger {
        let mut words = Vec::new();
        let mut found = Danger::none();
        self.test_words(node, nested + 1, &mut words, &mut found);
        found.and(programs::test(&words))
    }

    fn test_words(&self, node: Node<'_>, nested: usize, words: &mut Vec<Word>, found: &mut Danger) {
        if nested > MOST_NESTED {
            *found = Danger::unknown("the command is nested too deeply");
            return;
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "[" | "]" | "(" | ")" => {}
                "unary_expression" | "binary_expression" | "parenthesized_expression" => {
                    self.test_words(child, nested + 1, words, found);
                }
                _ if !child.is_named() || child.kind() == "test_operator" => {
                    words.push(Word::Literal(self.text(child).to_owned()));
                }
                _ => self.push(child, nested, words, found),
            }
        }
    }

    fn word(&self, node: Node<'_>, nested: usize) -> Read {
        if nested > MOST_NESTED {
            return Err(Danger::unknown("the command is nested too deeply"));
        }
        let text = self.text(node);
        match node.kind() {
            "word" | "number" => Ok(bare(text)),
            "raw_string" => Ok(Word::Literal(text.trim_matches('\'').to_owned())),
            "string" => self.string(node, nested),
            "concatenation" => self.concatenation(node, nested),
            "simple_expansion" => Ok(Word::Opaque),
            "expansion" if is_plain_variable(text) => Ok(Word::Opaque),
            "command_substitution" => self.substitution(node, nested),
            "process_substitution" if text.starts_with('<') => self.substitution(node, nested),
            _ => Err(self.not_understood(node)),
        }
    }

    /// The commands within are judged; their output can be anything.
    fn substitution(&self, node: Node<'_>, nested: usize) -> Read {
        let inner = worst(children(node).map(|child| match child.kind() {
            "file_redirect" => self.redirect(child, nested + 1),
            _ => self.statement(child, nested + 1),
        }));
        match inner.class {
            Class::ReadOnly => Ok(Word::Opaque),
            Class::Unknown | Class::Destructive => Err(inner),
        }
    }

    fn string(&self, node: Node<'_>, nested: usize) -> Read {
        let text = self.text(node);
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let Some(inner) = inner else { return Err(self.not_understood(node)) };
        let mut word = Word::Literal(unescape(inner, |c| "\"\\$`".contains(c)));
        for child in children(node).filter(|child| child.kind() != "string_content") {
            self.word(child, nested + 1)?;
            word = Word::Opaque;
        }
        // A `$` or a backquote that the grammar saw nothing in would still be one to the shell.
        let is_open = word != Word::Opaque && unescaped(inner, |c| c == '$' || c == '`');
        if is_open { Err(self.not_understood(node)) } else { Ok(word) }
    }

    fn concatenation(&self, node: Node<'_>, nested: usize) -> Read {
        let mut joined = Some(String::new());
        for child in children(node) {
            let word = self.word(child, nested + 1)?;
            joined = joined.and_then(|so_far| word.literal().map(|text| so_far + text));
        }
        // Braces and patterns may be spread over the parts.
        let is_pattern = expands(self.text(node));
        Ok(match joined {
            Some(text) if !is_pattern => Word::Literal(text),
            _ => Word::Opaque,
        })
    }

    fn redirect(&self, node: Node<'_>, nested: usize) -> Danger {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, nested),
            "herestring_redirect" if children(node).count() == 1 => {
                worst(children(node).map(|word| self.value(word, nested)))
            }
            "heredoc_redirect" => self.heredoc(node, nested),
            _ => self.not_understood(node),
        }
    }

    /// The grammar does not see every expansion in a here-document, so where the shell expands, none
    /// may be there.
    fn heredoc(&self, node: Node<'_>, nested: usize) -> Danger {
        let part = |kind: &str| children(node).find(|child| child.kind() == kind);
        let (Some(start), Some(_)) = (part("heredoc_start"), part("heredoc_body")) else {
            return self.not_understood(node);
        };
        let is_quoted = self.text(start).contains(['\'', '"', '\\']);
        if !is_quoted && self.text(node).contains(['$', '`']) {
            return Danger::unknown("a here-document may run what stands in it");
        }
        worst(children(node).map(|child| match child.kind() {
            "heredoc_start" | "heredoc_end" | "heredoc_body" | "file_descriptor" => Danger::none(),
            "file_redirect" => self.file_redirect(child, nested),
            _ => self.statement(child, nested + 1),
        }))
    }

    fn file_redirect(&self, node: Node<'_>, nested: usize) -> Danger {
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|child| !child.is_named());
        let operator = operator.map(|operator| self.text(operator)).unwrap_or_default();
        // The grammar takes words behind the target for more targets; to a shell they are arguments.
        if children(node).filter(|child| child.kind() != "file_descriptor").count() > 1 {
            return self.not_understood(node);
        }
        let Some(target) = node.child_by_field_name("destination") else {
            return match operator {
                ">&-" | "<&-" => Danger::none(),
                _ => self.not_understood(node),
            };
        };
        let word = match self.word(target, nested + 1) {
            Ok(word) => word,
            Err(danger) => return danger,
        };
        let is_stream =
            |text: &str| text == "-" || text.chars().all(|digit| digit.is_ascii_digit());
        match (operator, word.literal()) {
            ("<", _) => Danger::none(),
            (">&" | "<&", Some(stream)) if is_stream(stream) => Danger::none(),
            (_, Some("/dev/null" | "/dev/stdout" | "/dev/stderr")) => Danger::none(),
            (_, Some(file)) => Danger::destructive(format!("`{operator}` writes to {file}")),
            (_, None) => Danger::destructive(format!("`{operator}` writes to a file")),
        }
    }
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let children: Vec<_> = node.named_children(&mut cursor).collect();
    children.into_iter()
}

/// A variable that a script sets: only names that no program listens to.
fn assigned(name: &str) -> Danger {
    let is_own = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if is_own { Danger::none() } else { assigning(name) }
}

/// An unquoted word: patterns, braces and `~` are expanded by the shell.
fn bare(text: &str) -> Word {
    match text.starts_with('~') || expands(text) {
        true => Word::Opaque,
        false => Word::Literal(unescape(text, |_| true)),
    }
}

/// Patterns, and braces with something to choose from.
fn expands(text: &str) -> bool {
    let chooses = text.contains(',') || text.contains("..");
    unescaped(text, |c| "*?[".contains(c) || (c == '{' && chooses))
}

/// `$x` written as `${x}`, without any of the forms that do something.
fn is_plain_variable(text: &str) -> bool {
    let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    inner.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Removes backslashes before characters that they quote, and joins continued lines.
fn unescape(text: &str, quotes: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some('\n')) => {
                rest.next();
            }
            ('\\', Some(next)) if quotes(next) => {
                plain.push(next);
                rest.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// Whether such a character occurs without a backslash before it.
fn unescaped(text: &str, wanted: impl Fn(char) -> bool) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\\' {
            rest.next();
        } else if wanted(c) {
            return true;
        }
    }
    false
}
