//! TCP on this machine: connections that are accepted and relayed, and ports of a session's loopback that are published.
//!
//! Law: nothing here connects or listens anywhere but on loopback. The egress proxy, which does, judges each address first.

pub(crate) mod connections;
pub(crate) mod loopback_sockets;
pub(crate) mod published_port;
pub(crate) mod relay;
