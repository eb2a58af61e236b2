//! The command line of `interop compare`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// The configurations to compare.
    pub(crate) directories: Vec<PathBuf>,
    /// The `wardian` binary to compare. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Whether to apply the plan, and to plan again.
    pub(crate) is_applying: bool,
    /// Whether variables whose default is null or empty also get values.
    pub(crate) is_filling: bool,
    /// Installed providers that are replaced by mock providers: addresses, or `all`.
    pub(crate) mocked: Vec<String>,
    /// Files with schemas of mock providers.
    pub(crate) schemas: Vec<PathBuf>,
    /// The file to which the results are written as JSON.
    pub(crate) report: Option<PathBuf>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--apply" => options.is_applying = true,
                "--binary" => options.binary = Some(existing(value()?)?),
                "--fill" => options.is_filling = true,
                "--mock" => options.mocked.push(value()?.clone()),
                "--report" => options.report = Some(PathBuf::from(value()?)),
                "--schemas" => options.schemas.push(existing(value()?)?),
                other => {
                    ensure!(!other.starts_with('-'), "`interop compare` does not accept `{other}`");
                    options.directories.push(existing(other)?);
                }
            }
        }
        ensure!(!options.directories.is_empty(), "`interop compare` needs at least one directory");
        Ok(options)
    }

    /// Whether a mock provider replaces an installed provider.
    pub(crate) fn is_mocked(&self, address: &str) -> bool {
        self.mocked.iter().any(|one| one == "all" || address.ends_with(&format!("/{one}")) || one == address)
    }
}

fn existing(path: &str) -> Result<PathBuf> {
    PathBuf::from(path).canonicalize().with_context(|| format!("there is no {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_and_directories_are_parsed_in_any_order() {
        let options = parsed("/ --apply --mock hashicorp/aws --report out.json").unwrap();
        assert_eq!(options.directories, [PathBuf::from("/")]);
        assert!(options.is_applying);
        assert!(options.is_mocked("registry.terraform.io/hashicorp/aws"));
        assert!(!options.is_mocked("registry.terraform.io/hashicorp/awscc"));
    }

    #[test]
    fn missing_directories_are_rejected() {
        for line in ["", "--apply", "/ --mock", "/missing/directory", "/ --what"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
