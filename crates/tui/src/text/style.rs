//! Styles by meaning. Colours are a theme's business, but for highlighted code, whose colours come
//! from the sixteen of the terminal.

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ordinary words.
    #[default]
    Text,
    /// A heading of Markdown.
    Heading,
    /// Code within words.
    Code,
    /// The target of a link.
    Link,
    /// Less important: counts, hints, times.
    Muted,
    /// The person's own words.
    Person,
    /// The prompt's mark and whatever is selected.
    Accent,
    /// A call that succeeded.
    Success,
    /// A call that failed.
    Failure,
    /// Something to look at.
    Warning,
    /// High risk.
    Danger,
    /// A line that a change adds.
    Added,
    /// A line that a change removes.
    Removed,
    /// The words of an added line that differ.
    AddedWord,
    /// The words of a removed line that differ.
    RemovedWord,
}

/// One of the sixteen colours of a terminal's own palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ansi(pub u8);

/// How letters are drawn besides their colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u8);

impl Attributes {
    /// No attribute.
    pub const NONE: Self = Self(0);
    /// SGR 1.
    pub const BOLD: Self = Self(1);
    /// SGR 2.
    pub const DIM: Self = Self(2);
    /// SGR 3.
    pub const ITALIC: Self = Self(4);
    /// SGR 4.
    pub const UNDERLINED: Self = Self(8);
    /// SGR 7.
    pub const REVERSED: Self = Self(16);
    /// SGR 9.
    pub const STRUCK: Self = Self(32);

    /// Both sets together.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The first set without the second.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Tells if every attribute of the second set is in the first.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The role of a text, and its attributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// The role, which the theme gives a colour.
    pub role: Role,
    /// Overrides the role's colour.
    pub ink: Option<Ansi>,
    /// Bold, dim and the like.
    pub attributes: Attributes,
}

impl Style {
    /// The role without attributes.
    pub const fn of(role: Role) -> Self {
        Self { role, ink: None, attributes: Attributes::NONE }
    }

    /// The same with more attributes.
    pub const fn with(self, attributes: Attributes) -> Self {
        Self { attributes: self.attributes.with(attributes), ..self }
    }

    /// The same in bold.
    pub const fn bold(self) -> Self {
        self.with(Attributes::BOLD)
    }
}

impl From<Role> for Style {
    fn from(role: Role) -> Self {
        Self::of(role)
    }
}
