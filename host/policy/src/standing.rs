//! Where something that is asked for stands: granted, denied, or for somebody to decide.

use std::fmt;
use std::sync::Arc;

use crate::asked::Asked;
use crate::explain::Granted;
use crate::place::Place;
use crate::policy::{FileView, Level, Otherwise, PluginPolicy};
use crate::rule::Effect;

/// What policies say of something that a plugin asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it is granted.
    Granted,
    /// Some of it is denied, and a rule of the root module would not change that. The
    /// rest is granted.
    Denied(DeniedBy),
    /// A rule of the root module would grant what is not denied.
    Open,
}

/// Who denies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeniedBy {
    /// A line.
    Line(Place),
    /// A file above the root module's that does not mention it.
    Silence {
        /// As people know it.
        file: Arc<str>,
    },
}

impl fmt::Display for DeniedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(place) => write!(formatter, "{place} denies it"),
            Self::Silence { file } => write!(formatter, "{file} does not allow it"),
        }
    }
}

/// What one file grants and denies, one thing at a time.
struct View<'a> {
    file: &'a FileView,
    granted: Vec<Granted>,
    denied: Vec<(Granted, &'a Place)>,
}

impl<'a> View<'a> {
    fn of(file: &'a FileView) -> Self {
        let with = |effect: Effect| file.rules.iter().filter(move |rule| rule.effect == effect);
        Self {
            file,
            granted: with(Effect::Allow).flat_map(|rule| Granted::of(&rule.conditions)).collect(),
            denied: with(Effect::Deny)
                .flat_map(|rule| {
                    Granted::denied_by(&rule.conditions).into_iter().map(move |one| (one, &rule.place))
                })
                .collect(),
        }
    }

    fn grants(&self, piece: &Granted) -> bool {
        self.granted.iter().any(|one| one.covers(piece))
    }

    fn denies(&self, piece: &Granted) -> Option<&'a Place> {
        self.denied.iter().find(|(one, _)| one.covers(piece)).map(|(_, place)| *place)
    }
}

impl PluginPolicy {
    /// What policies say of something that is asked for, if all of it is used.
    pub fn standing(&self, asked: &Asked) -> Standing {
        let views: Vec<View<'_>> = self.files.iter().map(View::of).collect();
        let mut denied = None;
        for piece in asked.pieces() {
            match standing_of(&piece, &views) {
                Standing::Open => return Standing::Open,
                Standing::Denied(by) => denied = denied.or(Some(by)),
                Standing::Granted => {}
            }
        }
        denied.map_or(Standing::Granted, Standing::Denied)
    }
}

fn standing_of(piece: &Granted, views: &[View<'_>]) -> Standing {
    if let Some(place) = views.iter().find_map(|view| view.denies(piece)) {
        return Standing::Denied(DeniedBy::Line(place.clone()));
    }
    let mut is_open = false;
    for View { file, .. } in views.iter().filter(|view| !view.grants(piece)) {
        match (file.otherwise, file.level) {
            (Otherwise::Defer, _) => {}
            (Otherwise::Deny, Level::RootModule) => is_open = true,
            (Otherwise::Deny, Level::Host | Level::Organisation | Level::User) => {
                return Standing::Denied(DeniedBy::Silence { file: Arc::clone(&file.name) });
            }
        }
    }
    let is_granted = views.iter().any(|view| view.grants(piece));
    if is_granted && !is_open { Standing::Granted } else { Standing::Open }
}
