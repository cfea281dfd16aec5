//! A shell's script, taken apart by the grammar of bash (tree-sitter).
//!
//! Law: every kind of syntax that is let through is named here. A new kind, an error of the parser
//! or a character that shells disagree about makes the part opaque.

use tree_sitter::{Node, Parser, Tree};

use crate::quoting::{
    expands, has_unescaped, is_plain_variable, known_start, unescape, unquoted_word,
};
use crate::redirect::{FileUse, Redirections};
use crate::word::ShellWord;
use jm_types::text::reveal;

/// A longer script is not read.
const LONGEST: usize = 64 * 1024;
/// How deep syntax is followed; the parser itself does not recurse.
const MOST_NESTED: usize = 100;
/// How deep here-documents within here-documents are followed.
const DEEPEST_HEREDOC: usize = 4;

/// The reason that a word outside ASCII gives.
pub(crate) const OUTSIDE_ASCII: &str =
    "characters outside ASCII may mean something else to a shell";

/// One simple command as it stands in a script. Without words it only assigns or redirects.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) words: Vec<ShellWord>,
    /// Variables set for it, with values where these are known.
    pub(crate) environment: Vec<(String, Option<String>)>,
    pub(crate) redirections: Redirections,
}

/// A piece of a script in the order of its text; substitutions come before the command they are in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    Command(SimpleCommand),
    /// Syntax that cannot be understood before it runs.
    Opaque {
        text: String,
        why: String,
    },
}

/// The statements of a script.
pub(crate) fn statements_of(script: &str) -> Vec<Statement> {
    statements_within(script, 0)
}

fn statements_within(script: &str, heredocs: usize) -> Vec<Statement> {
    let opaque = |why: &str| {
        vec![Statement::Opaque {
            text: script.chars().take(LONGEST).collect(),
            why: why.to_owned(),
        }]
    };
    if script.len() > LONGEST || heredocs > DEEPEST_HEREDOC {
        return opaque("the command is too deep or too long to be understood");
    }
    let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    if script.contains(is_odd) || reveal(script) != script {
        return opaque(OUTSIDE_ASCII);
    }
    let Some(tree) = parse(script) else { return opaque("its shell syntax is not understood") };
    if !stays_in_prose(script, &tree) {
        return opaque(OUTSIDE_ASCII);
    }
    let mut reader = ScriptReader { script, heredocs, found: Vec::new() };
    reader.statement(tree.root_node(), 0);
    reader.found
}

fn parse(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(script, None).filter(|tree| !tree.root_node().has_error())
}

/// Characters outside ASCII stand only in comments, in here-documents and in quoted words with
/// blanks, which are prose. A look-alike in a name is none of these.
fn stays_in_prose(script: &str, tree: &Tree) -> bool {
    let mut others = script.char_indices().filter(|(_, c)| !c.is_ascii());
    others.all(|(at, c)| {
        let node = tree.root_node().descendant_for_byte_range(at, at + c.len_utf8());
        node.is_some_and(|node| match node.kind() {
            "comment" | "heredoc_body" | "heredoc_content" => true,
            "raw_string" | "string_content" | "string" => {
                script.get(node.byte_range()).is_some_and(|text| text.contains(' '))
            }
            _ => false,
        })
    })
}

struct ScriptReader<'a> {
    script: &'a str,
    heredocs: usize,
    found: Vec<Statement>,
}

