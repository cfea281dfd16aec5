//! The command's side of the proxy: a port on its own loopback.
//!
//! The launcher opens it where the command is and hands the listening socket out to the program, which
//! accepts there. So bytes go straight from the command to the proxy, and the command's network leads
//! nowhere else.

use std::io::Result;
use std::net::{Ipv4Addr, TcpListener};

use crate::contract::confinement_rules::Network;
use crate::contract::descriptors::send_descriptor;
use crate::contract::protocol::{LaunchOrder, PROXY_LISTENER, given};
use jm_types::hosts::{Host, HostList};

/// The open listener, by its port.
#[derive(Debug, Clone)]
pub(crate) struct ProxyListener {
    pub(crate) port: u16,
    variables: Vec<(&'static str, String)>,
}

/// In capitals and not: programs differ in what they look at.
const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
const DIRECT: [&str; 2] = ["no_proxy", "NO_PROXY"];
/// The command's own loopback, where it may have servers of its own.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl ProxyListener {
    /// Opens it, if the command has a list of hosts.
    pub(crate) fn open(order: &LaunchOrder) -> Result<Option<Self>> {
        let Network::Listed(list) = &order.rules.network else { return Ok(None) };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        send_descriptor(given(PROXY_LISTENER), &listener)?;
        let user = order
            .credentials
            .as_ref()
            .map(|credentials| format!("{credentials}@"))
            .unwrap_or_default();
        let proxy = format!("http://{user}127.0.0.1:{port}");
        let mut variables: Vec<_> = PROXIES.iter().map(|name| (*name, proxy.clone())).collect();
        variables.extend(DIRECT.iter().map(|name| (*name, direct(list))));
        Ok(Some(Self { port, variables }))
    }

    /// Environment variables that tell programs to use it.
    pub(crate) fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }
}

/// Hosts that are reached without the proxy: the command's own loopback, unless the list means ours.
fn direct(list: &HostList) -> String {
    let means_ours = |name: &&str| {
        let host = name.parse::<Host>().ok();
        list.rules().any(|rule| rule.names().is_some_and(|named| Some(named) == host.as_ref()))
    };
    let own: Vec<&str> = OWN.into_iter().filter(|name| !means_ours(name)).collect();
    own.join(",")
}
