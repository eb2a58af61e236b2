//! Hostile tar archives.

use tar::EntryType;
use wardian_archive::{ArchiveError, ArchiveFormat, ArchiveLimits};

use crate::builders::{TAR_FORMATS, TarEntry, compress, crc32, pax_record, tar, tar_entries};
use crate::fixture::{Content, Fixture, small_limits};

fn limits() -> ArchiveLimits {
    ArchiveLimits::for_module_package()
}

#[track_caller]
fn problem_of(archive: &[u8], format: ArchiveFormat, limits: &ArchiveLimits) -> ArchiveError {
    Fixture::new().unpack(archive, format, limits).map(drop).unwrap_err()
}

#[track_caller]
fn problem(entries: &[TarEntry]) -> ArchiveError {
    problem_of(&tar(entries), ArchiveFormat::Tar, &limits())
}

#[test]
fn unsafe_names_are_rejected() {
    for name in ["../x", "a/../../x", "/etc/x", "..", "a\\x", "C:/x", "a\nx", "./../x", "a/./../../x"] {
        let in_header = [TarEntry::file(name, "x")];
        let in_pax = [TarEntry::pax("path", name), TarEntry::file("good", "x")];
        let in_long_name = [
            TarEntry::new("././@LongLink", EntryType::GNULongName, format!("{name}\0")),
            TarEntry::file("good", "x"),
        ];
        let as_directory = [TarEntry::new(name, EntryType::Directory, "")];
        let as_link = [TarEntry::link(name, EntryType::Symlink, "target")];
        for entries in [&in_header[..], &in_pax, &in_long_name, &as_directory, &as_link] {
            let error = problem(entries);
            assert!(matches!(error, ArchiveError::UnsafeName { .. }), "{name}: {error}");
        }
    }
    assert!(matches!(problem(&[TarEntry::file(b"a\xff", "x")]), ArchiveError::UnsafeName { .. }));
    // The root of the archive cannot be a file.
    for name in ["", ".", "./"] {
        assert!(matches!(problem(&[TarEntry::file(name, "x")]), ArchiveError::UnsafeName { .. }));
    }
}

#[test]
fn special_entries_are_rejected() {
    let error = problem(&[TarEntry::file("a", "x"), TarEntry::link("b", EntryType::Link, "a")]);
    assert!(matches!(&error, ArchiveError::HardLink { name } if name == "b"), "{error}");
    let error = problem(&[TarEntry::link("b", EntryType::Link, "/etc/passwd")]);
    assert!(matches!(error, ArchiveError::HardLink { .. }), "{error}");
    for entry_type in
        [EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::new(b'V'), EntryType::new(b'D')]
    {
        let error = problem(&[TarEntry::new("special", entry_type, "")]);
        assert!(matches!(&error, ArchiveError::SpecialEntry { name } if name == "special"), "{error}");
    }
    let strict = ArchiveLimits::for_provider_package();
    let archive = tar(&[TarEntry::link("l", EntryType::Symlink, "a")]);
    let error = problem_of(&archive, ArchiveFormat::Tar, &strict);
    assert!(matches!(error, ArchiveError::SpecialEntry { .. }), "{error}");
}

#[test]
fn sparse_files_are_rejected() {
    // Sparse files in the GNU tar and pax formats. The first one with a pax header declares 8 EiB.
    let error = problem(&[TarEntry::new("sparse", EntryType::GNUSparse, "")]);
    assert!(matches!(error, ArchiveError::SparseFile { .. }), "{error}");
    for key in ["GNU.sparse.major", "GNU.sparse.map", "GNU.sparse.realsize"] {
        let error = problem(&[TarEntry::pax(key, "9223372036854775807"), TarEntry::file("sparse", "")]);
        assert!(matches!(error, ArchiveError::SparseFile { .. }), "{key}: {error}");
    }
}

#[test]
fn links_must_point_inside_the_archive() {
    let link = |name: &str, target: &str| TarEntry::link(name, EntryType::Symlink, target);
    for target in ["/etc/passwd", "../x", "a/../../x", "", "..", "a\\b", "a\nb"] {
        let error = problem(&[link("link", target)]);
        assert!(matches!(error, ArchiveError::UnsafeLink { .. }), "{target}: {error}");
        let long =
            [TarEntry::new("long", EntryType::GNULongLink, format!("{target}\0")), link("link", "good")];
        assert!(matches!(problem(&long), ArchiveError::UnsafeLink { .. }), "{target}");
        let pax = [TarEntry::pax("linkpath", target), link("link", "good")];
        assert!(matches!(problem(&pax), ArchiveError::UnsafeLink { .. }), "{target}");
    }
    // Each link alone points into the archive, but the second link passes through the first and
    // then points outside.
    let error = problem(&[link("a/b/up", "../.."), link("out", "a/b/up/../x")]);
    assert!(matches!(&error, ArchiveError::UnsafeLink { name, .. } if name == "out"), "{error}");
    for entries in [
        [link("l", "/tmp"), TarEntry::file("l/x", "x")],
        [TarEntry::file("l/x", "x"), link("l", "/tmp")],
        [link("l", "x"), TarEntry::file("l", "x")],
        [link("l", "x"), TarEntry::new("l", EntryType::Directory, "")],
    ] {
        assert!(matches!(problem(&entries), ArchiveError::RepeatedName { .. }));
    }
    let fixture = Fixture::new();
    let archive =
        tar(&[link("sub/link", "../file"), TarEntry::file("file", "content"), link("x", "missing")]);
    fixture.unpack(&archive, ArchiveFormat::Tar, &limits()).unwrap();
    let tree = fixture.tree();
    assert_eq!(tree["sub/link"], Content::Link("../file".to_owned()));
    assert_eq!(tree["x"], Content::Link("missing".to_owned()));
}