impl<'a> ScriptReader<'a> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.script.get(node.byte_range()).unwrap_or_default()
    }

    fn opaque(&mut self, node: Node<'_>, why: impl Into<String>) {
        let text = self.text(node).to_owned();
        self.found.push(Statement::Opaque { text, why: why.into() });
    }

    fn not_understood(&mut self, node: Node<'_>) {
        let text: String = self.text(node).chars().take(40).collect();
        self.opaque(node, format!("`{text}` is shell syntax that is not judged"));
    }

    fn is_too_deep(&mut self, node: Node<'_>, nested: usize) -> bool {
        let is_too_deep = nested > MOST_NESTED;
        if is_too_deep {
            self.opaque(node, "the command is nested too deeply");
        }
        is_too_deep
    }

    fn each(&mut self, node: Node<'_>, nested: usize) {
        for child in children(node) {
            self.statement(child, nested + 1);
        }
    }

    fn statement(&mut self, node: Node<'_>, nested: usize) {
        if self.is_too_deep(node, nested) {
            return;
        }
        match node.kind() {
            "compound_statement" if self.text(node).starts_with("((") => self.not_understood(node),
            "program" | "list" | "pipeline" | "subshell" | "compound_statement"
            | "negated_command" | "if_statement" | "elif_clause" | "else_clause"
            | "while_statement" | "for_statement" | "do_group" | "case_statement" | "case_item" => {
                self.each(node, nested);
            }
            // Its name may hide a program, its body is seen by rules that forbid.
            "function_definition" => {
                self.not_understood(node);
                let body = node.child_by_field_name("body");
                body.into_iter().for_each(|body| self.statement(body, nested + 1));
            }
            "command" => self.command(node, nested),
            "redirected_statement" => self.redirected(node, nested),
            "variable_assignment" => self.assignment(node, nested),
            "test_command" if self.text(node).starts_with("[ ") => self.test(node, nested),
            "comment" => self.comment(node),
            // The variable of `for` and `select` is assigned to.
            "variable_name" => self.assigns(self.text(node)),
            "extglob_pattern" if !self.text(node).contains(['$', '`', '(']) => {}
            "word"
            | "string"
            | "raw_string"
            | "number"
            | "concatenation"
            | "simple_expansion"
            | "expansion"
            | "command_substitution" => {
                self.word(node, nested + 1);
            }
            _ => self.not_understood(node),
        }
    }

    fn assigns(&mut self, name: &str) {
        let environment = vec![(name.to_owned(), None)];
        self.found.push(Statement::Command(SimpleCommand { environment, ..Default::default() }));
    }

    /// A comment of the grammar must be one to every shell.
    fn comment(&mut self, node: Node<'_>) {
        let before = self.script[..node.start_byte()].chars().next_back();
        if !before.is_none_or(|c| c == ' ' || c == '\n' || c == '\t') {
            self.not_understood(node);
        }
    }

    /// `x=1` by itself.
    fn assignment(&mut self, node: Node<'_>, nested: usize) {
        match self.assigned(node, nested) {
            Some(assignment) => self.found.push(Statement::Command(SimpleCommand {
                environment: vec![assignment],
                ..Default::default()
            })),
            None => self.not_understood(node),
        }
    }

    /// The name and the value of `x=1`; `None` for `x+=1` and `x[1]=1`.
    fn assigned(&mut self, node: Node<'_>, nested: usize) -> Option<(String, Option<String>)> {
        let name = node.child_by_field_name("name").map(|name| self.text(name)).unwrap_or_default();
        let value = match node.child_by_field_name("value") {
            Some(value) => self.word(value, nested + 1).literal().map(str::to_owned),
            None => Some(String::new()),
        };
        let is_plain = self.text(node).strip_prefix(name)?.starts_with('=') && !name.is_empty();
        is_plain.then(|| (name.to_owned(), value))
    }

    fn command(&mut self, node: Node<'_>, nested: usize) {
        let mut command = SimpleCommand::default();
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => match self.assigned(child, nested) {
                    Some(assignment) => command.environment.push(assignment),
                    None => self.not_understood(child),
                },
                "command_name" => {
                    let name = children(child).next().unwrap_or(child);
                    let word = self.word(name, nested + 1);
                    command.words.push(word);
                }
                kind if kind.ends_with("redirect") => {
                    self.redirect(child, nested + 1, &mut command.redirections);
                }
                _ => {
                    let word = self.word(child, nested + 1);
                    command.words.push(word);
                }
            }
        }
        self.found.push(Statement::Command(command));
    }

    /// A redirection behind a command, a pipeline or a list belongs to the last command in it; one
    /// behind a group is a part of its own.
    fn redirected(&mut self, node: Node<'_>, nested: usize) {
        let mut redirections = Redirections::default();
        let mut last = None;
        for child in children(node) {
            if child.kind().ends_with("redirect") {
                self.redirect(child, nested + 1, &mut redirections);
                continue;
            }
            self.statement(child, nested + 1);
            let is_open = matches!(child.kind(), "command" | "pipeline" | "list");
            last = self.found.len().checked_sub(1).filter(|_| is_open);
        }
        match last.and_then(|last| self.found.get_mut(last)) {
            Some(Statement::Command(command)) => command.redirections.extend(redirections),
            _ if redirections.is_plain() => {}
            _ => self
                .found
                .push(Statement::Command(SimpleCommand { redirections, ..Default::default() })),
        }
    }

    /// `[ … ]`, the command that it is.
    fn test(&mut self, node: Node<'_>, nested: usize) {
        let mut words = vec![ShellWord::Literal("[".to_owned())];
        self.test_words(node, nested + 1, &mut words);
        self.found.push(Statement::Command(SimpleCommand { words, ..Default::default() }));
    }

    fn test_words(&mut self, node: Node<'_>, nested: usize, words: &mut Vec<ShellWord>) {
        if self.is_too_deep(node, nested) {
            return;
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "[" | "]" | "(" | ")" => {}
                "unary_expression" | "binary_expression" | "parenthesized_expression" => {
                    self.test_words(child, nested + 1, words);
                }
                _ if !child.is_named() || child.kind() == "test_operator" => {
                    words.push(ShellWord::Literal(self.text(child).to_owned()));
                }
                _ => {
                    let word = self.word(child, nested + 1);
                    words.push(word);
                }
            }
        }
    }

    fn word(&mut self, node: Node<'_>, nested: usize) -> ShellWord {
        if self.is_too_deep(node, nested) {
            return ShellWord::Opaque;
        }
        let text = self.text(node);
        match node.kind() {
            "word" | "number" => unquoted_word(text),
            "raw_string" => ShellWord::Literal(text.trim_matches('\'').to_owned()),
            "string" => self.string(node, nested),
            "concatenation" => self.concatenation(node, nested),
            "simple_expansion" => ShellWord::Opaque,
            "expansion" if is_plain_variable(text) => ShellWord::Opaque,
            "command_substitution" => self.substitution(node, nested),
            "process_substitution" if text.starts_with('<') => self.substitution(node, nested),
            _ => {
                self.not_understood(node);
                ShellWord::Opaque
            }
        }
    }

    /// The commands within are statements; their output can be anything.
    fn substitution(&mut self, node: Node<'_>, nested: usize) -> ShellWord {
        let mut redirections = Redirections::default();
        for child in children(node) {
            match child.kind() {
                "file_redirect" => self.file_redirect(child, nested + 1, &mut redirections),
                _ => self.statement(child, nested + 1),
            }
        }
        if !redirections.is_plain() {
            self.found
                .push(Statement::Command(SimpleCommand { redirections, ..Default::default() }));
        }
        ShellWord::Opaque
    }

    fn string(&mut self, node: Node<'_>, nested: usize) -> ShellWord {
        let text = self.text(node);
        let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
            self.not_understood(node);
            return ShellWord::Opaque;
        };
        let expansions: Vec<_> =
            children(node).filter(|child| child.kind() != "string_content").collect();
        for child in &expansions {
            self.word(*child, nested + 1);
        }
        let quotes = |c: char| "\"\\$`".contains(c);
        let is_open = |c: char| c == '$' || c == '`';
        match expansions.is_empty() {
            true if has_unescaped(inner, is_open) => {
                // A `$` or a backquote that the grammar saw nothing in would still be one to the shell.
                self.not_understood(node);
                ShellWord::Opaque
            }
            true => ShellWord::Literal(unescape(inner, quotes)),
            false => ShellWord::beginning(unescape(known_start(inner, is_open), quotes)),
        }
    }

    fn concatenation(&mut self, node: Node<'_>, nested: usize) -> ShellWord {
        let mut joined = Some(String::new());
        let mut start = String::new();
        // An unquoted expansion is split into words of which only the first begins as written.
        let mut splits = false;
        for child in children(node) {
            let word = self.word(child, nested + 1);
            splits |= !matches!(child.kind(), "word" | "number" | "raw_string" | "string");
            if joined.is_some() {
                match &word {
                    ShellWord::Literal(text) | ShellWord::Begins(text) => start.push_str(text),
                    ShellWord::Opaque => {}
                }
            }
            joined = joined.and_then(|so_far| word.literal().map(|text| so_far + text));
        }
        // Braces and patterns may be spread over the parts.
        match joined {
            Some(text) if !expands(self.text(node)) => ShellWord::Literal(text),
            None if !splits && !expands(self.text(node)) => ShellWord::beginning(start),
            _ => ShellWord::Opaque,
        }
    }

    fn redirect(&mut self, node: Node<'_>, nested: usize, to: &mut Redirections) {
        match node.kind() {
            "file_redirect" => self.file_redirect(node, nested, to),
            "herestring_redirect" if children(node).count() == 1 => {
                for word in children(node) {
                    self.word(word, nested + 1);
                }
            }
            "heredoc_redirect" => self.heredoc(node, nested, to),
            _ => self.not_understood(node),
        }
    }

    /// The grammar does not see every expansion in a here-document. Its body is read as what it is to
    /// a shell: text in double quotes.
    fn heredoc(&mut self, node: Node<'_>, nested: usize, to: &mut Redirections) {
        let part = |kind: &str| children(node).find(|child| child.kind() == kind);
        let (Some(start), Some(body)) = (part("heredoc_start"), part("heredoc_body")) else {
            return self.not_understood(node);
        };
        let is_quoted = self.text(start).contains(['\'', '"', '\\']);
        let expansions = |text: &str| text.matches(['$', '`']).count();
        if !is_quoted && expansions(self.text(node)) > 0 {
            let body = self.text(body);
            if body.contains('"') || expansions(body) != expansions(self.text(node)) {
                return self.opaque(node, "a here-document may run what stands in it");
            }
            to.caution("a here-document may run what stands in it");
            let is_null = |found: &Statement| matches!(found, Statement::Command(command) if command.words.first().is_some_and(|word| word.is(":")));
            let mut within = statements_within(&format!(": \"{body}\""), self.heredocs + 1);
            if within.last().is_some_and(is_null) {
                within.pop();
            }
            self.found.extend(within);
        }
        for child in children(node) {
            match child.kind() {
                "heredoc_start" | "heredoc_end" | "heredoc_body" | "file_descriptor" => {}
                "file_redirect" => self.file_redirect(child, nested, to),
                "command" | "pipeline" | "list" | "redirected_statement" => {
                    self.statement(child, nested + 1);
                }
                // An argument behind the operator belongs to the command before it.
                _ => self.not_understood(child),
            }
        }
    }

    fn file_redirect(&mut self, node: Node<'_>, nested: usize, to: &mut Redirections) {
        let mut cursor = node.walk();
        let operator = node.children(&mut cursor).find(|child| !child.is_named());
        let operator = operator.map(|operator| self.text(operator)).unwrap_or_default();
        let descriptor = children(node).find(|child| child.kind() == "file_descriptor");
        let descriptor = descriptor.map(|descriptor| self.text(descriptor)).unwrap_or_default();
        // The grammar takes words behind the target for more targets; to a shell they are arguments.
        if children(node).filter(|child| child.kind() != "file_descriptor").count() > 1 {
            return self.not_understood(node);
        }
        match node.child_by_field_name("destination") {
            Some(target) => {
                let target = self.word(target, nested + 1);
                to.push(FileUse::new(descriptor, operator, &target));
            }
            None if matches!(operator, ">&-" | "<&-") => {}
            None => self.not_understood(node),
        }
    }
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let children: Vec<_> = node.named_children(&mut cursor).collect();
    children.into_iter()
}
