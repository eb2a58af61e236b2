//! The native code of single functions, which is kept across versions of a plugin.
//!
//! Most functions of a component also occur in its next version: those of the language's runtime, of
//! libraries, and those that did not change. Cranelift identifies a function by a digest of its
//! intermediate code and of the compiler's settings. The first functions that a thread compiles can have
//! other digests, so a few known functions for each thread are compiled again.
//!
//! The functions of one plugin are never used for another plugin. The compiler's input comes from the
//! author of the plugin, so an author who could control the compiler could otherwise change the code of
//! other plugins. See `code_cache` for the protection of stored functions.
//!
//! A list of functions is a sequence of entries: the key (32 bytes), the length of the code (4 bytes, little
//! endian) and the code. It has no version, because entries contain Cranelift's version and the name of a
//! stored list contains the engine's.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::CacheStore;

type Key = [u8; 32];

/// The length of an entry without its code.
const ENTRY_HEADER: usize = 32 + 4;

/// Returns the maximum number of bytes of new functions that the compilation of a component of this
/// length stores. Further functions are compiled again by the next compilation.
pub(crate) fn max_new_bytes(component: usize) -> usize {
    component.saturating_mul(8).saturating_add(1 << 20)
}

/// The functions that are known before a compilation, and those that it adds.
pub(crate) struct Functions {
    known: Vec<u8>,
    ranges: HashMap<Key, Range<usize>>,
    compilation: Mutex<Compilation>,
}

/// The functions of the component that is being compiled.
#[derive(Default)]
struct Compilation {
    reused: BTreeSet<Key>,
    new: BTreeMap<Key, Vec<u8>>,
    /// Bytes of new functions that can still be added.
    remaining: usize,
}

impl Functions {
    /// Reads a list of functions. The part of a damaged list that cannot be read is ignored.
    pub(crate) fn new(known: Vec<u8>, max_new_bytes: usize) -> Self {
        let mut ranges = HashMap::new();
        let mut at = 0;
        while let Some((key, code)) = entry(&known, at) {
            at = code.end;
            ranges.insert(key, code);
        }
        let compilation = Compilation { remaining: max_new_bytes, ..Compilation::default() };
        Self { known, ranges, compilation: Mutex::new(compilation) }
    }

    fn compilation(&self) -> MutexGuard<'_, Compilation> {
        self.compilation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the functions of the compiled component, unless they are the known ones.
    pub(crate) fn write_changed(&self, output: &mut impl Write) -> io::Result<()> {
        let compilation = self.compilation();
        if compilation.new.is_empty() && compilation.reused.len() == self.ranges.len() {
            return Ok(());
        }
        let reused = compilation.reused.iter().filter_map(|key| {
            let range = self.ranges.get(key)?;
            Some((key, self.known.get(range.clone())?))
        });
        let new = compilation.new.iter().map(|(key, code)| (key, code.as_slice()));
        for (key, code) in reused.chain(new) {
            let Ok(length) = u32::try_from(code.len()) else { continue };
            output.write_all(key)?;
            output.write_all(&length.to_le_bytes())?;
            output.write_all(code)?;
        }
        Ok(())
    }
}

/// Returns the key and the range of the code of the entry at this position.
fn entry(list: &[u8], at: usize) -> Option<(Key, Range<usize>)> {
    let (key, rest) = list.get(at..)?.split_first_chunk::<32>()?;
    let length = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    let start = at + ENTRY_HEADER;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    (end <= list.len()).then_some((*key, start..end))
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let key = Key::try_from(key).ok()?;
        let code = self.known.get(self.ranges.get(&key)?.clone())?;
        self.compilation().reused.insert(key);
        Some(Cow::Borrowed(code))
    }

    fn insert(&self, key: &[u8], code: Vec<u8>) -> bool {
        let Ok(key) = Key::try_from(key) else { return false };
        let mut compilation = self.compilation();
        let Some(remaining) = compilation.remaining.checked_sub(code.len() + ENTRY_HEADER) else {
            return false;
        };
        // A known function is inserted if its stored code was not valid.
        compilation.reused.remove(&key);
        compilation.remaining = remaining;
        compilation.new.insert(key, code);
        true
    }
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Functions").field("known", &self.ranges.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX_NEW_BYTES: usize = 1_000;

    fn list(functions: &Functions) -> Vec<u8> {
        let mut list = Vec::new();
        functions.write_changed(&mut list).unwrap();
        list
    }

    #[test]
    fn list_contains_the_functions_of_the_last_compilation() {
        let first = Functions::new(Vec::new(), MAX_NEW_BYTES);
        assert!(first.get(&[1; 32]).is_none());
        assert!(first.insert(&[2; 32], b"two".to_vec()) && first.insert(&[1; 32], b"one".to_vec()));
        let known = list(&first);
        let second = Functions::new(known.clone(), MAX_NEW_BYTES);
        assert_eq!(second.get(&[1; 32]).as_deref(), Some(&b"one"[..]));
        assert_eq!(second.get(&[2; 32]).as_deref(), Some(&b"two"[..]));
        assert!(list(&second).is_empty(), "the list did not change");
        let third = Functions::new(known, MAX_NEW_BYTES);
        assert!(third.get(&[2; 32]).is_some());
        assert!(third.insert(&[3; 32], b"three".to_vec()));
        let fourth = Functions::new(list(&third), MAX_NEW_BYTES);
        assert!(fourth.get(&[1; 32]).is_none());
        assert!(fourth.get(&[2; 32]).is_some() && fourth.get(&[3; 32]).is_some());
    }

    #[test]
    fn stored_functions_are_limited() {
        let functions = Functions::new(Vec::new(), MAX_NEW_BYTES);
        let added = (0..100).filter(|number| functions.insert(&[*number; 32], vec![0; 64])).count();
        assert_eq!(added, MAX_NEW_BYTES / (64 + ENTRY_HEADER));
        assert_eq!(list(&functions).len(), MAX_NEW_BYTES);
    }

    proptest! {
        #[test]
        fn damaged_lists_are_read_without_panics(list in proptest::collection::vec(any::<u8>(), 0..200)) {
            let functions = Functions::new(list.clone(), MAX_NEW_BYTES);
            for key in functions.ranges.keys() {
                prop_assert!(functions.get(key).is_some_and(|code| code.len() <= list.len()));
            }
        }
    }
}
