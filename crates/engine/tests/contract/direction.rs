//! One direction: session, plan, ask, execute, reply, record; no step imports one before it, and no modules
//! import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of each step, in the order of the steps. What is recorded follows every one of them, so that
/// recording comes last.
const STEPS: &[&[&str]] = &[
    &["engine", "turn", "run", "session"],
    &["plan", "revalidate", "prepare", "preflight", "call_facts", "ahead"],
    &["grants"],
    &["execute", "track", "concurrent"],
    &["reply"],
    &["record", "output", "effects", "content_keeper"],
];

/// For each module the modules that it names, tests left out.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut texts = BTreeMap::new();
    read(&source, "", &mut texts);
    let known: BTreeSet<String> = texts.keys().cloned().collect();
    let named = |module: &String, text: &String| {
        let inside = module.split_once('/').map(|(folder, _)| folder.to_owned());
        let mut found: BTreeSet<String> = BTreeSet::new();
        for (word, folder) in [("crate::", None), ("super::", inside)] {
            for rest in text.split(word).skip(1) {
                let names: Vec<&str> = rest.split("::").take(2).map(first_word).collect();
                let place = |name: &str| match &folder {
                    Some(folder) => format!("{folder}/{name}"),
                    None => name.to_owned(),
                };
                let long = names.join("/");
                let one = if known.contains(&long) { long } else { place(names[0]) };
                found.extend(known.get(&one).cloned());
            }
        }
        found.remove(module);
        found
    };
    texts.iter().map(|(module, text)| (module.clone(), named(module, text))).collect()
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
}

fn read(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            read(&path, &format!("{name}/"), texts);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap().to_owned();
        match name.as_str() {
            "lib" => {}
            "mod" => drop(texts.insert(prefix.trim_end_matches('/').to_owned(), product)),
            name => drop(texts.insert(format!("{prefix}{name}"), product)),
        }
    }
}

#[test]
fn no_step_imports_one_before_it() {
    let imports = imports();
    let place = |module: &str| STEPS.iter().position(|step| step.contains(&module));
    let mut wrong = Vec::new();
    for (module, named) in &imports {
        for other in named {
            if place(module) > place(other) && place(other).is_some() {
                wrong.push(format!("{module} imports {other}"));
            }
        }
    }
    for module in STEPS.iter().copied().flatten() {
        assert!(imports.contains_key(*module), "there is no module {module}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut left = imports();
    assert!(left.values().flatten().count() > 40, "imports are found");
    loop {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, named)| named.iter().all(|other| !left.contains_key(other)))
            .map(|(module, _)| module.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|module| drop(left.remove(module)));
    }
    assert!(left.is_empty(), "a circle is among {left:#?}");
}
