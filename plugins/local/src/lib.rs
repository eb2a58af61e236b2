//! The local provider: files and directories on the machine that runs the
//! plan, within the directories that policy grants.
//!
//! Compatible with `hashicorp/local` 2.5, state by state; README.md lists what
//! it offers and the few differences. `disk` is the only module that touches
//! the file system, and only in directories that are granted.

mod checksum_attributes;
mod checksums;
mod direxists;
mod disk;
mod file;
mod file_source;
mod permission;
mod sensitive_file;
mod written_file;

use wardian_sdk::Provider;

/// The provider with all that it offers.
pub fn provider() -> Provider {
    Provider::new("local")
        .resource("local_file", file::LocalFile)
        .resource("local_sensitive_file", sensitive_file::LocalSensitiveFile)
        .data_source("local_file", file_source::FileSource::Plain)
        .data_source("local_sensitive_file", file_source::FileSource::Sensitive)
        .function(direxists::function())
}

wardian_sdk::export_provider!(
    provider,
    filesystem {
        directories: ["."],
        access: ["read", "write"],
        reason: "its resources are files, in the configuration's directory unless they are put elsewhere",
    },
);

#[cfg(test)]
mod tests;