#[test]
fn duplicate_names_are_rejected() {
    for (one, two) in [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a")] {
        let error = problem(&[TarEntry::file(one, "1"), TarEntry::file(two, "2")]);
        assert!(matches!(error, ArchiveError::RepeatedName { .. }), "{one} {two}: {error}");
    }
}

#[test]
fn extended_headers_are_limited() {
    let pax = |content: Vec<u8>| TarEntry::new("pax", EntryType::XHeader, content);
    let large = pax_record("comment", &"x".repeat(70_000));
    for entry_type in
        [EntryType::XHeader, EntryType::XGlobalHeader, EntryType::GNULongName, EntryType::GNULongLink]
    {
        let error = problem(&[TarEntry::new("h", entry_type, &large), TarEntry::file("a", "")]);
        assert!(matches!(error, ArchiveError::ExtendedHeader(_)), "{error}");
        // The size is checked before the content is read.
        let huge = TarEntry { size: 1 << 40, ..TarEntry::new("h", entry_type, "") };
        let error = problem(&[huge]);
        assert!(matches!(error, ArchiveError::ExtendedHeader(_)), "{error}");
    }
    for invalid in ["x", "6 a=\n", "99 path=a\n", "7 a=b\n", "10 path\n..."] {
        let error = problem(&[pax(invalid.as_bytes().to_vec()), TarEntry::file("a", "")]);
        assert!(matches!(error, ArchiveError::ExtendedHeader(_)), "{invalid}: {error}");
    }
    let error = problem(&[TarEntry::pax("size", "9999999999"), TarEntry::file("a", "content")]);
    assert!(matches!(error, ArchiveError::ExtendedHeader(_)), "{error}");
    for key in ["path", "linkpath", "size", "GNU.sparse.major"] {
        let global = TarEntry::new("g", EntryType::XGlobalHeader, pax_record(key, "1"));
        assert!(
            matches!(problem(&[global, TarEntry::file("a", "")]), ArchiveError::ExtendedHeader(_)),
            "{key}"
        );
    }
    let error = problem(&[TarEntry::file("a", ""), TarEntry::pax("path", "b")]);
    assert!(matches!(error, ArchiveError::Incomplete(_)), "{error}");
    // A value with a line break does not end the record.
    let error = problem(&[TarEntry::pax("path", "a\n11 path=b"), TarEntry::file("x", "")]);
    assert!(matches!(error, ArchiveError::UnsafeName { .. }), "{error}");
}

#[test]
fn number_of_headers_is_limited() {
    let files: Vec<_> = (0..21).map(|index| TarEntry::file(format!("{index}"), "")).collect();
    let error = problem_of(&tar(&files), ArchiveFormat::Tar, &small_limits());
    assert!(matches!(error, ArchiveError::TooManyEntries { limit: 20 }), "{error}");
    let headers: Vec<_> = (0..61).map(|_| TarEntry::pax("comment", "x")).collect();
    let error = problem_of(&tar(&headers), ArchiveFormat::Tar, &small_limits());
    assert!(matches!(error, ArchiveError::TooManyEntries { limit: 20 }), "{error}");
    let directories: Vec<_> = (0..100).map(|_| TarEntry::new("./", EntryType::Directory, "")).collect();
    let error = problem_of(&tar(&directories), ArchiveFormat::Tar, &small_limits());
    assert!(matches!(error, ArchiveError::TooManyEntries { limit: 20 }), "{error}");
}

#[test]
fn decompression_bombs_are_rejected() {
    let zeros = vec![0; 60_000];
    let bomb = tar(&[TarEntry::file("bomb", &zeros)]);
    for format in [ArchiveFormat::TarGzip, ArchiveFormat::TarBzip2, ArchiveFormat::TarXz] {
        let error = problem_of(&compress(&bomb, format), format, &small_limits());
        assert!(matches!(error, ArchiveError::Ratio { limit: 50_000, .. }), "{format}: {error}");
        // The bomb is after the end of the archive, or in an entry that is skipped.
        let more_zeros = vec![0; 200_000];
        let behind = [tar(&[]), more_zeros.clone()].concat();
        let skipped = tar(&[TarEntry::new("./", EntryType::Directory, &more_zeros)]);
        for hidden in [behind, skipped] {
            let error = problem_of(&compress(&hidden, format), format, &small_limits());
            let is_expected =
                matches!(error, ArchiveError::Ratio { .. } | ArchiveError::UnpackedTooLarge { .. });
            assert!(is_expected, "{format}: {error}");
        }
    }
    let large = tar(&[TarEntry::file("one", &zeros), TarEntry::file("two", &zeros)]);
    let error = problem_of(&large, ArchiveFormat::Tar, &small_limits());
    assert!(matches!(error, ArchiveError::UnpackedTooLarge { limit: 100_000 }), "{error}");
    let limits = ArchiveLimits { max_packed_bytes: 1_000, ..small_limits() };
    let error = problem_of(&large, ArchiveFormat::Tar, &limits);
    assert!(matches!(error, ArchiveError::PackedTooLarge { limit: 1_000 }), "{error}");
    // The header declares more data than the archive contains.
    for size in [10_000, 1 << 33, 1 << 62] {
        let entry = TarEntry { size, ..TarEntry::file("a", "content") };
        let error = problem_of(&tar(&[entry]), ArchiveFormat::Tar, &small_limits());
        let is_expected = matches!(error, ArchiveError::WrongSize { .. } | ArchiveError::Damaged { .. });
        assert!(is_expected, "{size}: {error}");
    }
}

