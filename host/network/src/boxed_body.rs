//! The type of request bodies.

use std::error::Error;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;

/// A request body of any type.
pub type BoxedBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;
