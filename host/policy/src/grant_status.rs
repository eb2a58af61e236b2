//! Determines whether policies grant a capability request, deny it, or leave it undecided.

use std::fmt;
use std::sync::Arc;

use crate::capability_request::CapabilityRequest;
use crate::explain::GrantedAccess;
use crate::level::Level;
use crate::policy::{DefaultAction, FileView, PluginPolicy};
use crate::rule::Effect;
use crate::source_location::SourceLocation;

/// The status of a capability request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantStatus {
    /// The request is granted completely.
    Granted,
    /// The request is denied at least in part, and no rule in the root module's policy can change
    /// that. The rest is granted.
    Denied(DenialSource),
    /// A rule in the root module's policy can grant everything that is not denied.
    Undecided,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenialSource {
    Rule(SourceLocation),
    /// A file of a higher level that does not grant the request.
    NotGranted {
        /// Display name of the file.
        file: Arc<str>,
    },
}

impl fmt::Display for DenialSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(location) => write!(formatter, "{location} denies it"),
            Self::NotGranted { file } => write!(formatter, "{file} does not allow it"),
        }
    }
}

/// The grants and denials of one file.
struct FileGrants<'a> {
    file: &'a FileView,
    granted: Vec<GrantedAccess>,
    denied: Vec<(GrantedAccess, &'a SourceLocation)>,
}

impl<'a> FileGrants<'a> {
    fn new(file: &'a FileView) -> Self {
        let with = |effect: Effect| file.rules.iter().filter(move |rule| rule.effect == effect);
        Self {
            file,
            granted: with(Effect::Allow)
                .flat_map(|rule| GrantedAccess::from_conditions(&rule.conditions))
                .collect(),
            denied: with(Effect::Deny)
                .flat_map(|rule| {
                    GrantedAccess::from_denial(&rule.conditions)
                        .into_iter()
                        .map(move |one| (one, &rule.location))
                })
                .collect(),
        }
    }

    fn grants(&self, piece: &GrantedAccess) -> bool {
        self.granted.iter().any(|one| one.covers(piece))
    }

    fn denies(&self, piece: &GrantedAccess) -> Option<&'a SourceLocation> {
        self.denied.iter().find(|(one, _)| one.covers(piece)).map(|(_, location)| *location)
    }
}

impl PluginPolicy {
    pub fn grant_status(&self, request: &CapabilityRequest) -> GrantStatus {
        let files: Vec<FileGrants<'_>> = self.files.iter().map(FileGrants::new).collect();
        let mut denied = None;
        for piece in request.pieces() {
            match status_of(&piece, &files) {
                GrantStatus::Undecided => return GrantStatus::Undecided,
                GrantStatus::Denied(source) => denied = denied.or(Some(source)),
                GrantStatus::Granted => {}
            }
        }
        denied.map_or(GrantStatus::Granted, GrantStatus::Denied)
    }
}

fn status_of(piece: &GrantedAccess, files: &[FileGrants<'_>]) -> GrantStatus {
    if let Some(location) = files.iter().find_map(|file_grants| file_grants.denies(piece)) {
        return GrantStatus::Denied(DenialSource::Rule(location.clone()));
    }
    let mut is_undecided = false;
    for FileGrants { file, .. } in files.iter().filter(|file_grants| !file_grants.grants(piece)) {
        match (file.default_action, file.level) {
            (DefaultAction::Defer, _) => {}
            (DefaultAction::Deny, Level::RootModule) => is_undecided = true,
            (DefaultAction::Deny, Level::Host | Level::Organisation | Level::User) => {
                return GrantStatus::Denied(DenialSource::NotGranted { file: Arc::clone(&file.name) });
            }
        }
    }
    let is_granted = files.iter().any(|file_grants| file_grants.grants(piece));
    if is_granted && !is_undecided { GrantStatus::Granted } else { GrantStatus::Undecided }
}
