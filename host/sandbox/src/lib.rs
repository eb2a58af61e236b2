//! wardian-sandbox
