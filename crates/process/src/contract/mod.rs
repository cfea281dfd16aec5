//! The contract between the program and its launcher: data that crosses the process border, and the
//! functions that both sides apply to it.
//!
//! Law: nothing here uses either side.

pub(crate) mod confinement_rules;
pub(crate) mod descriptors;
pub(crate) mod ending;
pub(crate) mod kill_failures;
pub(crate) mod landlock_version;
pub(crate) mod layout;
pub(crate) mod message;
pub(crate) mod mount_table;
pub(crate) mod protocol;
pub(crate) mod record;
pub(crate) mod terminal_size;
pub(crate) mod within;
