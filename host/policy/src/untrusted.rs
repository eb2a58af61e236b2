//! What else holds for a configuration that comes from a stranger.
//!
//! Its own policy file is the stranger's too: it can forbid, and what it allows counts
//! for nothing. Requests go where the organisation says alone. Nothing is started and
//! nothing is written. Some files are not read: states hold secrets of all resources.

use std::path::{Path, PathBuf};

use crate::path::is_within;
use crate::policy::Level;
use crate::request::{Access, Request};

/// The wall, and what is behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Untrusted {
    unreadable: Vec<PathBuf>,
}

impl Untrusted {
    pub(crate) fn new(unreadable: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { unreadable: unreadable.into_iter().collect() }
    }

    /// Why a request is denied, whatever files say.
    pub(crate) fn forbids(&self, request: &Request) -> Option<&'static str> {
        match request {
            Request::Process(_) => Some("no program is started"),
            Request::Communicator(_) => Some("no machine is connected to"),
            Request::File(file) if file.access == Access::Write => Some("nothing is written"),
            Request::File(file) if self.hides(&file.path) => {
                Some("states and what belongs to them are not read")
            }
            _ => None,
        }
    }

    /// A directory above is no reason: what is in it is asked for one by one.
    fn hides(&self, path: &Path) -> bool {
        self.unreadable.iter().any(|hidden| is_within(path, hidden))
    }

    /// Whether what a file allows counts.
    pub(crate) fn believes(level: Level, request: &Request) -> bool {
        match request {
            Request::Network(_) | Request::LookUp(_) => level == Level::Organisation,
            _ => level != Level::RootModule,
        }
    }
}
