//! The kinds of settings: the values that a key accepts, its field, and which values are looser.

use jm_types::Network;

use crate::modes::ConfigWord;
use crate::servers::Servers;
use crate::settings::{Config, Definition, PresetEntry, RuleEntry};

pub(super) type Field<T> = fn(&mut Config) -> &mut T;

/// The type of a key: the values it accepts, the field that holds them, and which are looser.
#[derive(Debug)]
pub(super) enum ValueKind {
    Toggle {
        field: Field<bool>,
        loose: bool,
    },
    /// A limit: the lower, the tighter.
    Number {
        field: Field<u64>,
        lowest: u64,
        highest: u64,
    },
    /// Bytes on the person's own disk, which no project has a say in.
    Quota {
        field: Field<u64>,
    },
    /// A name that no project may choose; blank is none.
    Name {
        field: Field<String>,
    },
    Word {
        field: fn(&mut Config) -> &mut dyn WordField,
        project: ProjectRight,
    },
    List {
        field: Field<Vec<String>>,
        joining: Joining,
        fewest: usize,
    },
    /// `on`, `off`, or hosts.
    Network {
        field: Field<Network>,
    },
    Definitions {
        field: Field<Vec<Definition>>,
    },
    Presets {
        field: Field<Vec<PresetEntry>>,
    },
    /// A table a server; those of all layers add up, by their names.
    Servers {
        field: Field<Servers>,
    },
    /// Rules about calls; those of all layers add up.
    Rules {
        field: Field<Vec<RuleEntry>>,
        loosens: bool,
    },
}

/// The right of an untrusted project over a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProjectRight {
    MayTighten,
    MayNotSet,
}

/// The way a layer's list joins the list below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joining {
    /// Entries are added to those of the layers below.
    Adds,
    Replaces,
}

impl Joining {
    pub(super) fn adds(self) -> bool {
        match self {
            Self::Adds => true,
            Self::Replaces => false,
        }
    }
}

/// A [`ConfigWord`] whose type the table need not know.
pub(super) trait WordField {
    /// Every word, the loosest first.
    fn words(&self) -> Vec<&'static str>;
    fn word(&self) -> &'static str;
    fn choose(&mut self, word: &str);
}

impl<T: ConfigWord> WordField for T {
    fn words(&self) -> Vec<&'static str> {
        T::ALL.iter().map(|word| word.name()).collect()
    }

    fn word(&self) -> &'static str {
        self.name()
    }

    fn choose(&mut self, word: &str) {
        if let Some(chosen) = T::ALL.iter().find(|known| known.name() == word) {
            *self = *chosen;
        }
    }
}
