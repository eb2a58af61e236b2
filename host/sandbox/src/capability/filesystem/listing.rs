//! Lists directories in batches, as the guest requests the names. Therefore, the memory for an
//! instance's listings depends on the number of listings, which is limited, and not on the size of
//! the directories.

use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use wardian_files::{DirectoryEntry, Listing};

use super::file_guard::{FileError, OpenFile};

/// A directory that a guest lists.
pub(crate) struct OpenListing {
    pieces: Arc<Pieces>,
    pending: vec::IntoIter<DirectoryEntry>,
    is_at_end: bool,
}

/// The state of the listing that another thread uses.
pub(crate) struct Pieces {
    directory: OpenFile,
    listing: Mutex<Listing>,
}

impl OpenListing {
    pub(crate) fn new(directory: OpenFile, listing: Listing) -> Self {
        let pieces = Arc::new(Pieces { directory, listing: Mutex::new(listing) });
        Self { pieces, pending: Vec::new().into_iter(), is_at_end: false }
    }

    /// Returns whether another batch must be read before the next entry.
    pub(crate) fn needs_piece(&self) -> bool {
        self.pending.as_slice().is_empty() && !self.is_at_end
    }

    pub(crate) fn pieces(&self) -> Arc<Pieces> {
        Arc::clone(&self.pieces)
    }

    pub(crate) fn add_piece(&mut self, piece: Vec<DirectoryEntry>) {
        self.is_at_end = piece.is_empty();
        self.pending = piece.into_iter();
    }

    pub(crate) fn next(&mut self) -> Option<DirectoryEntry> {
        self.pending.next()
    }
}

impl Pieces {
    /// Reads the next batch, if the current call may list the directory.
    pub(crate) fn read(&self) -> Result<Vec<DirectoryEntry>, FileError> {
        self.directory.check()?;
        Ok(self.listing.lock().unwrap_or_else(PoisonError::into_inner).read_piece()?)
    }
}
