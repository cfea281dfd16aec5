//! Attributes that a new content takes over from the file it replaces, besides its permission bits.
//!
//! Law: nobody may do more with the new file than with the old one. What cannot be kept is said.

use rustix::fd::BorrowedFd;
use rustix::fs::{self, Gid, Stat, Uid, XattrFlags};
use rustix::io;

use crate::file_attributes::attribute_names;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const OF_GROUP: u32 = 0o070;

pub(super) struct Dressed {
    /// Attributes that could not be kept.
    pub(super) notes: Vec<String>,
    has_owner: bool,
    has_group: bool,
}

impl Dressed {
    /// Permission bits that were meant for the old owner and group, as far as the new ones may have
    /// them: a foreign group gets what everybody has, and nobody runs it as somebody else.
    pub(super) fn allows(&self, mode: u32) -> u32 {
        let mode = if self.has_owner { mode } else { mode & !SET_USER_ID };
        let of_everybody = (mode & 0o007) << 3;
        if self.has_group { mode } else { mode & !SET_GROUP_ID & (!OF_GROUP | of_everybody) }
    }
}

/// Owner, group and extended attributes of the old file.
pub(super) fn dress(new: BorrowedFd<'_>, old: BorrowedFd<'_>, stat: &Stat) -> Dressed {
    let mut notes = Vec::new();
    let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    let has_both = fs::fchown(new, Some(owner), Some(group)).is_ok();
    // Only the superuser gives files away, but anybody has their own, and may use each of their groups.
    let has_group = has_both || fs::fchown(new, None, Some(group)).is_ok();
    let has_owner = has_both || fs::fstat(new).is_ok_and(|new| new.st_uid == stat.st_uid);
    if !has_owner {
        notes.push("the owner could not be kept".to_owned());
    }
    if !has_group {
        notes.push("the group could not be kept".to_owned());
    }
    if copy_attributes(old, new).is_err() {
        notes.push("not all extended attributes could be kept".to_owned());
    }
    if stat.st_nlink > 1 {
        notes.push("other hard links of this file keep the old content".to_owned());
    }
    Dressed { notes, has_owner, has_group }
}

/// Access control lists are extended attributes too, so this keeps them, and takes away those that
/// the directory gives to every new file.
fn copy_attributes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let wanted = attribute_names(from)?;
    let mut outcome = Ok(());
    for name in attribute_names(to)?.iter().filter(|name| !wanted.contains(name)) {
        outcome = outcome.and(fs::fremovexattr(to, &**name));
    }
    for name in &wanted {
        let mut value = vec![0; 64 * 1024];
        let copied = fs::fgetxattr(from, &**name, &mut value[..])
            .and_then(|length| fs::fsetxattr(to, &**name, &value[..length], XattrFlags::empty()));
        outcome = outcome.and(copied);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_owner_or_group_gets_no_more_than_everybody() {
        let cases = [
            (true, true, 0o6755, 0o6755),
            (false, true, 0o6755, 0o2755),
            (false, false, 0o6755, 0o0755),
            (false, false, 0o0640, 0o0600),
            (false, false, 0o0664, 0o0644),
            (false, false, 0o0770, 0o0700),
            (false, false, 0o0604, 0o0604),
        ];
        for (has_owner, has_group, mode, allowed) in cases {
            let dressed = Dressed { notes: Vec::new(), has_owner, has_group };
            assert_eq!(dressed.allows(mode), allowed, "{mode:o}");
        }
    }
}
