//! The network that commands reach: none, listed hosts, or all of it.

use serde::{Deserialize, Serialize};

use crate::hosts::HostList;

/// The part of the network that a command may reach. Written as `"off"`, `"on"` or a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(from = "WrittenNetwork", into = "WrittenNetwork")]
pub enum Network {
    /// None, but for a loopback of its own where namespaces work.
    #[default]
    Off,
    /// These hosts, through the egress proxy.
    Listed(HostList),
    /// Every host, and this machine.
    On,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenNetwork {
    Word(NetworkWord),
    List(HostList),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkWord {
    Off,
    On,
}

impl From<Network> for WrittenNetwork {
    fn from(network: Network) -> Self {
        match network {
            Network::Off => Self::Word(NetworkWord::Off),
            Network::On => Self::Word(NetworkWord::On),
            Network::Listed(list) => Self::List(list),
        }
    }
}

impl From<WrittenNetwork> for Network {
    fn from(written: WrittenNetwork) -> Self {
        match written {
            WrittenNetwork::Word(NetworkWord::Off) => Self::Off,
            WrittenNetwork::Word(NetworkWord::On) => Self::On,
            WrittenNetwork::List(list) => Self::Listed(list),
        }
    }
}

impl Network {
    /// For people: `off`, `on`, or the hosts.
    pub fn in_words(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::On => "on".to_owned(),
            Self::Listed(list) => format!("only {list}"),
        }
    }

    /// True if the command has a network of its own, where namespaces work.
    pub fn is_own(&self) -> bool {
        match self {
            Self::Off | Self::Listed(_) => true,
            Self::On => false,
        }
    }
}
