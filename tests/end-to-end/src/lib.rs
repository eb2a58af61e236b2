//! Runs `wardian` in a temporary directory and captures its output.
//!
//! The tests use nothing from the environment of the user who runs them: no variables, no home
//! directory, no CLI configuration. All tests share a cache of compiled plugins. Each plugin is
//! therefore compiled once. The module `filters` replaces text that differs from run to run.

mod component_toolchain;
mod corpus;
pub mod diagnostics;
mod differences;
mod filters;
mod layout;
mod parallel;
mod program;
mod project;
mod recorded;
mod sections;
mod steps;
mod terminal;
mod terraform;
#[cfg(unix)]
mod tmux;
pub mod wasm;

pub use component_toolchain::component_toolchain;
pub use corpus::{OpenCases, case_files};
pub use differences::differences;
pub use layout::lay_out;
pub use parallel::each;
pub use program::{Running, binary, platform, test_guest};
pub use project::{Project, Seen};
pub use recorded::{assert_recorded, assert_recorded_with_files};
pub use sections::sections;
pub use steps::{CommandLine, Encoding, Output, Program, Step};
pub use terminal::Terminal;
pub use terraform::{Terraform, terraform};
#[cfg(unix)]
pub use tmux::Tmux;

/// Compares a command's output with the snapshot of the same name.
#[macro_export]
macro_rules! assert_seen {
    ($name:expr, $seen:expr) => {
        $crate::assert_seen_text!($name, $seen.text())
    };
}

/// Like [`assert_seen!`], for a string.
#[macro_export]
macro_rules! assert_seen_text {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $text)
        })
    };
}
