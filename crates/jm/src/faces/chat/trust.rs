//! `jm trust FILE`: the front matter of a document may approve calls, until it changes.

use std::path::Path;

use anyhow::{Result, anyhow};
use jm_types::Digest;
use jm_types::text::reveal;

use super::document_file::Paper;
use crate::cli::{Common, TrustArgs};
use crate::faces::trust::is_agreed;
use crate::faces::{exit, print};
use crate::trust;

pub(crate) fn trust(common: &Common, document: &Path, args: &TrustArgs) -> Result<u8> {
    let paper = Paper::open(document)?;
    let shown = paper.path.display();
    let bytes = paper.document.bytes();
    let front = paper.document.front_matter().map(|front| front.span.of(bytes));
    if args.revoke {
        let was = trust::revoke(&paper.path)?;
        let word = if was { "no longer trusted" } else { "was not trusted" };
        print::line(&format!("{shown}: {word}"))?;
        return Ok(exit::RAN);
    }
    let front = front.ok_or_else(|| anyhow!("{shown} has no front matter; nothing to trust"))?;
    if args.show {
        let is_trusted = trust::is_granted(&paper.path, front);
        let word = if is_trusted { "trusted" } else { "not trusted" };
        print::line(&format!("{shown}: {word}"))?;
        return Ok(if is_trusted { exit::RAN } else { exit::FAILED });
    }
    // The text is shown as it stands, since it may hold any Lua.
    for line in String::from_utf8_lossy(front).lines() {
        print::line(&format!("  {}", reveal(line)))?;
    }
    if !is_agreed(common, "Trust this front matter?")? {
        print::line(&format!("{shown}: not trusted"))?;
        return Ok(exit::DENIED);
    }
    trust::grant(&paper.path, &Digest::of(front))?;
    print::line(&format!("{shown}: trusted, until its front matter changes"))?;
    Ok(exit::RAN)
}
