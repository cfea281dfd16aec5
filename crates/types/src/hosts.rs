//! Hosts that a command may reach, as a person writes them.
//!
//! Law: a host has one spelling here: lower case, ASCII, no dot at its end, an address as an address.
//! What has no such spelling is no host, so two spellings never mean two things.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A host in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name of the DNS, in lower case.
    Name(String),
    /// An IP address.
    Address(IpAddr),
}

/// One line of a list: hosts, and the ports of them that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    hosts: Hosts,
    ports: Ports,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Hosts {
    One(Host),
    /// Every name below this one, and not this one.
    Beneath(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ports {
    /// Of the web: 80 and 443.
    Usual,
    One(u16),
    Any,
}

/// A host that cannot be meant, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not a host: {why}")]
pub struct NoHost {
    written: String,
    why: &'static str,
}

/// The hosts that commands may reach; never empty, because nothing to reach is no network. Written as a list where
/// nothing is left out of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "WrittenHosts", into = "WrittenHosts")]
pub struct HostList {
    rules: Vec<HostRule>,
    /// Given to one command by a person, whatever the rules ask about.
    granted: Vec<HostRule>,
    exceptions: HostExceptions,
}

/// Hosts that rules leave out, whatever a list admits. A rule without a port means every port here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostExceptions {
    asked: Vec<HostRule>,
    denied: Vec<HostRule>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenHosts {
    Plain(Vec<HostRule>),
    Judged { rules: Vec<HostRule>, granted: Vec<HostRule>, exceptions: HostExceptions },
}

impl From<HostList> for WrittenHosts {
    fn from(HostList { rules, granted, exceptions }: HostList) -> Self {
        match granted.is_empty() && exceptions.is_empty() {
            true => Self::Plain(rules),
            false => Self::Judged { rules, granted, exceptions },
        }
    }
}

impl From<WrittenHosts> for HostList {
    fn from(written: WrittenHosts) -> Self {
        match written {
            WrittenHosts::Plain(rules) => {
                Self { rules, granted: Vec::new(), exceptions: HostExceptions::default() }
            }
            WrittenHosts::Judged { rules, granted, exceptions } => {
                Self { rules, granted, exceptions }
            }
        }
    }
}

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
const USUAL_PORTS: [u16; 2] = [80, 443];

impl FromStr for Host {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        let deny = idna::AsciiDenyList::URL;
        let ascii = idna::domain_to_ascii_cow(text.as_bytes(), deny)
            .map_err(|_| "it has characters that no host has")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_label = |label: &str| {
            !label.is_empty() && label.len() <= LONGEST_LABEL && label.bytes().all(plain)
        };
        if ascii.len() > LONGEST_NAME || !ascii.split('.').all(is_label) {
            return Err("a name is words of letters, digits and `-`, joined by dots");
        }
        // `127.1` and `0x7f000001` are addresses to a resolver and names to everybody else.
        let last = ascii.rsplit('.').next().unwrap_or_default();
        if last.starts_with("0x") || last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("an address is written with four numbers, or with colons");
        }
        Ok(Self::Name(ascii.into_owned()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => to.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(to),
            Self::Address(IpAddr::V6(address)) => write!(to, "[{address}]"),
        }
    }
}

/// Host and port as they stand in a request or a list; an IPv6 address stands in brackets.
pub fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        address.parse::<Ipv6Addr>().ok()?;
        return match rest {
            "" => Some((address, None)),
            port => Some((address, Some(port.strip_prefix(':')?))),
        };
    }
    match text.split_once(':') {
        None => Some((text, None)),
        // More than one colon and no brackets: an address, and no port.
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port))),
    }
}

/// Digits alone: `+80` is no port.
pub fn parse_port(text: &str) -> Option<u16> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_plain && *port > 0)
}

impl FromStr for HostRule {
    type Err = NoHost;

