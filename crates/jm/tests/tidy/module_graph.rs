//! The import graph of a crate's modules, read from the paths in its sources, and the cycles in it.
//!
//! A name that a module re-exports belongs to the module that defines it. Unit tests do not count.

use std::collections::{BTreeMap, BTreeSet};

/// A module by its path from the crate's root, which is empty.
pub(crate) type Module = Vec<String>;
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// A path of a `use` tree: its segments, the name it gets here, and whether it goes on to others.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    segments: Vec<String>,
    name: String,
    is_reexport: bool,
}

/// The cycles of a crate, each as one line: between files, and between folders or files that lie beside
/// each other.
pub(crate) fn cycles(sources: &[(String, String)]) -> Vec<String> {
    let graph = graph(sources);
    let mut found: BTreeSet<String> = cycle_of(&graph).into_iter().collect();
    let folders: BTreeSet<Module> =
        graph.keys().filter_map(|module| Some(module.split_last()?.1.to_vec())).collect();
    found.extend(folders.iter().filter_map(|folder| cycle_of(&beside_each_other(&graph, folder))));
    found.into_iter().collect()
}

/// What each module uses of the others.
fn graph(sources: &[(String, String)]) -> Graph {
    let parsed: BTreeMap<Module, (Vec<Import>, String)> =
        sources.iter().map(|(file, text)| (module_of(file), imports(&product(text)))).collect();
    let used = |module: &Module, (imports, body): &(Vec<Import>, String)| {
        let needed = imports.iter().filter(|one| !one.is_reexport || has_word(body, &one.name));
        let imported = needed.map(|one| one.segments.clone());
        let all = imported.chain(inline_paths(body));
        let targets = all.filter_map(|path| definer(&parsed, module, &path, 0));
        targets.filter(|target| target != module).collect()
    };
    parsed.iter().map(|(module, content)| (module.clone(), used(module, content))).collect()
}

/// `a/b.rs` and `a/b/mod.rs` are `[a, b]`.
fn module_of(file: &str) -> Module {
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    name.split('/').filter(|part| !["lib", "main", "mod"].contains(part)).map(Into::into).collect()
}

/// The code without unit tests and comments.
fn product(text: &str) -> String {
    let is_test = |rest: &str| {
        let mut lines = rest.lines().skip_while(|line| line.starts_with("#["));
        lines.next().is_some_and(|line| line.contains("mod "))
    };
    let mut tests = text.match_indices("\n#[cfg(test)]\n").map(|(at, _)| at);
    let end = tests.find(|at| is_test(&text[at + 1..])).unwrap_or(text.len());
    let code = text[..end].lines().map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The imports of a file, and all else.
fn imports(code: &str) -> (Vec<Import>, String) {
    let (mut found, mut body, mut rest) = (Vec::new(), String::new(), code);
    while let Some((before, is_reexport, after)) = next_use(rest) {
        body.push_str(before);
        let (tree, tail) = after.split_once(';').unwrap_or((after, ""));
        for (segments, name) in branches(tree) {
            found.push(Import { segments, name, is_reexport });
        }
        rest = tail;
    }
    body.push_str(rest);
    (found, body)
}

/// The text before the next `use` at the start of a line, whether it is a re-export, and its tree.
fn next_use(code: &str) -> Option<(&str, bool, &str)> {
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let words = line.trim_start();
        let plain = words.strip_prefix("pub").map_or(words, |rest| match rest.split_once(' ') {
            Some((scope, rest)) if scope.is_empty() || scope.starts_with('(') => rest,
            _ => words,
        });
        if let Some(tree) = plain.strip_prefix("use ") {
            let start = at + (line.len() - tree.len());
            return Some((&code[..at], plain.len() != words.len(), &code[start..]));
        }
        at += line.len();
    }
    None
}

/// The paths of a `use` tree, each with the name it gets.
fn branches(tree: &str) -> Vec<(Vec<String>, String)> {
    let tree = tree.trim();
    let Some((stem, inner)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(p, a)| (p, Some(a)));
        let mut segments: Vec<String> = path.split("::").map(|part| part.trim().into()).collect();
        if segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let last = segments.last().cloned().unwrap_or_default();
        return vec![(segments, alias.map_or(last, |alias| alias.trim().to_owned()))];
    };
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    let whole = |part: &str| branches(&format!("{stem}{}", part.trim()));
    split_at_depth_0(inner)
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .flat_map(whole)
        .collect()
}

fn split_at_depth_0(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// Paths of at least two segments in code that is not an import.
fn inline_paths(body: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let tokens = body.split(|letter| !is_part(letter)).filter(|token| token.contains("::"));
    tokens.map(|token| token.split("::").map(Into::into).collect()).collect()
}

fn has_word(body: &str, word: &str) -> bool {
    body.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).any(|one| one == word)
}

