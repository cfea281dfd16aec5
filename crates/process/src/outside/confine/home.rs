//! A home inside the workspace: the one root whose files run whenever the person logs in.

use crate::contract::confinement_rules::{Backend, ConfinementRules};
use crate::contract::within::is_within;

/// The gap of a command that may write a home: names that programs run at login and start are kept as
/// they are, but no list of them is complete.
pub(super) fn home_in_workspace(rules: &ConfinementRules) -> Option<String> {
    let homes = rules.homes.iter().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()));
    let mut written =
        homes.filter(|home| rules.writable.iter().any(|folder| is_within(home, folder)));
    let home = written.next().filter(|_| rules.backend != Backend::None)?;
    Some(format!(
        "the home {} is part of the workspace: commands can read and change everything in it but \
         denied and protected names; start in a project's directory instead",
        home.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::confinement_rules::{Access, Network, Resources};

    #[test]
    fn a_home_that_can_be_written_is_a_gap() {
        let gap = |home: &str, writable: &str| {
            home_in_workspace(&ConfinementRules {
                backend: Backend::Namespaces,
                access: Access::Full,
                network: Network::Off,
                writable: vec![writable.into()],
                readable: Vec::new(),
                homes: vec![home.into()],
                kept: Vec::new(),
                hidden: Vec::new(),
                absent: Vec::new(),
                identities: Vec::new(),
                resources: Resources::default(),
                layer: None,
                shares_loopback: false,
            })
        };
        for writable in ["/home/nobody-here", "/home", "/"] {
            let said = gap("/home/nobody-here", writable).unwrap_or_default();
            assert!(
                said.starts_with("the home /home/nobody-here is part of"),
                "{writable}: {said}"
            );
        }
        assert_eq!(gap("/home/nobody-here", "/home/nobody-here/project"), None);
        assert_eq!(gap("/home/nobody-here", "/home/nobody"), None);
    }
}
