//! Structure.
use crate::{Body, Diagnostics, SourceFile};
use std::sync::Arc;
pub(super) fn body(file: &Arc<SourceFile>) -> Result<Body, Diagnostics> {
    Ok(Body::empty(file.span()))
}
