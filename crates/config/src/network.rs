//! The one setting that is a word or a list: what commands reach of the network.
//!
//! Law: an empty list is no network, and of two settings the looser is the one that opens more.

use jm_types::{HostList, HostRule, Network};
use toml::de::DeValue;

use crate::check;
use crate::origin::{LoadReport, Source};
use crate::text::{Setting, kind_of};

const WORDS: [&str; 2] = ["on", "off"];

pub(super) fn check(setting: &Setting<'_>, report: &mut LoadReport) -> Option<Network> {
    match setting.value.get_ref() {
        DeValue::String(_) => match check::word(setting, &WORDS, report)? {
            "on" => Some(Network::On),
            _ => Some(Network::Off),
        },
        DeValue::Array(_) => hosts(setting, report),
        other => {
            let found = kind_of(other);
            report.error(|| {
                let what = format!("expected `on`, `off` or a list of hosts, found {found}");
                setting.error(setting.value.span().start, &what, None)
            });
            None
        }
    }
}

fn hosts(setting: &Setting<'_>, report: &mut LoadReport) -> Option<Network> {
    let written = check::list(setting, 0, report)?;
    let mut rules = Vec::new();
    let count = written.len();
    for one in written {
        match one.parse::<HostRule>() {
            Ok(rule) => rules.push(rule),
            Err(fault) => {
                report.error(|| setting.error(setting.value.span().start, &fault.to_string(), None))
            }
        }
    }
    let is_whole = rules.len() == count;
    is_whole.then(|| HostList::new(rules).map_or(Network::Off, Network::Listed))
}

/// A variable holds a word unless it can only be hosts: a misspelt word must not become a host.
pub(super) fn is_word(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text != "localhost" && !text.contains(['.', ':', ','])
}

/// Joins two settings: hosts given for one run add to those that are written down.
pub(super) fn joined(old: &Network, new: Network, source: &Source) -> Network {
    match (old, new, source) {
        (Network::Listed(old), Network::Listed(new), Source::Flag) => {
            Network::Listed(old.with(&new))
        }
        (_, new, _) => new,
    }
}

pub(super) fn is_looser(old: &Network, new: &Network) -> bool {
    match (old, new) {
        (Network::On, _) | (_, Network::Off) => false,
        (Network::Off, _) | (_, Network::On) => true,
        (Network::Listed(old), Network::Listed(new)) => !old.covers(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{loaded, project, user};
    use crate::{ConfigLayer, Trust, load};

    fn network(layers: &[ConfigLayer], variable: Option<&str>) -> String {
        let key = "JM_TOOLS_SANDBOX_COMMANDS_NETWORK".to_owned();
        let variables: Vec<_> = variable.map(|text| (key, text.to_owned())).into_iter().collect();
        let found = load(layers, &variables, Trust::Untrusted).unwrap();
        found.config.tools.sandbox.commands.network.in_words()
    }

    fn written(value: &str) -> String {
        format!("tools.sandbox.commands.network = {value}")
    }

    #[test]
    fn an_untrusted_project_only_leaves_hosts_out() {
        let cases = [
            ("'off'", "'on'", "off"),
            ("'off'", "['a.org']", "off"),
            ("'on'", "['a.org']", "only a.org"),
            ("'on'", "'off'", "off"),
            ("['*.a.org', 'b.org']", "['x.a.org']", "only x.a.org"),
            ("['*.a.org', 'b.org']", "['c.org']", "only *.a.org, b.org"),
            ("['a.org']", "['a.org', 'b.org']", "only a.org"),
            ("['a.org']", "'on'", "only a.org"),
            ("['a.org']", "[]", "off"),
        ];
        for (mine, theirs, expected) in cases {
            let layers = [user(&written(mine)), project(&written(theirs))];
            assert_eq!(network(&layers, None), expected, "{mine} {theirs}");
            let trusted = loaded(&layers, &[], Trust::Trusted);
            let trusted = trusted.config.tools.sandbox.commands.network;
            let alone = loaded(&[user(&written(theirs))], &[], Trust::Trusted);
            assert_eq!(trusted, alone.config.tools.sandbox.commands.network, "{mine} {theirs}");
        }
    }

    #[test]
    fn flags_add_to_a_list_and_variables_replace_it() {
        let flag = |value: &str| ConfigLayer { source: Source::Flag, text: written(value) };
        let mine = user(&written("['a.org']"));
        assert_eq!(network(&[mine.clone(), flag("['b.org']")], None), "only a.org, b.org");
        assert_eq!(network(&[mine.clone(), flag("'on'")], None), "on");
        assert_eq!(network(&[flag("['b.org']")], None), "only b.org");
        assert_eq!(
            network(std::slice::from_ref(&mine), Some("b.org, *.c.org:8080")),
            "only b.org, *.c.org:8080"
        );
        assert_eq!(network(std::slice::from_ref(&mine), Some("localhost")), "only localhost");
        assert_eq!(network(std::slice::from_ref(&mine), Some("off")), "off");
        assert_eq!(network(&[mine], Some("")), "off");
    }

    #[test]
    fn what_is_neither_word_nor_host_is_refused() {
        for (value, said) in [
            ("'onn'", "unknown value `onn`"),
            ("true", "expected `on`, `off` or a list of hosts, found `true` or `false`"),
            ("['https://a.org']", "`https://a.org` is not a host"),
            ("['a.org', '*']", "`*` is not a host"),
            ("[1]", "expected a string"),
        ] {
            let errors = load(&[user(&written(value))], &[], Trust::Trusted).unwrap_err();
            assert!(errors[0].to_string().contains(said), "{value}: {errors:?}");
        }
        let typo = [("JM_TOOLS_SANDBOX_COMMANDS_NETWORK".to_owned(), "onn".to_owned())];
        assert!(load(&[], &typo, Trust::Trusted).is_err());
    }
}
