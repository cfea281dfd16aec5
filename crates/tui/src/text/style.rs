//! Styles by meaning. Colours are a theme's business, but for highlighted code, whose colours come
//! from the sixteen of the terminal.

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Role {
    #[default]
    Text,
    Heading,
    Code,
    Link,
    /// Less important: counts, hints, times.
    Muted,
    /// The person's own words.
    Person,
    /// The prompt's mark and whatever is selected.
    Accent,
    Success,
    Failure,
    Warning,
    /// High risk.
    Danger,
    Added,
    Removed,
    AddedWord,
    RemovedWord,
}

/// One of the sixteen colours of a terminal's own palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ansi(pub u8);

/// How letters are drawn besides their colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u8);

impl Attributes {
    pub const NONE: Self = Self(0);
    pub const BOLD: Self = Self(1);
    pub const DIM: Self = Self(2);
    pub const ITALIC: Self = Self(4);
    pub const UNDERLINED: Self = Self(8);
    pub const REVERSED: Self = Self(16);
    pub const STRUCK: Self = Self(32);

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub role: Role,
    /// Overrides the role's colour.
    pub ink: Option<Ansi>,
    pub attributes: Attributes,
}

impl Style {
    pub const fn of(role: Role) -> Self {
        Self { role, ink: None, attributes: Attributes::NONE }
    }

    pub const fn with(self, attributes: Attributes) -> Self {
        Self { attributes: self.attributes.with(attributes), ..self }
    }

    pub const fn bold(self) -> Self {
        self.with(Attributes::BOLD)
    }
}

impl From<Role> for Style {
    fn from(role: Role) -> Self {
        Self::of(role)
    }
}
