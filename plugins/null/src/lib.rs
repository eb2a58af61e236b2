//! wardian-provider-null
