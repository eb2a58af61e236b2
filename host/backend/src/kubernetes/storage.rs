//! The state of one workspace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use wardian_state::{
    LockError, LockInfo, LockRequest, StateContent, StateError, StateStorage, StorageEffect, StorageError,
    StorageVersion, StoredState,
};

use super::client::{Kind, KubernetesClient, SUFFIX_LABEL, WORKSPACE_LABEL, Written};
use crate::gzip::{compress, decompress};

/// The size of a part. A Secret contains at most one MiB.
const PART_BYTES: usize = 1 << 20;
const LOCK_ANNOTATION: &str = "app.terraform.io/lock-info";
const CONFLICT_ADVICE: &str = "another process has changed the state since it was read, so it was not replaced; another run may have removed the \
     lock of this run";

#[derive(Debug)]
pub(super) struct KubernetesStorage {
    client: Arc<KubernetesClient>,
    workspace: String,
    name: String,
    lock: Mutex<Option<LockInfo>>,
    /// The metadata of the Secrets that were read or written last, by part.
    known: Mutex<BTreeMap<usize, Map<String, Value>>>,
}

impl KubernetesStorage {
    pub(super) fn new(client: Arc<KubernetesClient>, workspace: &str, name: String) -> Self {
        Self {
            client,
            workspace: workspace.to_owned(),
            name,
            lock: Mutex::default(),
            known: Mutex::default(),
        }
    }

    fn lock_name(&self) -> String {
        format!("lock-{}", self.name)
    }

    fn part_name(&self, part: usize) -> String {
        if part == 0 { self.name.clone() } else { format!("{}-part-{part}", self.name) }
    }

    /// Returns the number of the part that a Secret contains.
    fn part_of(&self, secret: &Value) -> Option<usize> {
        let rest = secret.pointer("/metadata/name")?.as_str()?.strip_prefix(&*self.name)?;
        if rest.is_empty() {
            return Some(0);
        }
        let number = rest.strip_prefix("-part-")?.parse().ok().filter(|number| *number > 0)?;
        (rest == format!("-part-{number}")).then_some(number)
    }

    fn held(&self) -> Option<LockInfo> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_held(&self, lock: Option<LockInfo>) {
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = lock;
    }

