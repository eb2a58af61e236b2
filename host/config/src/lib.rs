//! wardian-config
