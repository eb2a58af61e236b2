//! wardian-provider-time
