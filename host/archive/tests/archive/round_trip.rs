//! Unpacking an archive restores the files that were packed.

use std::collections::BTreeMap;
use std::io::Write as _;

use proptest::prelude::*;
use wardian_archive::{ArchiveFormat, ArchiveLimits};
use wardian_digest::Sha256Digest;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::builders::{TAR_FORMATS, compress};
use crate::fixture::{Content, Fixture, Tree};

/// Generates the files of a tree. Directories and files have different names.
fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = prop::collection::vec("[a-zé ]{1,3}", 0..4);
    let content = prop::collection::vec(prop::num::u8::ANY, 0..700);
    let file = (name, "[a-z]{1,4}", content).prop_map(|(directories, file, content)| {
        let directories: Vec<_> = directories.iter().map(|name| format!("d{name}")).collect();
        let parts = [directories, vec![format!("f{file}.tf")]].concat();
        (parts.join("/"), content)
    });
    prop::collection::vec(file, 0..12).prop_map(|files| files.into_iter().collect())
}

fn pack(files: &BTreeMap<String, Vec<u8>>, format: ArchiveFormat) -> Vec<u8> {
    if format == ArchiveFormat::Zip {
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        return writer.finish().unwrap().into_inner();
    }
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    compress(&builder.into_inner().unwrap(), format)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn unpacked_tree_equals_packed_tree(files in files()) {
        for format in [&TAR_FORMATS[..], &[ArchiveFormat::Zip]].concat() {
            for limits in [ArchiveLimits::for_module_package(), ArchiveLimits::for_provider_package()] {
                let fixture = Fixture::new();
                let unpacked = fixture.unpack(&pack(&files, format), format, &limits).unwrap();
                let digests: BTreeMap<_, _> =
                    files.iter().map(|(name, content)| (name.clone(), Sha256Digest::hash(content))).collect();
                prop_assert_eq!(&unpacked.files, &digests);
                prop_assert_eq!(unpacked.bytes, files.values().map(|content| content.len() as u64).sum::<u64>());
                let mut tree = fixture.tree();
                tree.retain(|_, content| *content != Content::Directory);
                let expected: Tree =
                    files.iter().map(|(name, content)| (name.clone(), Content::File(content.clone()))).collect();
                prop_assert_eq!(tree, expected);
            }
        }
    }
}