    fn from_str(written: &str) -> Result<Self, NoHost> {
        let text = written.trim();
        let no = |why| NoHost { written: written.to_owned(), why };
        if text.contains("://") || text.contains('/') {
            return Err(no("write the host alone, without `https://` and without a path"));
        }
        if text == "*" {
            return Err(no("for every host set `network = \"on\"`"));
        }
        let (host, port) = split_port(text).ok_or_else(|| no("its brackets hold no address"))?;
        let ports = match port {
            None => Ports::Usual,
            Some("*") => Ports::Any,
            Some(port) => {
                let port = parse_port(port);
                Ports::One(port.ok_or_else(|| no("a port is a number from 1 to 65535, or `*`"))?)
            }
        };
        let hosts = match host.strip_prefix("*.") {
            None => Hosts::One(host.parse().map_err(no)?),
            Some(suffix) => match suffix.parse().map_err(no)? {
                Host::Name(name) => Hosts::Beneath(name),
                Host::Address(_) => return Err(no("`*.` stands before a name")),
            },
        };
        Ok(Self { hosts, ports })
    }
}

impl TryFrom<String> for HostRule {
    type Error = NoHost;

    fn try_from(text: String) -> Result<Self, NoHost> {
        text.parse()
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::One(host) => host.fmt(to)?,
            Hosts::Beneath(name) => write!(to, "*.{name}")?,
        }
        match self.ports {
            Ports::Usual => Ok(()),
            Ports::One(port) => write!(to, ":{port}"),
            Ports::Any => to.write_str(":*"),
        }
    }
}

impl HostRule {
    /// The rule that a person would write to allow this.
    pub fn for_target(host: &Host, port: u16) -> Self {
        let ports = if USUAL_PORTS.contains(&port) { Ports::Usual } else { Ports::One(port) };
        Self { hosts: Hosts::One(host.clone()), ports }
    }

    /// The one host that it names, if it names one.
    pub fn names(&self) -> Option<&Host> {
        match &self.hosts {
            Hosts::One(host) => Some(host),
            Hosts::Beneath(_) => None,
        }
    }

    /// Tells whether the rule is about a host at a port.
    pub fn admits(&self, host: &Host, port: u16) -> bool {
        let is_port = match self.ports {
            Ports::Usual => USUAL_PORTS.contains(&port),
            Ports::One(one) => one == port,
            Ports::Any => true,
        };
        is_port && self.hosts.contain(host)
    }

    /// The same as a rule that asks or denies: without a port it means every port.
    #[must_use]
    pub fn as_exception(&self) -> Self {
        let ports = if self.ports == Ports::Usual { Ports::Any } else { self.ports };
        Self { hosts: self.hosts.clone(), ports }
    }

    /// Tells whether some host at some port is meant by both.
    fn touches(&self, other: &Self) -> bool {
        let ports = match (self.ports, other.ports) {
            (Ports::Any, _) | (_, Ports::Any) => true,
            (Ports::Usual, Ports::One(port)) | (Ports::One(port), Ports::Usual) => {
                USUAL_PORTS.contains(&port)
            }
            (mine, theirs) => mine == theirs,
        };
        ports
            && match (&self.hosts, &other.hosts) {
                (mine, Hosts::One(host)) => mine.contain(host),
                (Hosts::One(host), theirs) => theirs.contain(host),
                (Hosts::Beneath(mine), Hosts::Beneath(theirs)) => {
                    mine == theirs || is_beneath(theirs, mine) || is_beneath(mine, theirs)
                }
            }
    }

    /// Tells whether everything that the other admits is admitted here too.
    fn covers(&self, other: &Self) -> bool {
        let ports = match (self.ports, other.ports) {
            (Ports::Any, _) => true,
            (Ports::Usual, Ports::One(port)) => USUAL_PORTS.contains(&port),
            (mine, theirs) => mine == theirs,
        };
        ports
            && match (&self.hosts, &other.hosts) {
                (mine, Hosts::One(host)) => mine.contain(host),
                (Hosts::Beneath(mine), Hosts::Beneath(theirs)) => {
                    mine == theirs || is_beneath(theirs, mine)
                }
                (Hosts::One(_), Hosts::Beneath(_)) => false,
            }
    }
}

