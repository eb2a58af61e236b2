//! Shares the memory of equal texts.

use std::collections::HashSet;
use std::sync::Arc;

/// Maximum length of a text that is shared. Longer texts are rarely equal.
const MAX_SHARED_LENGTH: usize = 256;

/// Texts that occur several times in a document.
#[derive(Default)]
pub(crate) struct TextPool(HashSet<Arc<str>>);

impl TextPool {
    /// Returns a text, shared with equal texts.
    pub(crate) fn text(&mut self, text: &str) -> Arc<str> {
        if text.len() > MAX_SHARED_LENGTH {
            return text.into();
        }
        if let Some(shared) = self.0.get(text) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = text.into();
        self.0.insert(Arc::clone(&shared));
        shared
    }
}
