//! Addresses that a name may be resolved to.
//!
//! Law: a name that somebody else answers for cannot point into this machine or the network around
//! it. What is not known to be public is not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jm_types::hosts::{Host, HostList, HostRule};

/// The reach of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressReach {
    Public,
    /// A network that is somebody's own.
    Private,
    Loopback,
    /// This link, a cloud's own services, many hosts at once, no host.
    Special,
}

/// Services of clouds that tell a machine its secrets, besides those of the link.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Tells whether a connection may be made to an address that a name was resolved to. `rule` is the one
/// that admitted the name.
pub(super) fn may_connect(list: &HostList, rule: &HostRule, address: IpAddr, port: u16) -> bool {
    let address = address.to_canonical();
    let host = Host::Address(address);
    if list.admits(&host, port).is_some() {
        return true;
    }
    if list.exception(&host, port).is_some() {
        return false;
    }
    match (reach(address), rule.names()) {
        (AddressReach::Public, _) => true,
        // Somebody wrote down this very name, so it may be in their own network.
        (AddressReach::Private, named) => named.is_some(),
        (AddressReach::Loopback, Some(Host::Name(name))) => {
            name == "localhost" || name.ends_with(".localhost")
        }
        (AddressReach::Loopback | AddressReach::Special, _) => false,
    }
}

fn reach(address: IpAddr) -> AddressReach {
    match address {
        one if METADATA.contains(&one) => AddressReach::Special,
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> AddressReach {
    match address.octets() {
        [127, ..] => AddressReach::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] | [100, 64..=127, ..] => {
            AddressReach::Private
        }
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0, _]
        | [192, 0, 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => AddressReach::Special,
        _ => AddressReach::Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> AddressReach {
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        reach_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressReach::Loopback,
        // An address of the old kind in the clothes of the new one is judged by itself.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        [0x2002, high, low, ..] => inner(high, low),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressReach::Private,
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] => AddressReach::Special,
        [0x2000..=0x3fff, ..] => AddressReach::Public,
        _ => AddressReach::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(rules: &[&str]) -> HostList {
        HostList::new(rules.iter().map(|rule| rule.parse().unwrap()).collect()).unwrap()
    }

    fn check(rules: &[&str], name: &str, address: &str, expected: bool) {
        let list = list(rules);
        let rule = list.admits(&name.parse().unwrap(), 443).unwrap();
        let address = address.parse().unwrap();
        assert_eq!(may_connect(&list, rule, address, 443), expected, "{rules:?} {name} {address}");
    }

    #[test]
    fn a_name_leads_to_public_addresses_unless_more_is_written_down() {
        for (address, kind) in [
            ("93.184.216.34", AddressReach::Public),
            ("2606:4700::1", AddressReach::Public),
            ("10.1.2.3", AddressReach::Private),
            ("172.31.0.1", AddressReach::Private),
            ("172.32.0.1", AddressReach::Public),
            ("192.168.1.1", AddressReach::Private),
            ("100.64.0.1", AddressReach::Private),
            ("fd12::1", AddressReach::Private),
            ("64:ff9b::a01:203", AddressReach::Private),
            ("127.0.0.1", AddressReach::Loopback),
            ("127.255.0.9", AddressReach::Loopback),
            ("::1", AddressReach::Loopback),
            ("::ffff:127.0.0.1", AddressReach::Loopback),
            ("2002:7f00:1::", AddressReach::Loopback),
            ("64:ff9b::7f00:1", AddressReach::Loopback),
            ("0.0.0.0", AddressReach::Special),
            ("::", AddressReach::Special),
            ("::127.0.0.1", AddressReach::Special),
            ("169.254.169.254", AddressReach::Special),
            ("fe80::1", AddressReach::Special),
            ("fd00:ec2::254", AddressReach::Special),
            ("100.100.100.200", AddressReach::Special),
            ("168.63.129.16", AddressReach::Special),
            ("224.0.0.1", AddressReach::Special),
            ("255.255.255.255", AddressReach::Special),
            ("ff02::1", AddressReach::Special),
            ("2001:0:1::1", AddressReach::Special),
        ] {
            let parsed: IpAddr = address.parse().unwrap();
            assert_eq!(reach(parsed.to_canonical()), kind, "{address}");
            check(&["*.example.org"], "a.example.org", address, kind == AddressReach::Public);
            let named = matches!(kind, AddressReach::Public | AddressReach::Private);
            check(&["a.example.org"], "a.example.org", address, named);
            check(&["localhost"], "localhost", address, named || kind == AddressReach::Loopback);
        }
    }

    #[test]
    fn an_address_that_is_listed_itself_is_reached() {
        check(&["a.example.org", "127.0.0.1"], "a.example.org", "127.0.0.1", true);
        check(&["*.example.org", "127.0.0.1:80"], "a.example.org", "127.0.0.1", false);
        check(&["*.example.org", "169.254.169.254"], "a.example.org", "169.254.169.254", true);
    }
}
