//! Objects that exist and come under management: by `import` blocks, in a plan, or
//! by the person's word, at once.
//!
//! | | who says what is imported | where the state gets it |
//! |---|---|---|
//! | a plan | the blocks of the root module ([`blocks`]) | in the apply; until then it is part of the plan |
//! | [`crate::Run::import`] | the caller | at once |
//!
//! A block whose resource has no configuration gets one, where the person asked for
//! that ([`generate`]). What is asked of the provider is in `operation/import.rs`.

pub mod blocks;
pub mod check;
pub mod generate;
