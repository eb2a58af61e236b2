//! The levels of policy files, from the organisation to the root module.

use std::fmt;

/// The level of a policy file, from the highest to the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The organisation: a file at a fixed path of the system, or at a path in an environment
    /// variable.
    Organisation,
    User,
    /// The configuration. Everyone who can change the configuration can change this file.
    RootModule,
    /// The host itself: default grants for embedded plugins. These grants apply only if all other
    /// levels defer, and the host denies nothing.
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
