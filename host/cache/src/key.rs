//! The key that authenticates what is kept.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use crate::private::{READABLE_BY_OTHERS, check_private, create_private};
use crate::{CacheRefusal, temporary_path};

pub(crate) const KEY_FILE: &str = "code-cache.key";

/// Two processes that start at once agree on one key: it is written whole under
/// another name first, and the first link to the right one wins.
pub(crate) fn read_or_make(directory: &Path) -> Result<[u8; blake3::KEY_LEN], CacheRefusal> {
    let path = &directory.join(KEY_FILE);
    let unusable = |source| CacheRefusal::Unusable { path: path.clone(), source };
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

/// The key, if there is one. A file that is no key is in nobody's way: it is
/// removed, which makes all entries inauthentic.
fn read_key(path: &Path) -> Result<Option<[u8; blake3::KEY_LEN]>, CacheRefusal> {
    let unusable = |source| CacheRefusal::Unusable { path: path.to_path_buf(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error)),
    };
    let about = file.metadata().map_err(unusable)?;
    check_private(path, &about, READABLE_BY_OTHERS)?;
    if about.is_file() && about.len() == blake3::KEY_LEN as u64 {
        let mut key = [0; blake3::KEY_LEN];
        file.read_exact(&mut key).map_err(unusable)?;
        return Ok(Some(key));
    }
    fs::remove_file(path).map_err(unusable)?;
    Ok(None)
}
