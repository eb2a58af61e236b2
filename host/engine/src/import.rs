//! Import of existing objects: through `import` blocks in a plan, or directly by the `import`
//! command.
//!
//! | | source of the addresses | when the object is added to the state |
//! |---|---|---|
//! | a plan | the blocks of the root module ([`blocks`]) | in the apply; before that, the plan contains the object |
//! | [`crate::EngineContext::import`] | the caller | immediately |
//!
//! On request, a configuration is generated for an imported object whose resource has no block
//! ([`generate`]). The provider calls are in `operation/import.rs`.

pub mod blocks;
pub mod check;
pub mod generate;
