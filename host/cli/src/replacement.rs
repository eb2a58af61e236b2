//! Files that are replaced whole.

use std::fs;
use std::io;
use std::path::Path;

use wardian_cache::AtomicWrite;

/// Puts a content in a file's place at once, so that nobody ever sees half of it. A
/// symbolic link stays one; the permissions stay what they are.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    // Whoever may not write the file must not replace it either.
    let permissions = fs::OpenOptions::new().write(true).open(&path)?.metadata()?.permissions();
    AtomicWrite::new().with_permissions(permissions).write(&path, &[content])
}

/// As [`replace`], for a file that need not be there yet. It is for everybody to read, as
/// far as the person's settings let it.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(_) => replace(path, content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Made as any other file is, to have the permissions of one; nobody sees the
            // empty one for long, and it says as much as none.
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
    fn permissions_and_links_stay() {
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
    fn a_file_that_is_not_there_is_made_and_a_link_that_leads_nowhere_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (new, link) = (folder.path().join("new"), folder.path().join("link"));
        write(&new, b"a").unwrap();
        assert_eq!(fs::read_to_string(&new).unwrap(), "a");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(write(&link, b"a").is_err());
        assert!(!folder.path().join("nowhere").exists());
    }
}
