//! The configurations of resources that native providers have accepted without diagnostics, cached
//! between tests. With them, a test over mocks needs no native process, which would take most of the
//! time.
//!
//! An entry contains the digests of configurations for one plugin package; its name contains the hash
//! of the package and Wardian's version. Rejected configurations and warnings are never cached.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wardian_address::ProviderAddress;
use wardian_cache::Cache;
use wardian_digest::Sha256Digest;
use wardian_engine::AcceptedConfigurations;
use wardian_plugin::{ConfigKind, ValidateConfigRequest};
use wardian_value::{Type, msgpack};

use crate::context::AppContext;
use crate::plugin_caches;

/// The length of a stored digest. A collision would only omit one validation in a test.
const DIGEST_LENGTH: usize = 16;

/// Maximum number of digests in an entry. Beyond it, the entry starts again.
const MAX_DIGESTS: usize = 200_000;

type ShortDigest = [u8; DIGEST_LENGTH];

/// The accepted configurations of all native providers of a suite.
pub(super) struct Accepted {
    cache: Cache,
    providers: Mutex<BTreeMap<ProviderAddress, Known>>,
}

struct Known {
    entry: String,
    digests: HashSet<ShortDigest>,
    is_changed: bool,
}

impl Accepted {
    /// Returns the accepted configurations, if the cache can be used.
    pub(super) fn open(app: &AppContext) -> Option<Self> {
        if app.confinement.is_some() {
            return None;
        }
        let cache = plugin_caches::accepted_configurations(&app.environment, &app.directory)?;
        Some(Self { cache, providers: Mutex::default() })
    }

    /// Reads the entries of these packages.
    pub(super) fn add_packages(&self, packages: BTreeMap<ProviderAddress, Arc<str>>) {
        let mut providers = self.providers();
        for (address, package) in packages {
            if providers.contains_key(&address) {
                continue;
            }
            let name = Sha256Digest::hash(package.as_bytes());
            let entry = format!("{name}-{}.accepted", env!("CARGO_PKG_VERSION"));
            let content = self.cache.get(&entry).unwrap_or_default();
            let digests = content.as_chunks::<DIGEST_LENGTH>().0.iter().copied().collect();
            providers.insert(address, Known { entry, digests, is_changed: false });
        }
    }

    /// Writes the entries that have changed. A failure is logged and otherwise ignored.
    pub(super) fn store(&self) {
        for known in self.providers().values_mut().filter(|known| known.is_changed) {
            let sorted: BTreeSet<&ShortDigest> = known.digests.iter().collect();
            let content: Vec<u8> = sorted.into_iter().flatten().copied().collect();
            if let Err(error) = self.cache.put(&known.entry, &content) {
                tracing::warn!(entry = known.entry, %error, "cannot store accepted configurations");
            }
            known.is_changed = false;
        }
    }

    fn providers(&self) -> MutexGuard<'_, BTreeMap<ProviderAddress, Known>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AcceptedConfigurations for Accepted {
    fn contains(
        &self,
        provider: &ProviderAddress,
        kind: ConfigKind,
        request: &ValidateConfigRequest,
    ) -> bool {
        let providers = self.providers();
        let Some(known) = providers.get(provider) else { return false };
        digest(kind, request).is_some_and(|digest| known.digests.contains(&digest))
    }

    fn add(&self, provider: &ProviderAddress, kind: ConfigKind, request: &ValidateConfigRequest) {
        let mut providers = self.providers();
        let (Some(known), Some(digest)) = (providers.get_mut(provider), digest(kind, request)) else {
            return;
        };
        if known.digests.len() >= MAX_DIGESTS {
            known.digests.clear();
        }
        known.is_changed |= known.digests.insert(digest);
    }
}

fn digest(kind: ConfigKind, request: &ValidateConfigRequest) -> Option<ShortDigest> {
    let config = msgpack::encode(&request.config, &Type::Dynamic).ok()?;
    let mut text = format!("{kind:?}\0{}\0", request.type_name).into_bytes();
    text.extend(config);
    Sha256Digest::hash(&text).as_bytes().first_chunk().copied()
}
