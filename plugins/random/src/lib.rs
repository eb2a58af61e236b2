//! wardian-provider-random
