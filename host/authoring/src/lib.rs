//! Tools for authors of plugins: creates and builds projects, adds declarations to components,
//! generates documentation.
//!
//! | module | task |
//! |---|---|
//! | [`scaffold`] | the files of a new provider, from the templates in `templates/` |
//! | [`project`] | builds and tests a provider with the build tool of its language |
//! | [`component_report`] | the parts of a component's size, and features that hosts do not support |
//! | [`componentize`] | converts a core module to a component |
//! | [`declare`] | adds capability requests to a component |
//! | [`documentation`] | the pages that provider registries publish |
//!
//! This crate starts only build tools (`cargo`, `go`, npm, `componentize-qjs`, Python, `componentize-py`) in
//! the author's project. It opens no connection, writes to no terminal, and runs no plugin. It
//! reads and writes only files that the caller names, and files in the author's project.

pub mod component_report;
pub mod componentize;
pub mod declare;
pub mod documentation;
pub mod project;
pub mod scaffold;
mod templates;
