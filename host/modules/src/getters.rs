//! The getters. Each getter fetches packages from one kind of location into the cache.

pub(crate) mod archive;
pub(crate) mod bucket;
pub(crate) mod gcs;
pub(crate) mod git;
pub(crate) mod http;
pub(crate) mod mercurial;
pub(crate) mod oci;
pub(crate) mod s3;
