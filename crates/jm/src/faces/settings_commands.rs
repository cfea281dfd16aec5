//! `jm config`.

use anyhow::{Result, bail};
use jm_config::{KEYS, render, render_json, render_keys};
use jm_types::text::{one_line, suggest};

use super::{exit, print};
use crate::cli::{Common, ConfigArgs};
use crate::wire;

pub(crate) fn config(common: &Common, args: &ConfigArgs) -> Result<u8> {
    if args.reference {
        print::text(&jm_config::reference())?;
        return Ok(exit::RAN);
    }
    let loaded = wire::load(common)?;
    print::warnings(&loaded.warnings);
    match (&args.key, args.json) {
        (Some(key), _) => print::text(&some_keys(&loaded, key)?)?,
        (None, true) => print::json(&render_json(&loaded))?,
        (None, false) => print::text(&render(&loaded))?,
    }
    Ok(exit::RAN)
}

fn some_keys(loaded: &jm_config::Loaded, key: &str) -> Result<String> {
    if let Some(text) = render_keys(loaded, key) {
        return Ok(text);
    }
    let names = KEYS.iter().flat_map(|key| [key.path, key.place().0]);
    let near = suggest(key, names.filter(|name| !name.is_empty()), 1);
    let near = near.first().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    bail!("unknown key `{}`\n  hint: {near}`jm config` lists every key", one_line(key))
}
