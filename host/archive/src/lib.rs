//! Unpacks archives from untrusted sources within limits.