    fn known(&self) -> BTreeMap<usize, Map<String, Value>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_known(&self, known: BTreeMap<usize, Map<String, Value>>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn labels(&self) -> Map<String, Value> {
        let settings = self.client.settings();
        let mut labels: Map<String, Value> =
            settings.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        labels.insert("tfstate".to_owned(), json!("true"));
        labels.insert(SUFFIX_LABEL.to_owned(), json!(settings.suffix));
        labels.insert(WORKSPACE_LABEL.to_owned(), json!(self.workspace));
        labels.insert("app.kubernetes.io/managed-by".to_owned(), json!("terraform"));
        labels
    }

    /// Returns the Secrets of the state by part.
    async fn secrets(&self, operation: &str) -> Result<BTreeMap<usize, Value>, StorageError> {
        let selector = format!(
            "tfstate=true,{SUFFIX_LABEL}={},{WORKSPACE_LABEL}={}",
            self.client.settings().suffix,
            self.workspace
        );
        let secrets = self.client.secrets(&selector, operation).await?;
        Ok(secrets.into_iter().filter_map(|secret| Some((self.part_of(&secret)?, secret))).collect())
    }

    async fn stored(&self) -> Result<StoredState, StorageError> {
        const OPERATION: &str = "read the state";
        let secrets = self.secrets(OPERATION).await?;
        let known: BTreeMap<_, _> = secrets.iter().map(|(part, secret)| (*part, metadata(secret))).collect();
        let version = version(&known);
        self.set_known(known);
        let mut compressed = Vec::new();
        for (expected, (part, secret)) in secrets.iter().enumerate() {
            if expected != *part {
                return Err(StorageError::new(format!(
                    "failed to {OPERATION}: the Secret {} with a part of it is missing",
                    self.part_name(expected)
                ))
                .with_advice(
                    "an earlier write was interrupted; push the state from its journal or errored.tfstate",
                ));
            }
            let Some(data) = secret.pointer("/data/tfstate") else {
                // Terraform creates a Secret before it writes the data.
                continue;
            };
            let bytes = data.as_str().and_then(|text| STANDARD.decode(text).ok()).ok_or_else(|| {
                StorageError::new(format!(
                    "failed to {OPERATION}: the data \"tfstate\" of the Secret {} is not valid",
                    self.part_name(*part)
                ))
            })?;
            compressed.extend_from_slice(&bytes);
        }
        if compressed.is_empty() {
            return Ok(StoredState { bytes: Vec::new(), version });
        }
        let bytes = decompress(&compressed).map_err(|error| {
            error.with_advice(
                "an earlier write may have been interrupted; delete the Secrets of the state, and push errored.tfstate",
            )
        })?;
        Ok(StoredState { bytes, version })
    }

    async fn store(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StorageError> {
        const OPERATION: &str = "write the state";
        let conflict =
            |error: StorageError| error.with_effect(StorageEffect::Conflict).with_advice(CONFLICT_ADVICE);
        if let Some(held) = self.held() {
            let lease = self.client.get(Kind::Lease, &self.lock_name(), OPERATION).await?;
            if holder_id(lease.as_ref()) != Some(&*held.id) {
                return Err(conflict(StorageError::new(format!(
                    "failed to {OPERATION}: the lock was lost: the Lease {} has another holder",
                    self.lock_name()
                ))));
            }
        }
        let mut known = self.known();
        if version(&known) != *expected {
            let secrets = self.secrets(OPERATION).await?;
            known = secrets.iter().map(|(part, secret)| (*part, metadata(secret))).collect();
            if *expected != StorageVersion::Unknown && version(&known) != *expected {
                return Err(conflict(StorageError::new(format!(
                    "failed to {OPERATION}: the Secret {} has changed since it was read",
                    self.name
                ))));
            }
        }
        let compressed = compress(&content.to_bytes())?;
        let written = match self.write_parts(&compressed, &known).await {
            Ok(written) => written,
            Err(error) => {
                // The versions are not known any more.
                self.set_known(BTreeMap::new());
                return Err(error);
            }
        };
        for part in known.keys().filter(|part| !written.contains_key(*part)) {
            let deleted = self.client.delete(Kind::Secret, &self.part_name(*part), OPERATION).await;
            deleted.map_err(|error| error.with_effect(StorageEffect::Unknown))?;
        }
        let version = version(&written);
        self.set_known(written);
        Ok(version)
    }

    /// Writes all parts of a state, and returns the new metadata of their Secrets. Additional Secrets are
    /// created first: if the cluster rejects one, they are removed, and the old state is unchanged.
    async fn write_parts(
        &self,
        compressed: &[u8],
        known: &BTreeMap<usize, Map<String, Value>>,
    ) -> Result<BTreeMap<usize, Map<String, Value>>, StorageError> {
        let is_new = |part: usize| part > 0 && !known.contains_key(&part);
        let parts: Vec<(usize, &[u8])> = compressed.chunks(PART_BYTES).enumerate().collect();
        let (new, existing): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(part, _)| is_new(*part));
        let mut written: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
        for (part, bytes) in new.iter().chain(&existing) {
            match self.write_part(*part, bytes, known.get(part)).await {
                Ok(metadata) => {
                    written.insert(*part, metadata);
                }
                Err(error) if is_new(*part) || *part == 0 => {
                    if *part > 0 || error.effect != StorageEffect::Unknown {
                        self.remove_parts(new.iter().map(|(part, _)| *part)).await;
                    }
                    return Err(error);
                }
                Err(mut error) => {
                    error.effect = StorageEffect::Unknown;
                    error.advice = Some(format!(
                        "only some of the Secrets of the state were replaced; keep errored.tfstate, delete the Secrets \
                         {} and {0}-part-N, and push it",
                        self.name
                    ));
                    return Err(error);
                }
            }
        }
        Ok(written)
    }

    /// Removes Secrets that do not belong to the state.
    async fn remove_parts(&self, parts: impl Iterator<Item = usize> + Send) {
        for part in parts {
            let name = self.part_name(part);
            if let Err(error) = self.client.delete(Kind::Secret, &name, "remove a part of the state").await {
                tracing::warn!(%error, name, "a part of a state that was not written remains");
            }
        }
    }

    /// Creates or replaces a Secret, and returns its new metadata.
    async fn write_part(
        &self,
        part: usize,
        bytes: &[u8],
        known: Option<&Map<String, Value>>,
    ) -> Result<Map<String, Value>, StorageError> {
        const OPERATION: &str = "write the state";
        let mut metadata = known.cloned().unwrap_or_default();
        metadata.insert("name".to_owned(), json!(self.part_name(part)));
        metadata.insert("namespace".to_owned(), json!(self.client.settings().namespace));
        merge(&mut metadata, "labels", self.labels());
        let encoding = Map::from_iter([("encoding".to_owned(), json!("gzip"))]);
        merge(&mut metadata, "annotations", encoding);
        let secret = json!({
            "apiVersion": Kind::Secret.api_version(),
            "kind": Kind::Secret.name(),
            "metadata": metadata,
            "data": { "tfstate": STANDARD.encode(bytes) },
            "type": "Opaque",
        });
        match self.client.write(Kind::Secret, &secret, OPERATION).await? {
            (Written::Done(object), _) => Ok(self::metadata(&object)),
            (Written::Conflict(error), is_repeated) => {
                // An earlier attempt of this request may have replaced the Secret.
                if is_repeated
                    && let Some(found) =
                        self.client.get(Kind::Secret, &self.part_name(part), OPERATION).await?
                    && found.get("data") == secret.get("data")
                {
                    return Ok(self::metadata(&found));
                }
                Err(error.with_effect(StorageEffect::Conflict).with_advice(CONFLICT_ADVICE))
            }
        }
    }

    /// Deletes the Secrets of the state and the Lease.
    pub(super) async fn delete(&self) -> Result<(), StorageError> {
        const OPERATION: &str = "delete the state";
        let secrets = self.secrets(OPERATION).await?;
        for part in secrets.keys() {
            self.client.delete(Kind::Secret, &self.part_name(*part), OPERATION).await?;
        }
        self.client.delete(Kind::Lease, &self.lock_name(), OPERATION).await
    }

    fn failed(&self, error: StorageError) -> LockError {
        LockError::Storage { location: self.location(), error }
    }

    fn held_by(&self, lease: &Value) -> LockError {
        let holder = holder(lease).map(Box::new);
        LockError::Held { location: self.location(), holder, ends_with_process: false }
    }

    /// Attempts to lock once.
    async fn acquire(&self, info: &LockInfo) -> Result<Result<(), Value>, StorageError> {
        const OPERATION: &str = "lock the state";
        let name = self.lock_name();
        let lease = self.client.get(Kind::Lease, &name, OPERATION).await?;
        if let Some(lease) = &lease
            && holder_id(Some(lease)).is_some()
        {
            return Ok(Err(lease.clone()));
        }
        let mut metadata = lease.as_ref().map(metadata).unwrap_or_default();
        metadata.insert("name".to_owned(), json!(name));
        merge(&mut metadata, "labels", self.labels());
        let annotation = Map::from_iter([(LOCK_ANNOTATION.to_owned(), json!(info.to_json()))]);
        merge(&mut metadata, "annotations", annotation);
        let object = lease_object(&metadata, json!({ "holderIdentity": info.id }));
        let written = self.client.write(Kind::Lease, &object, OPERATION).await?.0;
        let Written::Conflict(error) = written else { return Ok(Ok(())) };
        // Another process has locked the state, or an earlier attempt of this request has done so.
        match self.client.get(Kind::Lease, &name, OPERATION).await? {
            Some(lease) if holder_id(Some(&lease)) == Some(&*info.id) => Ok(Ok(())),
            Some(lease) => Ok(Err(lease)),
            None => Err(error),
        }
    }

    /// Releases a lock with an ID.
    async fn release(&self, id: &str) -> Result<(), LockError> {
        const OPERATION: &str = "unlock the state";
        let name = self.lock_name();
        let lease =
            self.client.get(Kind::Lease, &name, OPERATION).await.map_err(|error| self.failed(error))?;
        let found = holder_id(lease.as_ref());
        let Some(lease) = lease.as_ref().filter(|_| found == Some(id)) else {
            let found = lease.as_ref().filter(|_| found.is_some()).and_then(holder).map(Box::new);
            return Err(LockError::OtherLock { location: self.location(), id: id.to_owned(), found });
        };
        let mut metadata = metadata(lease);
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LOCK_ANNOTATION);
        }
        let object = lease_object(&metadata, json!({}));
        let written = self.client.write(Kind::Lease, &object, OPERATION).await;
        match written.map_err(|error| self.failed(error))? {
            (Written::Done(_), _) => Ok(()),
            (Written::Conflict(error), _) => {
                let lease = self.client.get(Kind::Lease, &name, OPERATION).await;
                let lease = lease.map_err(|error| self.failed(error))?;
                if holder_id(lease.as_ref()) == Some(id) { Err(self.failed(error)) } else { Ok(()) }
            }
        }
    }
}

