//! The limits of archives.

const MEBIBYTE: u64 = 1 << 20;

/// The limits of an archive, and the kinds of entries that it may contain.
#[derive(Clone, Debug)]
pub struct ArchiveLimits {
    /// Maximum size of the archive in bytes.
    pub max_packed_bytes: u64,
    /// Maximum total size of the files in bytes. For tar, it includes headers.
    pub max_unpacked_bytes: u64,
    /// Maximum ratio of the total size of the files to the size of the archive. It applies to a
    /// total size above `max_bytes_at_any_ratio`.
    pub max_ratio: u64,
    pub max_bytes_at_any_ratio: u64,
    /// Maximum number of files, directories and links, including directories without an entry,
    /// which occur only in the names of other entries.
    pub max_entries: usize,
    /// Maximum length of a name in bytes.
    pub max_name_bytes: usize,
    /// Maximum number of path components in a name.
    pub max_depth: usize,
    /// Whether symbolic links to targets in the archive are allowed.
    pub allows_links: bool,
    /// Whether names must be plain: without `:`, and without redundant components such as `./`.
    pub requires_plain_names: bool,
    /// Whether two names are equal if they differ only in case or in Unicode normalization.
    pub ignores_case: bool,
}

impl ArchiveLimits {
    pub fn for_provider_package() -> Self {
        Self {
            max_packed_bytes: 2048 * MEBIBYTE,
            max_unpacked_bytes: 8192 * MEBIBYTE,
            max_ratio: 100,
            max_bytes_at_any_ratio: 512 * MEBIBYTE,
            max_entries: 10_000,
            max_name_bytes: 1024,
            max_depth: 64,
            allows_links: false,
            requires_plain_names: true,
            ignores_case: true,
        }
    }

    pub fn for_module_package() -> Self {
        Self {
            max_packed_bytes: 512 * MEBIBYTE,
            max_unpacked_bytes: 4096 * MEBIBYTE,
            max_ratio: 100,
            max_bytes_at_any_ratio: 512 * MEBIBYTE,
            max_entries: 100_000,
            max_name_bytes: 1024,
            max_depth: 64,
            allows_links: true,
            requires_plain_names: false,
            ignores_case: cfg!(any(target_os = "macos", windows)),
        }
    }

    /// Returns the maximum total size of the files of an archive with this size.
    pub(crate) fn max_unpacked_from(&self, packed: u64) -> u64 {
        let by_ratio = packed.saturating_mul(self.max_ratio).max(self.max_bytes_at_any_ratio);
        self.max_unpacked_bytes.min(by_ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_size_is_limited_by_ratio_with_absolute_bounds() {
        let limits = ArchiveLimits::for_provider_package();
        assert_eq!(limits.max_unpacked_from(0), 512 * MEBIBYTE);
        assert_eq!(limits.max_unpacked_from(10 * MEBIBYTE), 1000 * MEBIBYTE);
        assert_eq!(limits.max_unpacked_from(u64::MAX), 8192 * MEBIBYTE);
    }
}
