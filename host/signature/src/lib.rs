//! Verifies Sigstore bundles and the identities of publishers.
