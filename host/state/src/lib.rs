//! wardian-state
