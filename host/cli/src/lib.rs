//! wardian-cli
