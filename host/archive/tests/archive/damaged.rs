//! Truncated and modified archives.

use proptest::prelude::*;
use tar::EntryType;
use wardian_archive::{ArchiveFormat, ArchiveLimits};

use crate::builders::{TAR_FORMATS, TarEntry, ZipEntry, compress, tar, zip};
use crate::fixture::Fixture;

/// Returns an archive with several kinds of entries in each format.
fn archives() -> Vec<(ArchiveFormat, Vec<u8>)> {
    let content: Vec<u8> = (0..2_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
    let entries = [
        TarEntry::new("sub/", EntryType::Directory, ""),
        TarEntry::file("sub/file", &content),
        TarEntry::pax("path", "sub/other"),
        TarEntry::file("x", "other"),
        TarEntry::link("link", EntryType::Symlink, "sub/file"),
    ];
    let mut archives: Vec<_> =
        TAR_FORMATS.iter().map(|format| (*format, compress(&tar(&entries), *format))).collect();
    let entries = [
        ZipEntry::stored("sub/", b""),
        ZipEntry::deflated("sub/file", &content),
        ZipEntry::stored("other", b"other"),
        ZipEntry::stored("link", b"sub/file").with_mode(0o120_777),
    ];
    archives.push((ArchiveFormat::Zip, zip(&entries)));
    archives
}

#[test]
fn truncated_archives_are_rejected() {
    let limits = ArchiveLimits::for_module_package();
    for (format, archive) in archives() {
        Fixture::new().unpack(&archive, format, &limits).unwrap();
        let ends = (0..archive.len()).step_by(97).chain(archive.len().saturating_sub(40)..archive.len());
        for end in ends {
            // The last two blocks of an uncompressed tar archive are zero, and one is sufficient.
            if format == ArchiveFormat::Tar && end >= archive.len() - 512 {
                continue;
            }
            let result = Fixture::new().unpack(&archive[..end], format, &limits);
            assert!(result.is_err(), "{format} of {end} bytes");
        }
    }
}

#[test]
fn checksums_are_verified() {
    let limits = ArchiveLimits::for_module_package();
    for (format, archive) in archives() {
        if format == ArchiveFormat::Tar {
            continue;
        }
        // The middle of the archive is compressed data.
        for position in (archive.len() / 2 - 20)..(archive.len() / 2 + 20) {
            let mut changed = archive.clone();
            changed[position] ^= 0x10;
            assert!(Fixture::new().unpack(&changed, format, &limits).is_err(), "{format} at {position}");
        }
    }
}

#[test]
fn archive_of_another_format_is_rejected() {
    let limits = ArchiveLimits::for_module_package();
    let archives = archives();
    for (format, archive) in &archives {
        assert_eq!(ArchiveFormat::from_content(archive), Some(*format));
        for (other, _) in archives.iter().filter(|(other, _)| other != format) {
            assert!(Fixture::new().unpack(archive, *other, &limits).is_err(), "{format} as {other}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn corrupted_archives_never_write_outside_their_directory(
        which in 0_usize..5,
        changes in prop::collection::vec((prop::num::u16::ANY, prop::num::u8::ANY), 1..6),
        end in prop::option::of(prop::num::u16::ANY),
    ) {
        let (format, mut archive) = archives().swap_remove(which);
        for (position, byte) in changes {
            let position = usize::from(position) % archive.len();
            archive[position] = byte;
        }
        if let Some(end) = end {
            archive.truncate(usize::from(end) % (archive.len() + 1));
        }
        for limits in [ArchiveLimits::for_module_package(), ArchiveLimits::for_provider_package()] {
            let fixture = Fixture::new();
            if fixture.unpack(&archive, format, &limits).is_ok() {
                fixture.tree();
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(prop::num::u8::ANY, 0..2_000)) {
        for format in [&TAR_FORMATS[..], &[ArchiveFormat::Zip]].concat() {
            let _ = Fixture::new().unpack(&bytes, format, &ArchiveLimits::for_module_package());
        }
        let _ = ArchiveFormat::from_content(&bytes);
    }
}
