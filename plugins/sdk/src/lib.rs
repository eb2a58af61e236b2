//! wardian-sdk
