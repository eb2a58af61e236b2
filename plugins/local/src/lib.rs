//! wardian-provider-local