fn lease_object(metadata: &Map<String, Value>, spec: Value) -> Value {
    json!({
        "apiVersion": Kind::Lease.api_version(),
        "kind": Kind::Lease.name(),
        "metadata": metadata,
        "spec": spec,
    })
}

/// Returns the metadata that a replacement keeps.
fn metadata(object: &Value) -> Map<String, Value> {
    let mut metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    metadata.remove("managedFields");
    metadata
}

fn merge(metadata: &mut Map<String, Value>, name: &str, more: Map<String, Value>) {
    match metadata.get_mut(name) {
        Some(Value::Object(found)) => found.extend(more),
        _ => {
            metadata.insert(name.to_owned(), Value::Object(more));
        }
    }
}

/// Returns the version of a state: the versions of its Secrets.
fn version(known: &BTreeMap<usize, Map<String, Value>>) -> StorageVersion {
    if known.is_empty() {
        return StorageVersion::Absent;
    }
    let versions = known.values().map(|metadata| {
        metadata.get("resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
    });
    StorageVersion::Tag(versions.collect::<Vec<_>>().join(","))
}

fn holder_id(lease: Option<&Value>) -> Option<&str> {
    lease?.pointer("/spec/holderIdentity")?.as_str().filter(|id| !id.is_empty())
}

fn holder(lease: &Value) -> Option<LockInfo> {
    let annotations = lease.pointer("/metadata/annotations")?;
    LockInfo::from_json(annotations.get(LOCK_ANNOTATION)?.as_str()?.as_bytes())
}

#[async_trait]
impl StateStorage for KubernetesStorage {
    fn location(&self) -> String {
        format!(
            "in the Secret {} in the namespace {} at {}",
            self.name,
            self.client.settings().namespace,
            wardian_download::printable_url(&self.client.settings().server)
        )
    }

    async fn read(&self) -> Result<StoredState, StateError> {
        self.stored().await.map_err(|error| error.at(self.location()))
    }

    async fn write(
        &self,
        content: &StateContent,
        expected: &StorageVersion,
    ) -> Result<StorageVersion, StateError> {
        self.store(content, expected).await.map_err(|error| error.at(self.location()))
    }

    async fn lock(&self, request: &LockRequest) -> Result<LockInfo, LockError> {
        let info = LockInfo::new(request, "");
        match self.acquire(&info).await {
            Ok(Ok(())) => {
                self.set_held(Some(info.clone()));
                Ok(info)
            }
            Ok(Err(lease)) => Err(self.held_by(&lease)),
            Err(error) => {
                if error.effect == StorageEffect::Unknown {
                    // The lock may be held although the response was lost.
                    let _ = self.release(&info.id).await;
                }
                Err(self.failed(error))
            }
        }
    }

    async fn unlock(&self) -> Result<(), LockError> {
        let Some(info) = self.held() else { return Ok(()) };
        self.set_held(None);
        let released = self.release(&info.id).await;
        if matches!(released, Err(LockError::OtherLock { found: None, .. })) {
            let lease = self.client.get(Kind::Lease, &self.lock_name(), "unlock the state").await;
            // The Lease may have been deleted with the workspace.
            if lease.map_err(|error| self.failed(error))?.is_none() {
                return Ok(());
            }
        }
        released
    }

    async fn force_unlock(&self, id: &str) -> Result<(), LockError> {
        self.release(id).await
    }
}
