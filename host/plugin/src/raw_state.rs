//! Stored objects, before they are decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A stored object in the format of the state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawState {
    /// The attributes as JSON, exactly as stored.
    Json(Arc<str>),
    /// The flat map of state files before Terraform 0.12.
    Flatmap(Arc<BTreeMap<String, String>>),
}
