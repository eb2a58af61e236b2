//! wardian-engine
