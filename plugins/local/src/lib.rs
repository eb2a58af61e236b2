//! The local provider: files and directories on the machine that runs the
//! plan, within the directories that policy grants.

mod checksums;
mod disk;
mod permission;