impl Hosts {
    fn contain(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::One(one), host) => one == host,
            (Self::Beneath(parent), Host::Name(name)) => is_beneath(name, parent),
            (Self::Beneath(_), Host::Address(_)) => false,
        }
    }
}

fn is_beneath(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

impl HostExceptions {
    /// Hosts that a person is asked about, and hosts that nobody reaches.
    pub fn new(asked: &[HostRule], denied: &[HostRule]) -> Self {
        let whole = |rules: &[HostRule]| rules.iter().map(HostRule::as_exception).collect();
        Self { asked: whole(asked), denied: whole(denied) }
    }

    /// True where nothing is left out.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.denied.is_empty()
    }

    /// The verdict of the exceptions on a host; `None` where they say nothing.
    pub fn verdict(&self, host: &Host, port: u16) -> Option<HostVerdict> {
        let is_in = |rules: &[HostRule]| rules.iter().any(|rule| rule.admits(host, port));
        match (is_in(&self.denied), is_in(&self.asked)) {
            (true, _) => Some(HostVerdict::Denied),
            (false, true) => Some(HostVerdict::Asked),
            (false, false) => None,
        }
    }

    /// Tells whether a person may be asked for what a rule opens: no part of it is denied.
    pub fn may_be_granted(&self, rule: &HostRule) -> bool {
        !self.denied.iter().any(|denied| denied.touches(rule))
    }
}

/// The verdict of a rule that leaves a host out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostVerdict {
    /// A person is asked, for one command.
    Asked,
    /// Nobody reaches it.
    Denied,
}

impl HostList {
    /// `None` for no hosts at all.
    pub fn new(rules: Vec<HostRule>) -> Option<Self> {
        let mut list: Vec<HostRule> = Vec::new();
        for rule in rules {
            if !list.contains(&rule) {
                list.push(rule);
            }
        }
        (!list.is_empty()).then_some(WrittenHosts::Plain(list).into())
    }

    /// The same list with hosts left out of it.
    #[must_use]
    pub fn except(mut self, exceptions: HostExceptions) -> Self {
        self.exceptions = exceptions;
        self
    }

    /// The same list with a host that a person gave to one command. What is denied stays denied.
    #[must_use]
    pub fn granting(mut self, rule: HostRule) -> Self {
        self.granted.push(rule);
        self
    }

    /// The rules in the order of writing.
    pub fn rules(&self) -> impl Iterator<Item = &HostRule> {
        self.rules.iter().chain(&self.granted)
    }

    /// The verdict of the rules that leave hosts out.
    pub fn exception(&self, host: &Host, port: u16) -> Option<HostVerdict> {
        self.exceptions.verdict(host, port)
    }

    /// The rule that lets a command ask for this; one that names the host goes before one that
    /// names those around it.
    pub fn admits(&self, host: &Host, port: u16) -> Option<&HostRule> {
        let listed = match self.exception(host, port) {
            Some(HostVerdict::Denied) => return None,
            Some(HostVerdict::Asked) => &[][..],
            None => &self.rules[..],
        };
        let admitting = listed.iter().chain(&self.granted).filter(|rule| rule.admits(host, port));
        admitting.min_by_key(|rule| rule.names().is_none())
    }

    /// Tells whether the other list opens nothing that this one does not.
    pub fn covers(&self, other: &Self) -> bool {
        other.rules().all(|theirs| self.rules().any(|mine| mine.covers(theirs)))
    }

    /// The rules of both lists.
    pub fn with(&self, more: &Self) -> Self {
        let both = self.rules().chain(more.rules()).cloned().collect();
        Self::new(both).unwrap_or_else(|| self.clone())
    }
}

impl fmt::Display for HostList {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |rules: &mut dyn Iterator<Item = &HostRule>| {
            rules.map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        to.write_str(&joined(&mut self.rules()))?;
        let HostExceptions { asked, denied } = &self.exceptions;
        for (rules, word) in [(asked, "asks for"), (denied, "never")] {
            if !rules.is_empty() {
                write!(to, "; {word} {}", joined(&mut rules.iter()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
