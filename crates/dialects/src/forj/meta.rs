//! `meta{cwd, timeout}`, which a call says about itself besides its arguments (FJ-PROTO-01).
//!
//! A face puts it into the arguments under this name, so that it is journaled, shown and approved
//! with them.

use std::time::Duration;

use jm_tools::toolsets::{Lowered, parse_args};
use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::Value;

const NAME: &str = "meta";

#[derive(Deserialize, Default)]
struct Meta {
    cwd: Option<String>,
    timeout: Option<u64>,
}

/// Lowers a call whose paths count from `cwd` and which may take `timeout` seconds.
pub(super) fn within<O>(
    mut args: Value,
    limits: &Limits,
    lower: fn(Value, &Limits) -> Result<Lowered<O>, ToolError>,
) -> Result<Lowered<O>, ToolError> {
    let meta = args.get(NAME).cloned();
    let meta: Meta = meta.map(parse_args).transpose()?.unwrap_or_default();
    if meta.timeout == Some(0) {
        return Err(ToolError::bad_args("meta.timeout is a number of seconds, at least 1"));
    }
    let cwd = meta.cwd.filter(|cwd| !matches!(cwd.as_str(), "" | "." | "./"));
    if let Some(cwd) = &cwd {
        rebase(&mut args, cwd);
    }
    let lowered = lower(args, limits)?;
    Ok(Lowered { within: cwd, timeout: meta.timeout.map(Duration::from_secs), ..lowered })
}

/// Every path of the arguments, seen from the root instead.
fn rebase(args: &mut Value, cwd: &str) {
    let Some(map) = args.as_object_mut() else { return };
    for name in ["path", "directory", "cwd", "export_path"] {
        map.get_mut(name).into_iter().for_each(|path| prefix(path, cwd));
    }
    for name in ["edits", "links"] {
        let items = map.get_mut(name).and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(|item| prefix(&mut item["path"], cwd));
    }
    for name in ["patterns", "include_paths", "exclude_paths"] {
        let items = map.get_mut(name).and_then(Value::as_array_mut);
        items.into_iter().flatten().for_each(|item| prefix(item, cwd));
    }
    if let Some(location) = map.get_mut("location").filter(|location| location.is_object()) {
        prefix(&mut location["path"], cwd);
    }
    // Where a tool would start from the root, it starts from there.
    for name in ["directory", "cwd"] {
        map.entry(name).or_insert_with(|| cwd.into());
    }
    map.entry("include_paths").or_insert_with(|| vec![cwd].into());
}

fn prefix(path: &mut Value, cwd: &str) {
    if let Some(text) = path.as_str().filter(|text| !text.starts_with('/')) {
        *path = format!("{}/{text}", cwd.trim_end_matches('/')).into();
    }
}
