//! The digest of the sources from which a component is built: the SDK of its language, and the example.
//! `cargo xtask interop languages` stores it beside a recorded component.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::{fs, str};

use wardian_digest::{Sha256Digest, tree_hash};

/// The extensions of files from which a component is built.
const EXTENSIONS: [&str; 6] = ["go", "js", "mod", "py", "s", "wit"];
/// Directories of an SDK from which no component is built.
const EXCLUDED: [&str; 5] = ["build", "internal", "node_modules", "test", "tests"];

/// Returns the digest of the sources in the directory of an SDK. Line endings do not count, because
/// a checkout may convert them.
pub(crate) fn digest(sdk: &Path) -> io::Result<String> {
    let mut files = BTreeMap::new();
    collect(sdk, "", &mut files)?;
    Ok(tree_hash(&files))
}

fn collect(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Sha256Digest>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !EXCLUDED.contains(&name.as_str()) {
                collect(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if is_source(&name) {
            let content = fs::read(entry.path())?;
            let lines = str::from_utf8(&content).map(|text| text.replace("\r\n", "\n"));
            files.insert(path, Sha256Digest::hash(lines.as_deref().map_or(&content, str::as_bytes)));
        }
    }
    Ok(())
}

fn is_source(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
        && !name.ends_with("_test.go")
        && name != "generate.js"
}
