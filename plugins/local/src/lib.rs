//! The local provider: files and directories on the machine on which Wardian runs, in the
//! directories that policy grants.
//!
//! Its schemas and states are compatible with `hashicorp/local` 2.5; README.md lists its
//! resources and the few differences. `disk` is the only module that accesses the file system.

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

use crate::written_file::FileResource;

pub fn provider() -> Provider {
    Provider::new("local")
        .resource("local_file", FileResource::<file::State>::new())
        .resource("local_sensitive_file", FileResource::<sensitive_file::State>::new())
        .data_source("local_file", file_source::FileSource::Plain)
        .data_source("local_sensitive_file", file_source::FileSource::Sensitive)
        .function(direxists::function())
}

wardian_sdk::export_provider!(
    provider,
    filesystem {
        directories: ["."],
        access: ["read", "write"],
        reason: "its resources are files, by default in the directory of the configuration",
    },
);

#[cfg(test)]
mod tests;
