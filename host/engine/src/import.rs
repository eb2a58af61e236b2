//! Import of existing objects: by `import` blocks in a plan, or by the `import` command at once.
//!
//! | | source of the addresses | when the state gets the object |
//! |---|---|---|
//! | a plan | the blocks of the root module ([`blocks`]) | in the apply; until then it is part of the plan |
//! | [`crate::EngineContext::import`] | the caller | at once |
//!
//! A resource without a configuration gets one if the user asks for it ([`generate`]). The
//! provider calls are in `operation/import.rs`.

pub mod blocks;
pub mod check;
pub mod generate;