/// The module that defines what a path names; `None` outside the crate.
fn definer(
    parsed: &BTreeMap<Module, (Vec<Import>, String)>,
    from: &Module,
    path: &[String],
    depth: usize,
) -> Option<Module> {
    const DEEPEST: usize = 20;
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Module::new(),
        "self" => from.clone(),
        "super" => from.split_last()?.1.to_vec(),
        name => [&from[..], &[name.to_owned()]].concat(),
    };
    if !parsed.contains_key(&at) || depth > DEEPEST {
        return None;
    }
    while let Some((name, after)) = rest.split_first() {
        let below = [&at[..], std::slice::from_ref(name)].concat();
        if name == "super" {
            at.pop();
        } else if parsed.contains_key(&below) {
            at = below;
        } else {
            let passed_on = parsed[&at].0.iter().find(|one| one.is_reexport && one.name == *name);
            let further = passed_on.map(|one| [&one.segments[..], after].concat());
            let found = further.and_then(|path| definer(parsed, &at, &path, depth + 1));
            return Some(found.unwrap_or(at));
        }
        rest = after;
    }
    Some(at)
}

/// The graph of what lies directly in a folder, each with all that lies below it.
fn beside_each_other(graph: &Graph, folder: &Module) -> Graph {
    let part = |module: &Module| {
        let is_below = module.len() > folder.len() && module.starts_with(folder);
        is_below.then(|| module[..=folder.len()].to_vec())
    };
    let mut parts = Graph::new();
    for (module, used) in graph {
        let Some(own) = part(module) else { continue };
        let others = used.iter().filter_map(part).filter(|other| *other != own);
        parts.entry(own.clone()).or_default().extend(others.collect::<Vec<_>>());
    }
    parts
}

/// One cycle of a graph, the shortest through the first module that is on any.
fn cycle_of(graph: &Graph) -> Option<String> {
    let way = graph.keys().find_map(|start| shortest_way_back(graph, start))?;
    let name = |module: &Module| match module.is_empty() {
        true => "the root".to_owned(),
        false => module.join("::"),
    };
    Some(way.iter().map(name).collect::<Vec<_>>().join(" → "))
}

fn shortest_way_back(graph: &Graph, start: &Module) -> Option<Vec<Module>> {
    let mut ways = vec![vec![start.clone()]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in graph.get(way.last()?).into_iter().flatten() {
                let further = [&way[..], std::slice::from_ref(next)].concat();
                if next == start {
                    return Some(further);
                }
                if seen.insert(next.clone()) {
                    longer.push(further);
                }
            }
        }
        ways = longer;
    }
    None
}

fn check(files: &[(&str, &str)], expected: &[&str]) {
    let sources: Vec<(String, String)> =
        files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    assert_eq!(cycles(&sources), expected, "{files:?}");
}

#[test]
fn a_planted_cycle_is_found() {
    let root = ("lib.rs", "mod a;\nmod b;\n");
    check(
        &[root, ("a.rs", "use crate::b::X;"), ("b.rs", "fn f() { crate::a::g() }")],
        &["a → b → a"],
    );
    check(&[root, ("a.rs", "use super::{b::{X, Y}};"), ("b.rs", "use super::a;")], &["a → b → a"]);
    check(&[root, ("a.rs", "use crate::b::X;"), ("b.rs", "")], &[]);
    // A parent that uses its child, which uses the parent.
    let parent = ("a/mod.rs", "mod b;\npub(crate) fn f() { b::g() }");
    check(&[("lib.rs", "mod a;"), parent, ("a/b.rs", "use super::f;")], &["a → a::b → a"]);
}

#[test]
fn a_name_belongs_to_the_module_that_defines_it() {
    let root = ("lib.rs", "mod a;\nmod b;\n");
    let folder = ("a/mod.rs", "mod inner;\nmod other;\npub(crate) use inner::{X as Y};\n");
    let inner = ("a/inner.rs", "use crate::b::Z;");
    let user = ("b.rs", "use crate::a::Y;");
    let found = ["a → b → a", "a::inner → b → a::inner"];
    check(&[root, folder, inner, ("a/other.rs", ""), user], &found);
    // What is only passed on is not used.
    check(&[root, folder, ("a/inner.rs", ""), ("a/other.rs", "use super::Y;"), ("b.rs", "")], &[]);
    let used = ("a/mod.rs", "mod inner;\npub use inner::X;\nfn f(_: X) {}");
    check(&[("lib.rs", "mod a;"), used, ("a/inner.rs", "use super::f;")], &["a → a::inner → a"]);
}

#[test]
fn folders_may_be_in_a_cycle_that_no_file_is_in() {
    let files = [
        ("lib.rs", "mod x;\nmod y;\n"),
        ("x/mod.rs", "pub mod one;\npub mod two;\n"),
        ("y/mod.rs", "pub mod one;\npub mod two;\n"),
        ("x/one.rs", "use crate::y::one::A;"),
        ("x/two.rs", ""),
        ("y/one.rs", ""),
        ("y/two.rs", "use crate::x::two::B;"),
    ];
    check(&files, &["x → y → x"]);
}

#[test]
fn tests_and_comments_are_no_imports() {
    let tests =
        "// use crate::b::X;\n\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n use crate::b::X;\n}\n";
    check(&[("lib.rs", ""), ("a.rs", tests), ("b.rs", "use crate::a::Y;")], &[]);
}
