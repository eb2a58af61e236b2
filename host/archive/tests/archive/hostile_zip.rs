//! Hostile zip archives.

use std::fs::File;
use std::io::Read as _;

use wardian_archive::{ArchiveError, ArchiveFormat, ArchiveLimits, CheckedZip};

use crate::builders::{ZipEntry, zip, zip_end, zip_with_comment};
use crate::fixture::{Content, Fixture, small_limits};

#[track_caller]
fn problem(archive: &[u8], limits: &ArchiveLimits) -> ArchiveError {
    Fixture::new().unpack(archive, ArchiveFormat::Zip, limits).map(drop).unwrap_err()
}

fn both_limits() -> [ArchiveLimits; 2] {
    [ArchiveLimits::for_provider_package(), ArchiveLimits::for_module_package()]
}

#[test]
fn unsafe_names_are_rejected() {
    for name in [
        "../x",
        "a/../../x",
        "/etc/x",
        "..",
        "a\\x",
        "..\\x",
        "C:x",
        "C:/x",
        "a\0x",
        "a\nx",
        "a\u{1b}[2Jx",
        "\\\\server\\x",
    ] {
        for limits in both_limits() {
            let archive = zip(&[ZipEntry::stored("good", b""), ZipEntry::stored(name, b"x")]);
            let error = problem(&archive, &limits);
            assert!(matches!(&error, ArchiveError::UnsafeName { name: found } if found == name), "{error}");
            // In a message, control characters are escaped.
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
    let mut entry = ZipEntry::stored("a", b"");
    entry.name = b"a\xff".to_vec();
    for limits in both_limits() {
        assert!(matches!(problem(&zip(&[entry.clone()]), &limits), ArchiveError::UnsafeName { .. }));
    }
}

#[test]
fn long_and_deep_names_are_rejected() {
    let limits = ArchiveLimits::for_module_package();
    let error = problem(&zip(&[ZipEntry::stored(&"a".repeat(2_000), b"")]), &limits);
    assert!(matches!(error, ArchiveError::LongName { limit: 1024, .. }), "{error}");
    let error = problem(&zip(&[ZipEntry::stored(&"a/".repeat(100), b"")]), &limits);
    assert!(matches!(error, ArchiveError::DeepName { limit: 64, .. }), "{error}");
    // The file system may have a lower limit for a path component.
    let error = problem(&zip(&[ZipEntry::stored(&"a".repeat(1_000), b"")]), &limits);
    assert!(matches!(error, ArchiveError::Write { .. }), "{error}");
}

#[test]
fn duplicate_names_are_rejected() {
    for limits in both_limits() {
        for (one, two) in [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a", "a/")] {
            let archive = zip(&[ZipEntry::stored(one, b"1"), ZipEntry::stored(two, b"2")]);
            let error = problem(&archive, &limits);
            assert!(matches!(error, ArchiveError::RepeatedName { .. }), "{one} {two}: {error}");
        }
    }
    for (one, two) in [("a.txt", "A.TXT"), ("é", "e\u{301}"), ("A/b", "a")] {
        let archive = zip(&[ZipEntry::stored(one, b"1"), ZipEntry::stored(two, b"2")]);
        let error = problem(&archive, &ArchiveLimits::for_provider_package());
        assert!(matches!(error, ArchiveError::RepeatedName { .. }), "{one} {two}: {error}");
    }
}

#[test]
fn special_entries_are_rejected() {
    for limits in both_limits() {
        for file_type in [0o010_000, 0o020_000, 0o060_000, 0o140_000, 0o070_000] {
            for name in ["special", "special/"] {
                let archive = zip(&[ZipEntry::stored(name, b"").with_mode(file_type | 0o644)]);
                let error = problem(&archive, &limits);
                assert!(matches!(error, ArchiveError::SpecialEntry { .. }), "{file_type:o}: {error}");
            }
        }
        let encrypted = ZipEntry { flags: 0x801, ..ZipEntry::stored("secret", b"x") };
        assert!(matches!(problem(&zip(&[encrypted]), &limits), ArchiveError::Encrypted { .. }));
    }
    let link = zip(&[ZipEntry::stored("link", b"target").with_mode(0o120_777)]);
    let error = problem(&link, &ArchiveLimits::for_provider_package());
    assert!(matches!(&error, ArchiveError::SpecialEntry { name } if name == "link"), "{error}");
}

#[test]
fn links_must_point_inside_the_archive() {
    let limits = ArchiveLimits::for_module_package();
    let link = |name: &str, target: &str| ZipEntry::deflated(name, target.as_bytes()).with_mode(0o120_777);
    for target in ["/etc/passwd", "../x", "a/../../x", "..", "", "a\0b", &"a/".repeat(2_000)] {
        let error = problem(&zip(&[link("link", target)]), &limits);
        assert!(matches!(error, ArchiveError::UnsafeLink { .. }), "{target}: {error}");
    }
    // A file is not written through a link, regardless of the order of the two entries.
    for entries in [
        [link("l", "."), ZipEntry::stored("l/x", b"x")],
        [ZipEntry::stored("l/x", b"x"), link("l", ".")],
        [link("l", "x"), ZipEntry::stored("l", b"x")],
    ] {
        assert!(matches!(problem(&zip(&entries), &limits), ArchiveError::RepeatedName { .. }));
    }
    let fixture = Fixture::new();
    let archive = zip(&[link("sub/link", "../file"), ZipEntry::stored("file", b"content")]);
    let unpacked = fixture.unpack(&archive, ArchiveFormat::Zip, &limits).unwrap();
    assert_eq!(unpacked.links["sub/link"], "../file");
    assert_eq!(fixture.tree()["sub/link"], Content::Link("../file".to_owned()));
}

#[test]
fn total_size_and_ratio_are_limited() {
    let zeros = vec![0; 60_000];
    let error = problem(&zip(&[ZipEntry::deflated("bomb", &zeros)]), &small_limits());
    assert!(matches!(error, ArchiveError::Ratio { limit: 50_000, ratio: 100 }), "{error}");
    let entries = [ZipEntry::stored("one", &zeros), ZipEntry::stored("two", &zeros)];
    let error = problem(&zip(&entries), &small_limits());
    assert!(matches!(error, ArchiveError::UnpackedTooLarge { limit: 100_000 }), "{error}");
    let limits = ArchiveLimits { max_packed_bytes: 1_000, ..small_limits() };
    let error = problem(&zip(&entries), &limits);
    assert!(matches!(error, ArchiveError::PackedTooLarge { limit: 1_000 }), "{error}");
    let huge = ZipEntry { size: u32::MAX - 1, ..ZipEntry::deflated("huge", &zeros) };
    let error = problem(&zip(&vec![huge; 1]), &ArchiveLimits::for_provider_package());
    assert!(matches!(error, ArchiveError::Ratio { .. }), "{error}");
}

#[test]
fn content_must_match_its_declared_size_and_checksum() {
    let limits = ArchiveLimits::for_provider_package();
    let content = vec![7; 100_000];
    for size in [0, 10, 99_999, 100_001] {
        let error = problem(&zip(&[ZipEntry { size, ..ZipEntry::deflated("a", &content) }]), &limits);
        // The zip crate reports some of these errors itself.
        assert!(matches!(error, ArchiveError::WrongSize { .. } | ArchiveError::Zip(_)), "{size}: {error}");
    }
    for entry in [ZipEntry::deflated("a", &content), ZipEntry::stored("a", &content)] {
        let error = problem(&zip(&[ZipEntry { crc: entry.crc ^ 1, ..entry }]), &limits);
        assert!(matches!(error, ArchiveError::Zip(_)), "{error}");
    }
    let garbage = ZipEntry { data: vec![0xff; 100], ..ZipEntry::deflated("a", &content) };
    assert!(matches!(problem(&zip(&[garbage]), &limits), ArchiveError::Zip(_)));
    let unknown = ZipEntry { method: 95, ..ZipEntry::stored("a", b"a") };
    assert!(matches!(problem(&zip(&[unknown]), &limits), ArchiveError::Zip(_)));
}

#[test]
fn overlapping_entries_are_rejected() {
    for limits in both_limits() {
        let content = vec![7; 10_000];
        let kernel = ZipEntry::deflated("kernel", &content);
        // All entries have the same local header and data.
        let copies: Vec<_> = (0..10)
            .map(|index| {
                let name = format!("copy{index}").into_bytes();
                ZipEntry { name, offset: Some(0), ..kernel.clone() }
            })
            .collect();
        let archive = zip(&[&[kernel][..], &copies].concat());
        assert!(matches!(problem(&archive, &limits), ArchiveError::Overlap));
        // The data of the first entry contains the second one.
        let inner = ZipEntry::stored("inner", b"inner");
        let outer = ZipEntry::stored("outer", &zip(std::slice::from_ref(&inner)));
        let position = 30 + u32::try_from("outer".len()).unwrap();
        let archive = zip(&[outer, ZipEntry { offset: Some(position), data: inner.data.clone(), ..inner }]);
        assert!(matches!(problem(&archive, &limits), ArchiveError::Overlap));
        // The data extends into the central directory.
        let entry = ZipEntry::stored("a", b"a");
        let mut archive = zip(&[entry]);
        for header in [18, 22, 32 + 20, 32 + 24] {
            archive[header] = 20;
        }
        let error = problem(&archive, &limits);
        assert!(matches!(error, ArchiveError::Overlap), "{error}");
    }
}

#[test]
fn number_of_entries_is_limited() {
    let limits = small_limits();
    let entries: Vec<_> = (0..21).map(|index| ZipEntry::stored(&format!("{index}"), b"")).collect();
    let error = problem(&zip(&entries), &limits);
    assert!(matches!(error, ArchiveError::TooManyEntries { limit: 20 }), "{error}");
    Fixture::new().unpack(&zip(&entries[..20]), ArchiveFormat::Zip, &limits).unwrap();
    // The directories in a name count toward the limit.
    let error = problem(&zip(&[ZipEntry::stored(&"a/".repeat(21), b"")]), &limits);
    assert!(matches!(error, ArchiveError::TooManyEntries { limit: 20 }), "{error}");
}

#[test]
fn declared_entry_count_is_checked_before_entries_are_read() {
    let limits = small_limits();
    let entries = [ZipEntry::stored("a", b"a")];
    let archive = zip(&entries);
    let mut changed = archive.clone();
    let end = archive.len() - 22;
    changed[end + 8..end + 12].copy_from_slice(&[50, 0, 50, 0]);
    assert!(matches!(problem(&changed, &limits), ArchiveError::TooManyEntries { .. }));
    // In the zip64 format, another record contains the number of entries.
    let mut zip64 = archive[..end].to_vec();
    let position = zip64.len() as u64;
    zip64.extend(b"PK\x06\x06");
    zip64.extend(44_u64.to_le_bytes());
    zip64.extend([45, 3, 45, 0]);
    zip64.extend([0; 8]);
    zip64.extend(u64::MAX.to_le_bytes());
    zip64.extend(u64::MAX.to_le_bytes());
    zip64.extend([0; 16]);
    zip64.extend(b"PK\x06\x07\0\0\0\0");
    zip64.extend(position.to_le_bytes());
    zip64.extend(1_u32.to_le_bytes());
    zip64.extend(zip_end(u16::MAX, 0, u32::MAX, b""));
    let error = problem(&zip64, &ArchiveLimits::for_module_package());
    assert!(matches!(error, ArchiveError::TooManyEntries { .. }), "{error}");
    // The comment of the end record contains a second end record.
    let archive = zip_with_comment(&entries, &zip_end(5_000, 0, 0, b""));
    assert!(matches!(problem(&archive, &limits), ArchiveError::TooManyEntries { .. }));
}

#[test]
fn central_directory_size_is_limited() {
    let entries: Vec<_> = (0..20)
        .map(|index| ZipEntry {
            comment: vec![b'x'; usize::from(u16::MAX)],
            ..ZipEntry::stored(&format!("{index}"), b"")
        })
        .collect();
    let error = problem(&zip(&entries), &small_limits());
    assert!(matches!(error, ArchiveError::DirectoryTooLarge { .. }), "{error}");
}

#[test]
fn archive_with_prepended_data_is_rejected() {
    let archive = [b"#!/bin/sh\n".as_slice(), &zip(&[ZipEntry::stored("a", b"a")])].concat();
    for limits in both_limits() {
        assert!(matches!(problem(&archive, &limits), ArchiveError::Zip(_)));
    }
    for garbage in [&b""[..], b"PK", b"<html>", &zip_end(0, 0, 0, b"")[..21]] {
        assert!(matches!(problem(garbage, &ArchiveLimits::for_module_package()), ArchiveError::Zip(_)));
    }
}

#[cfg(unix)]
#[test]
fn setuid_bits_are_removed_and_owner_access_is_added() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let archive = zip(&[
        ZipEntry::stored("setuid", b"").with_mode(0o106_777),
        ZipEntry::stored("unreadable", b"").with_mode(0o100_000),
        ZipEntry::stored("plain", b"").with_mode(0),
        ZipEntry::stored("directory/", b"").with_mode(0o040_000),
    ]);
    for limits in both_limits() {
        fixture.unpack(&archive, ArchiveFormat::Zip, &limits).unwrap();
        for (name, expected, mask) in [
            ("setuid", 0o700, 0o7722),
            ("unreadable", 0o600, 0o7777),
            ("plain", 0o600, 0o7733),
            ("directory", 0o700, 0o7700),
        ] {
            let mode = std::fs::metadata(fixture.target().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & mask, expected, "{name}: {mode:o}");
        }
        fixture.tree();
    }
}

#[test]
fn unusual_but_valid_archives_are_unpacked() {
    let fixture = Fixture::new();
    fixture.unpacks_to(&zip(&[]), ArchiveFormat::Zip, &[]);
    let archive = zip(&[
        ZipEntry::stored("./", b""),
        ZipEntry::stored("./a", b"1"),
        ZipEntry::deflated("b//c", b"2"),
        ZipEntry::stored("d/", b"").with_mode(0o040_755),
        ZipEntry { flags: 0, ..ZipEntry::stored("ü", b"3") },
    ]);
    fixture.unpacks_to(&archive, ArchiveFormat::Zip, &[("a", "1"), ("b/c", "2"), ("ü", "3")]);
    let archive =
        zip_with_comment(&[ZipEntry::stored("a", b"1")], b"0123456789abcdef0123456789abcdef01234567");
    fixture.unpacks_to(&archive, ArchiveFormat::Zip, &[("a", "1")]);
}

#[test]
fn archive_is_read_without_unpacking() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.zip");
    let archive = zip(&[
        ZipEntry::stored("d/", b""),
        ZipEntry::deflated("d/b", b"two").with_mode(0o100_755),
        ZipEntry::stored("a", b"one"),
        ZipEntry { crc: 0, ..ZipEntry::stored("wrong", b"checksum") },
    ]);
    std::fs::write(&path, archive).unwrap();
    let limits = ArchiveLimits::for_provider_package();
    let mut opened = CheckedZip::open(File::open(&path).unwrap(), &limits).unwrap();
    assert_eq!(opened.file_names().collect::<Vec<_>>(), ["d/b", "a", "wrong"]);
    assert_eq!(opened.names().collect::<Vec<_>>(), ["d", "d/b", "a", "wrong"]);
    assert_eq!(opened.unpacked_bytes(), 14);
    let mut content = String::new();
    opened.file("d/b").unwrap().unwrap().read_to_string(&mut content).unwrap();
    assert_eq!(content, "two");
    assert!(opened.file("d/").unwrap().is_none() && opened.file("c").unwrap().is_none());
    let mut seen = Vec::new();
    let result = opened.for_each_file(|name, mode, content| {
        seen.push((name.to_owned(), mode));
        content.read_to_end(&mut Vec::new()).map(drop)
    });
    assert!(result.is_err(), "the checksum of the last file is wrong");
    assert_eq!(seen[0], ("d/b".to_owned(), Some(0o100_755)));
    assert_eq!(seen.len(), 3);
}
