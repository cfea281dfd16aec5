//! Globs that choose the files of a search or a listing.

use ignore::overrides::{Override, OverrideBuilder};
use jm_types::{ErrorKind, ToolError};

/// Globs as `.gitignore` writes them, turned around: what they name is searched.
pub(crate) fn compile_globs(globs: &[String]) -> Result<Override, ToolError> {
    let mut builder = OverrideBuilder::new("/");
    let bad = |glob: &str, why: String| {
        let message = format!("`{glob}` is not a glob: {why}");
        ToolError::new(ErrorKind::BadPattern { message })
    };
    for glob in globs {
        builder.add(glob).map_err(|error| bad(glob, error.to_string()))?;
    }
    builder.build().map_err(|error| bad(&globs.join(" "), error.to_string()))
}
