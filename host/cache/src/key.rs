//! The key that authenticates cache entries.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::private::{READABLE_BY_OTHERS, check_private, create_private};
use crate::{CacheError, temporary_path};

pub(crate) const KEY_FILE: &str = "code-cache.key";

/// Returns the key, and creates it if it does not exist. Two processes that start at the same time
/// use the same key: each process writes a key under a temporary name, and the first process that
/// creates a hard link with the final name determines the key.
pub(crate) fn read_or_create(directory: &Path) -> Result<[u8; blake3::KEY_LEN], CacheError> {
    let path = &directory.join(KEY_FILE);
    let unusable = |source| CacheError::Unusable { path: path.clone(), source };
    if let Some(key) = read_key(path)? {
        return Ok(key);
    }
    let mut key = [0; blake3::KEY_LEN];
    getrandom::fill(&mut key).map_err(|error| unusable(io::Error::other(error.to_string())))?;
    let temporary = temporary_path(path).map_err(unusable)?;
    let result = (|| {
        let mut file = create_private(&temporary)?;
        file.write_all(&key)?;
        file.sync_all()?;
        fs::hard_link(&temporary, path)
    })();
    let _ = fs::remove_file(&temporary);
    match result {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match read_key(path)? {
            Some(key) => Ok(key),
            None => Err(unusable(error)),
        },
        Err(error) => Err(unusable(error)),
    }
}

/// Reads the key, if it exists. A file that is not a key is removed, and all entries become
/// invalid.
fn read_key(path: &Path) -> Result<Option<[u8; blake3::KEY_LEN]>, CacheError> {
    let unusable = |source| CacheError::Unusable { path: path.to_path_buf(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error)),
    };
    let metadata = file.metadata().map_err(unusable)?;
    check_private(path, &metadata, READABLE_BY_OTHERS)?;
    if metadata.is_file() && metadata.len() == blake3::KEY_LEN as u64 {
        let mut key = [0; blake3::KEY_LEN];
        file.read_exact(&mut key).map_err(unusable)?;
        return Ok(Some(key));
    }
    fs::remove_file(path).map_err(unusable)?;
    Ok(None)
}