#[test]
fn xz_decoder_memory_is_limited() {
    let format = ArchiveFormat::TarXz;
    let mut archive = compress(&tar(&[TarEntry::file("a", "content")]), format);
    // The header of the first block: its size, flags, the LZMA2 filter and the size of its dictionary.
    assert_eq!(archive[13..16], [0, 0x21, 1]);
    let end = 12 + usize::from(archive[12]) * 4;
    // Dictionaries of 4 GiB, 1 GiB and 128 MiB.
    for dictionary in [40, 36, 30] {
        archive[16] = dictionary;
        let checksum = crc32(&archive[12..end]);
        archive[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
        let error = problem_of(&archive, format, &limits());
        assert!(error.to_string().contains("memory"), "{error}");
    }
    archive[16] = 28;
    let checksum = crc32(&archive[12..end]);
    archive[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
    Fixture::new().unpacks_to(&archive, format, &[("a", "content")]);
}

#[test]
fn archives_from_common_programs_are_unpacked() {
    let fixture = Fixture::new();
    let long = format!("{}/file", "directory".repeat(20));
    let commit = pax_record("comment", "0123456789abcdef0123456789abcdef01234567");
    let entries = [
        // `git archive`
        TarEntry::new("pax_global_header", EntryType::XGlobalHeader, commit),
        // `tar -c .`
        TarEntry::new("./", EntryType::Directory, ""),
        TarEntry::file("./main.tf", "main"),
        TarEntry::new("./sub/", EntryType::Directory, "").with_mode(0o755),
        TarEntry::new("./sub/", EntryType::Directory, ""),
        // A long name in the GNU tar format, and a pax header with other attributes.
        TarEntry::new("././@LongLink", EntryType::GNULongName, format!("{long}\0")),
        TarEntry::file(&long[..90], "long"),
        TarEntry::new(
            "pax",
            EntryType::XHeader,
            [pax_record("mtime", "1.5"), pax_record("path", "sub/ü"), pax_record("size", "3")].concat(),
        ),
        TarEntry::file("x", "pax"),
        // An archive in the format before POSIX
        TarEntry::new("old/", EntryType::new(0), ""),
        TarEntry::new("old/file", EntryType::new(0), "old"),
        TarEntry::new("contiguous", EntryType::Continuous, "c"),
    ];
    let expected = [
        ("main.tf", "main"),
        (long.as_str(), "long"),
        ("sub/ü", "pax"),
        ("old/file", "old"),
        ("contiguous", "c"),
    ];
    for format in TAR_FORMATS {
        fixture.unpacks_to(&compress(&tar(&entries), format), format, &expected);
        // Padding after the end, as tar writes it to fill a record.
        let padded = [tar(&entries), vec![0; 9 * 1024]].concat();
        fixture.unpacks_to(&compress(&padded, format), format, &expected);
    }
}

#[test]
fn multi_stream_archives_are_unpacked() {
    // Parallel compressors write a stream for each chunk.
    let archive = tar(&[TarEntry::file("a", "one"), TarEntry::file("b", "two")]);
    for format in [ArchiveFormat::TarGzip, ArchiveFormat::TarBzip2, ArchiveFormat::TarXz] {
        let (first, second) = archive.split_at(700);
        let parts = [compress(first, format), compress(second, format)].concat();
        Fixture::new().unpacks_to(&parts, format, &[("a", "one"), ("b", "two")]);
    }
}

#[test]
fn uncompressed_archive_without_end_marker_is_an_error() {
    let entries = [TarEntry::file("a", "content")];
    let error = problem_of(&tar_entries(&entries), ArchiveFormat::Tar, &limits());
    assert!(matches!(error, ArchiveError::Incomplete(_)), "{error}");
    let error = problem_of(b"", ArchiveFormat::Tar, &limits());
    assert!(matches!(error, ArchiveError::Incomplete(_)), "{error}");
    // A complete compressed stream shows that nothing is missing.
    let format = ArchiveFormat::TarGzip;
    Fixture::new().unpacks_to(&compress(&tar_entries(&entries), format), format, &[("a", "content")]);
}
