//! Revalidation: an approval counts for what was shown.
//!
//! Law: it answers and changes nothing. The call is not parsed again; where its preview follows from its files,
//! equal hashes of the files are enough, and the preview is not computed again either.

use std::path::PathBuf;
use std::sync::Arc;

use jm_tools::Prepared;
use jm_types::Digest;
use jm_types::{ToolCall, Verdict};

use crate::ahead::CallsAhead;
use crate::context;
use crate::core::Core;
use crate::files::digest_at;
use crate::plan::{self, Disposition, Planned, PreviewRule};
use crate::session_context::Asker;

/// An approved call as it was when it was shown.
#[derive(Debug)]
pub(crate) struct Approved {
    pub(crate) call: ToolCall,
    /// `None` in another process than the one that planned it.
    pub(crate) prepared: Option<Box<dyn Prepared>>,
    pub(crate) fingerprint: String,
    pub(crate) files: Vec<(PathBuf, Option<Digest>)>,
}

/// The answer about an approval.
#[derive(Debug)]
pub(crate) enum Revalidated {
    /// It runs. `fingerprint` is `None` where it needs no approval any more.
    Holds { prepared: Box<dyn Prepared>, fingerprint: Option<String> },
    /// It is not what was shown: the person is asked anew.
    AsksAgain(Planned),
    /// It cannot run any more, and that is its result.
    Answered(Planned),
}

/// Compares an approved call with the workspace as it is now; every call before it has run.
pub(crate) async fn revalidate(core: &Arc<Core>, asker: Asker, approved: Approved) -> Revalidated {
    let name = approved.call.name.clone();
    let looked = plan::within_time(core, &name, move |core| judge_again(core, asker, approved));
    let answered = |error| Revalidated::Answered(Planned::refused(core, error));
    looked.await.unwrap_or_else(answered)
}

fn judge_again(core: &Core, asker: Asker, approved: Approved) -> Revalidated {
    let Approved { call, prepared, fingerprint, files } = approved;
    let is_first_here = prepared.is_none();
    let weighed = match prepared {
        Some(prepared) => plan::weigh_prepared(core, &call, prepared),
        None => plan::weigh(core, &call),
    };
    let weighed = match weighed {
        Ok(weighed) => weighed,
        Err(planned) => return Revalidated::Answered(*planned),
    };
    let follows = !is_first_here && weighed.prepared().previews_its_files() && !files.is_empty();
    if weighed.verdict == Verdict::Ask && follows && are_as_shown(core, &files) {
        let prepared = weighed.into_prepared();
        return Revalidated::Holds { prepared, fingerprint: Some(fingerprint) };
    }
    let scope = context::for_look(core, asker, &call.name);
    let ahead = &mut CallsAhead::default();
    let planned = plan::show(core, &call, weighed, &scope, ahead, PreviewRule::WhenAsked);
    let Planned { prepared, facts, disposition } = planned;
    match (prepared, disposition) {
        (Some(prepared), Disposition::Runs) => Revalidated::Holds { prepared, fingerprint: None },
        (Some(prepared), Disposition::Asks(now)) if now.fingerprint == fingerprint => {
            Revalidated::Holds { prepared, fingerprint: Some(fingerprint) }
        }
        (prepared, disposition @ Disposition::Asks(_)) => {
            Revalidated::AsksAgain(Planned { prepared, facts, disposition })
        }
        (prepared, disposition) => Revalidated::Answered(Planned { prepared, facts, disposition }),
    }
}

/// Compares hashes; a path that cannot be looked at through the sandbox counts as changed.
fn are_as_shown(core: &Core, files: &[(PathBuf, Option<Digest>)]) -> bool {
    let sandbox = &core.workspace.sandbox;
    files.iter().all(|(path, shown)| digest_at(sandbox, path).is_ok_and(|now| now == *shown))
}
