//! Runs `wardian` in a folder of its own and shows what a person would see.
//!
//! Nothing of the person who runs the tests comes in: no variables, no home, no
//! CLI configuration. Compiled plugins are kept for all tests together, so that
//! each is compiled once. What differs from run to run is replaced in one place,
//! [`filters`].

mod filters;
mod program;
mod project;
mod recorded;
mod terraform;

pub use program::{Running, binary, platform, test_guest};
pub use project::{Project, Seen};
pub use recorded::{assert_recorded, assert_recorded_with_files};
pub use terraform::{Terraform, terraform};

/// Compares what was seen with a stored snapshot of that name.
#[macro_export]
macro_rules! assert_seen {
    ($name:expr, $seen:expr) => {
        $crate::assert_seen_text!($name, $seen.text())
    };
}

/// As [`assert_seen!`], for a text.
#[macro_export]
macro_rules! assert_seen_text {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!($name, $text)
        })
    };
}
