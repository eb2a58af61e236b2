//! The arguments of comparisons that run a binary with several projects.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// The arguments after `interop wrappers` or `interop test-modules`.
#[derive(Default)]
pub(crate) struct Selection {
    /// The binary to run. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Selects the projects whose names contain this text.
    pub(super) only: String,
}

impl Selection {
    /// Parses the arguments after `interop PEER`.
    pub(super) fn parse(peer: &str, arguments: &[String]) -> Result<Self> {
        let mut selection = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => selection.binary = Some(value()?.into()),
                "--only" => selection.only.clone_from(value()?),
                other => bail!("`interop {peer}` does not accept `{other}`"),
            }
        }
        Ok(selection)
    }
}
