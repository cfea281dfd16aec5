//! The syntax check of a changed file, by tree-sitter grammars: a remark, never a refusal.
//!
//! Law: a file that a grammar did not understand before is not spoken of after. A grammar may lag
//! behind its language, and what it did not know then it does not know now.

use std::path::Path;

use tree_sitter::{Language, Node, Parser};

use super::parens;

/// A larger file is not parsed.
const MOST_BYTES: usize = 512 * 1024;
/// The most characters of the place that are quoted.
const MOST_QUOTED: usize = 40;

/// The fault that a change made; `None` when there is none, or nothing is known.
pub(super) fn remark(path: &Path, before: Option<&[u8]>, after: &[u8]) -> Option<String> {
    let kind = Kind::of(path)?;
    let fault = kind.fault(after)?;
    let was_broken = before.is_some_and(|before| kind.fault(before).is_some());
    (!was_broken).then(|| format!("does not parse as {}: {fault}", kind.name()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bash,
    EmacsLisp,
    JavaScript,
    Json,
    Python,
    Rust,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "sh" | "bash" => Some(Kind::Bash),
            "el" => Some(Kind::EmacsLisp),
            "js" | "mjs" | "cjs" | "jsx" => Some(Kind::JavaScript),
            "json" => Some(Kind::Json),
            "py" | "pyi" => Some(Kind::Python),
            "rs" => Some(Kind::Rust),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Bash => "shell",
            Kind::EmacsLisp => "Emacs Lisp",
            Kind::JavaScript => "JavaScript",
            Kind::Json => "JSON",
            Kind::Python => "Python",
            Kind::Rust => "Rust",
        }
    }

    /// The first place that is not understood.
    fn fault(self, bytes: &[u8]) -> Option<String> {
        if bytes.len() > MOST_BYTES || bytes.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        match self {
            Kind::Json => json_fault(text),
            Kind::EmacsLisp => {
                let found = parens::check(text);
                found.first().map(|one| format!("line {}: {}", one.line, one.message))
            }
            Kind::Bash => tree_fault(&tree_sitter_bash::LANGUAGE.into(), text),
            Kind::JavaScript => tree_fault(&tree_sitter_javascript::LANGUAGE.into(), text),
            Kind::Python => tree_fault(&tree_sitter_python::LANGUAGE.into(), text),
            Kind::Rust => tree_fault(&tree_sitter_rust::LANGUAGE.into(), text),
        }
    }
}

fn json_fault(text: &str) -> Option<String> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    Some(format!("line {}, column {}", error.line(), error.column()))
}

fn tree_fault(language: &Language, text: &str) -> Option<String> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let tree = parser.parse(text, None)?;
    let node = first_fault(tree.root_node())?;
    let place = node.start_position();
    let (line, column) = (place.row + 1, place.column + 1);
    if node.is_missing() {
        return Some(format!("line {line}, column {column}: `{}` is missing", node.kind()));
    }
    let rest = text.get(node.start_byte()..).unwrap_or_default();
    let quoted: String =
        rest.lines().next().unwrap_or_default().chars().take(MOST_QUOTED).collect();
    Some(format!("line {line}, column {column}: `{}`", quoted.trim_end()))
}

/// Goes down to the innermost node that holds the first error, without recursion.
fn first_fault(root: Node<'_>) -> Option<Node<'_>> {
    let mut node = root.has_error().then_some(root)?;
    loop {
        let mut cursor = node.walk();
        let bad = node
            .children(&mut cursor)
            .find(|child| child.is_error() || child.is_missing() || child.has_error());
        match bad {
            Some(child) if child.is_error() || child.is_missing() => return Some(child),
            Some(child) => node = child,
            None => return Some(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_notices_what_a_change_broke() {
        let cases = [
            ("a.rs", "fn a() {}\n", "fn a() {\n    b(;\n}\n", "line 2"),
            ("a.py", "def a():\n    pass\n", "def a(:\n    pass\n", "line 1"),
            ("a.js", "const a = {b: 1};\n", "const a = {b: 1;\n", "line 1"),
            ("a.json", "{\"a\": 1}\n", "{\"a\": 1,}\n", "line 1, column 9"),
            ("a.sh", "if a; then b; fi\n", "if a; then b\n", "line"),
            ("a.el", "(a)\n", "(a\n", "line 1: Unclosed parenthesis"),
        ];
        for (name, good, bad, place) in cases {
            let path = Path::new(name);
            let remarked = remark(path, Some(good.as_bytes()), bad.as_bytes()).unwrap_or_default();
            assert!(remarked.contains(place), "{name}: {remarked:?}");
            assert!(remark(path, None, bad.as_bytes()).is_some(), "{name} is new");
            assert_eq!(
                remark(path, Some(bad.as_bytes()), bad.as_bytes()),
                None,
                "{name} was broken"
            );
            assert_eq!(remark(path, Some(bad.as_bytes()), good.as_bytes()), None, "{name} mended");
            assert_eq!(remark(path, Some(good.as_bytes()), good.as_bytes()), None, "{name}");
            assert_eq!(remark(path, Some(good.as_bytes()), b"\n"), None, "{name} emptied");
        }
    }

    #[test]
    fn what_cannot_be_judged_is_not() {
        let broken = b"fn a( {";
        assert_eq!(remark(Path::new("a.txt"), None, broken), None);
        assert_eq!(remark(Path::new("a"), None, broken), None);
        assert_eq!(remark(Path::new("a.rs"), None, b"\xff\xfe("), None);
        let large = [broken.as_slice(), &vec![b' '; MOST_BYTES]].concat();
        assert_eq!(remark(Path::new("a.rs"), None, &large), None);
        let deep = format!("fn a() {{ {} }}", "(".repeat(100_000));
        assert!(remark(Path::new("a.rs"), None, deep.as_bytes()).is_some());
    }
}
