//! Names: a public type has one meaning in the workspace.

use std::collections::BTreeSet;

use crate::allowed::{Counts, assert_allowed, counts};
use crate::sources::{Source, is_test, planted, product, sources};

const KINDS: &[&str] = &["struct ", "enum ", "trait ", "type ", "union "];

/// The name of the type that a line defines for other crates.
fn public_type(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = KINDS.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Names of public types with more than one definition, and how many they have.
fn repeated_types(sources: &[Source]) -> Counts {
    let product = sources.iter().filter(|(name, _)| !is_test(name)).map(|(_, text)| product(text));
    let all = counts(product.flat_map(|text| text.lines().filter_map(public_type)));
    all.into_iter().filter(|(_, count)| *count > 1).collect()
}

#[test]
fn public_types_have_names_of_their_own() {
    let found = repeated_types(&sources());
    assert_allowed("repeated_types.txt", &found, "more than one public type of a name");
    let text = "pub struct Line;\npub(crate) struct Page;\n    pub enum Line<T> {\nstruct Page;\n";
    let expected = counts(["Line".to_owned(), "Line".to_owned()]);
    assert_eq!(repeated_types(&planted("crates/a/src/b.rs", text)), expected);
}

/// Names of the modules of the product: of files and of folders.
pub(crate) fn modules(sources: &[Source]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (path, _) in sources.iter().filter(|(path, _)| !is_test(path)) {
        let Some((_, inside)) = path.split_once("/src/") else { continue };
        let parts = inside.trim_end_matches(".rs").split('/');
        names
            .extend(parts.filter(|name| !["lib", "main", "mod"].contains(name)).map(str::to_owned));
    }
    names
}

#[test]
fn modules_are_files_and_folders() {
    let sources = planted("crates/a/src/one/two.rs", "");
    assert_eq!(modules(&sources).into_iter().collect::<Vec<_>>(), ["one", "two"]);
}
