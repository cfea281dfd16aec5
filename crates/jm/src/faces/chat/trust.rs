//! `jm trust FILE`: the front matter of a document may approve calls, until it changes.

use std::path::Path;

use anyhow::{Result, anyhow};
use jm_types::Digest;

use super::document_file::Paper;
use crate::cli::TrustArgs;
use crate::faces::{exit, print};
use crate::trust;

pub(crate) fn trust(document: &Path, args: &TrustArgs) -> Result<u8> {
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
    trust::grant(&paper.path, &Digest::of(front))?;
    print::line(&format!("{shown}: trusted, until its front matter changes"))?;
    Ok(exit::RAN)
}
