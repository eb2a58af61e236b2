//! Verifies detached OpenPGP signatures.
