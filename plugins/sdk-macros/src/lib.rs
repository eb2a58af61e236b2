//! wardian-sdk-macros
