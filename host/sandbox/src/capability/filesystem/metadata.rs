//! Converts file metadata between WASI and the system.

use rustix::fs::{FileType, Stat, Timespec, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, DescriptorType, MetadataHashValue, NewTimestamp,
};

pub(super) fn moment(new: NewTimestamp) -> FsResult<Timespec> {
    Ok(match new {
        NewTimestamp::NoChange => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        NewTimestamp::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        NewTimestamp::Timestamp(at) => {
            let seconds = at.seconds.checked_add(u64::from(at.nanoseconds / 1_000_000_000));
            let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok()).ok_or(Errno::OVERFLOW);
            Timespec {
                tv_sec: seconds.map_err(std::io::Error::from)?,
                tv_nsec: (at.nanoseconds % 1_000_000_000).into(),
            }
        }
    })
}

pub(super) fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        _ => DescriptorType::Unknown,
    }
}

/// WASI cannot represent times before 1970.
#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "the widths of the types differ between platforms"
)]
pub(super) fn described(about: &Stat) -> DescriptorStat {
    let at = |seconds: i64, nanoseconds: Option<u32>| {
        Some(Datetime { seconds: u64::try_from(seconds).ok()?, nanoseconds: nanoseconds? })
    };
    DescriptorStat {
        type_: descriptor_type(FileType::from_raw_mode(about.st_mode)),
        link_count: u64::from(about.st_nlink),
        size: u64::try_from(about.st_size).unwrap_or_default(),
        data_access_timestamp: at(about.st_atime, u32::try_from(about.st_atime_nsec).ok()),
        data_modification_timestamp: at(about.st_mtime, u32::try_from(about.st_mtime_nsec).ok()),
        status_change_timestamp: at(about.st_ctime, u32::try_from(about.st_ctime_nsec).ok()),
    }
}

/// Returns a hash that is the same for all names of a file.
pub(super) fn identity(device: u64, file: u64) -> MetadataHashValue {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&device.to_le_bytes()).update(&file.to_le_bytes());
    let digest = *hasher.finalize().as_bytes();
    let part = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    MetadataHashValue { lower: part(0), upper: part(8) }
}
