//! TCP on this machine: connections that are accepted and relayed.
//!
//! Law: nothing here connects or listens anywhere. The egress proxy, which does, judges each address first.

pub(crate) mod connections;
pub(crate) mod relay;
