//! The names of test files and mock data files.

use std::collections::BTreeSet;
use std::ffi::OsString;

/// The suffixes of one kind of files. A file with an OpenTofu suffix replaces the file that has the
/// same name with the corresponding Terraform suffix.
pub(super) struct FileSuffixes {
    terraform: [&'static str; 2],
    opentofu: [&'static str; 2],
}

pub(super) const TEST_FILES: FileSuffixes = FileSuffixes {
    terraform: [".tftest.hcl", ".tftest.json"],
    opentofu: [".tofutest.hcl", ".tofutest.json"],
};

pub(super) const MOCK_DATA_FILES: FileSuffixes = FileSuffixes {
    terraform: [".tfmock.hcl", ".tfmock.json"],
    opentofu: [".tofumock.hcl", ".tofumock.json"],
};

impl FileSuffixes {
    /// Returns the names of the files of this kind, sorted.
    pub(super) fn select(&self, names: Vec<OsString>) -> Vec<String> {
        let names: BTreeSet<String> = names
            .into_iter()
            // A name that is not valid Unicode cannot be displayed without loss.
            .filter_map(|name| name.into_string().ok())
            .filter(|name| !(name.starts_with('.') || name.starts_with('#') && name.ends_with('#')))
            .collect();
        let is_replaced = |name: &str| {
            self.terraform.iter().zip(self.opentofu).any(|(suffix, other)| {
                name.strip_suffix(suffix).is_some_and(|stem| names.contains(&format!("{stem}{other}")))
            })
        };
        let has_suffix =
            |name: &str| self.terraform.iter().chain(&self.opentofu).any(|suffix| name.ends_with(suffix));
        names.iter().filter(|name| has_suffix(name) && !is_replaced(name)).cloned().collect()
    }

    /// Returns a name without its suffix, unless the file is in JSON syntax. Terraform records such names.
    pub(super) fn strip<'a>(&self, name: &'a str) -> &'a str {
        let [native, _] = self.terraform;
        let [opentofu, _] = self.opentofu;
        name.strip_suffix(native).or_else(|| name.strip_suffix(opentofu)).unwrap_or(name)
    }
}
