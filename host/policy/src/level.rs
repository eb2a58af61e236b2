//! The levels of policy files.

use std::fmt;

/// The level of a policy file, from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The organisation: a fixed path of the system, or one from the environment.
    Organisation,
    /// The user.
    User,
    /// The configuration; everybody who can change it can change this file.
    RootModule,
    /// The host itself: default grants for plugins that it ships. It grants accesses that all
    /// other levels left open, and denies nothing.
    Host,
}

impl Level {
    /// Returns the display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::User => "user",
            Self::RootModule => "root module",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
