//! Nodes of a layer made fit for the workspace: no marks of the overlay, no devices, no set-id bits.

use std::ffi::OsStr;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io;

use super::node::{MARK, NodeFacts, NodeKind, set_modified};
use super::plan::is_own;
use super::remove::remove_tree;
use super::{marks, open_directory_at};
use crate::file::OpenDirectory;
use crate::file_attributes::attribute_names;

/// Sanitizes a node and all below it.
pub(super) fn sanitize_node(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let Some(facts) = NodeFacts::at(parent, name)? else { return Ok(()) };
    match facts.kind {
        NodeKind::File => sanitize_file(parent, name, &facts),
        NodeKind::Directory => {
            let change =
                |mode| fs::chmodat(parent, name, Mode::from_raw_mode(mode), AtFlags::empty());
            let is_closed = facts.mode & 0o700 != 0o700;
            if is_closed {
                change(facts.mode | 0o700)?;
            }
            let directory = open_directory_at(parent, name)?;
            strip_marks(&directory)?;
            let is_emptied = sanitize_inside(&directory)?;
            if is_emptied {
                set_modified(&directory, facts.modified)?;
            }
            if is_closed { change(facts.mode) } else { Ok(()) }
        }
        NodeKind::Link
        | NodeKind::Fifo
        | NodeKind::Socket
        | NodeKind::Whiteout
        | NodeKind::Device => Ok(()),
    }
}

/// Sanitizes what is in a directory; says if something was removed from it.
fn sanitize_inside(directory: &OwnedFd) -> io::Result<bool> {
    let mut is_emptied = false;
    for name in OpenDirectory::names_in(directory)? {
        let kind = NodeFacts::at(directory, &name)?.map(|facts| facts.kind);
        match kind {
            Some(_) if is_own(&name) => {
                remove_tree(directory, &name)?;
                is_emptied = true;
            }
            Some(NodeKind::Whiteout | NodeKind::Device) => {
                fs::unlinkat(directory, &name, AtFlags::empty())?;
                is_emptied = true;
            }
            _ => sanitize_node(directory, &name)?,
        }
    }
    Ok(is_emptied)
}

fn sanitize_file(parent: &OwnedFd, name: &OsStr, facts: &NodeFacts) -> io::Result<()> {
    let change = |mode| fs::chmodat(parent, name, Mode::from_raw_mode(mode), AtFlags::empty());
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mode = facts.mode & !0o6000;
    let is_closed = facts.mode & 0o400 == 0;
    if is_closed {
        change(mode | 0o600)?;
    }
    strip_marks(&fs::openat(parent, name, flags, Mode::empty())?)?;
    if is_closed || mode != facts.mode { change(mode) } else { Ok(()) }
}

/// A file without marks is not touched: removing nothing would still need the right to write.
fn strip_marks(node: &OwnedFd) -> io::Result<()> {
    let is_marked = attribute_names(node.as_fd())?.iter().any(|name| name.starts_with(MARK));
    if is_marked { marks::strip(node.as_fd()) } else { Ok(()) }
}
