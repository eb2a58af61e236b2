//! Replaces files atomically, and preserves their permissions and symbolic links.

use std::fs;
use std::io;
use std::path::Path;

use wardian_cache::AtomicWrite;

/// Replaces a file's content atomically: readers never see a partial write. A symbolic link remains
/// a link, and the permissions do not change.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    // A user who does not have permission to write the file must not be able to replace it either.
    let permissions = fs::OpenOptions::new().write(true).open(&path)?.metadata()?.permissions();
    AtomicWrite::new().with_permissions(permissions).write(&path, &[content])
}

/// Writes a file atomically, like [`replace`], but creates it if it does not exist. A new file gets
/// the user's default permissions.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => replace(path, content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The file is created like any other file, so it gets the default permissions. While
            // the file is empty, it has the same meaning as a missing file.
            fs::OpenOptions::new().write(true).create_new(true).open(path)?;
            replace(path, content).inspect_err(|_| drop(fs::remove_file(path)))
        }
        Err(error) => Err(error),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn replace_preserves_permissions_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.tf"), folder.path().join("link.tf"));
        fs::write(&real, "a=1").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.tf", &link).unwrap();
        for (replace, content) in [(replace as fn(&Path, &[u8]) -> io::Result<()>, "a = 1"), (write, "a = 2")]
        {
            replace(&link, content.as_bytes()).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&real).unwrap(), content);
            assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        }
    }

    #[test]
    fn write_creates_missing_file_and_rejects_dangling_link() {
        let folder = tempfile::tempdir().unwrap();
        let (new, link) = (folder.path().join("new"), folder.path().join("link"));
        write(&new, b"a").unwrap();
        assert_eq!(fs::read_to_string(&new).unwrap(), "a");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(write(&link, b"a").is_err());
        assert!(!folder.path().join("nowhere").exists());
    }
}
