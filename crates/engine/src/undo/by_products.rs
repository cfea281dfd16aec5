//! By-products: files that programs write beside their work and make again whenever they need them.

use std::path::Path;

use jm_store::CallView;

/// Directories whose contents are by-products.
const DIRECTORIES: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".parcel-cache",
    ".sass-cache",
    ".nyc_output",
];

const FILES: &[&str] = &[".DS_Store", "Thumbs.db", ".coverage", ".eslintcache"];

/// Tells if a path is a by-product, by its name alone.
pub fn is_by_product(path: &Path) -> bool {
    let is_within = path
        .components()
        .filter_map(|part| part.as_os_str().to_str())
        .any(|part| DIRECTORIES.contains(&part));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_within || FILES.contains(&name) || name.ends_with(".pyc")
}

/// Tells if a call changed by-products and nothing else.
pub(super) fn makes_only_by_products(call: &CallView) -> bool {
    let effects = call.effects();
    let concurrent = effects.concurrent.iter().flat_map(|found| &found.files);
    let files = effects.files.iter().chain(concurrent).map(|effect| effect.path.clone());
    let layered = effects.layers.iter().flat_map(|layer| layer.paths().unwrap_or_default());
    let mut paths = files.chain(layered).peekable();
    let is_all_known = effects.gap.is_none() && effects.layers.iter().all(|layer| layer.more == 0);
    is_all_known && paths.peek().is_some() && paths.all(|path| is_by_product(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_products_are_known_by_their_names() {
        for (path, expected) in [
            ("/w/a/__pycache__/b.cpython-312.pyc", true),
            ("/w/a/__pycache__", true),
            ("/w/b.pyc", true),
            ("/w/.DS_Store", true),
            ("/w/pycache/b.py", false),
            ("/w/b.py", false),
            ("/w/.coveragerc", false),
        ] {
            assert_eq!(is_by_product(Path::new(path)), expected, "{path}");
        }
    }
}
