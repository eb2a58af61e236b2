//! The state model: resources, instances, objects, outputs and check results.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ProviderConfigAddress, ResourceAddress,
    ResourceInstanceAddress,
};
use wardian_value::{Path, Str, Value};

use crate::checks::CheckResult;

/// Bytes that a provider stores with an object; empty if there are none.
pub type PrivateBytes = Arc<[u8]>;

/// The resources on which an object depends, sorted. Objects share the addresses, because in a
/// chain of n objects, the last object depends on n - 1 others.
pub type Dependencies = Arc<[Arc<ResourceAddress>]>;

/// All recorded objects, outputs and check results. Cloning a state copies one pointer for the
/// resources. The first change to the clone copies the table of pointers; the cost of later changes
/// is proportional to their size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// An ID that remains the same for the lifetime of the state. Empty if the state has never been
    /// written.
    pub lineage: String,
    /// The number of changes.
    pub serial: u64,
    /// The version of Wardian or Terraform that last wrote the state.
    pub terraform_version: String,
    /// Outputs of the root module.
    pub outputs: BTreeMap<Str, OutputValue>,
    /// The most recent check results in the order of the file; `None` if checks have never been
    /// evaluated.
    pub check_results: Option<Vec<CheckResult>>,
    pub(crate) resources: Arc<BTreeMap<AbsoluteResourceAddress, Arc<ResourceState>>>,
}

/// An output of the root module.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputValue {
    /// The value, without marks.
    pub value: Value,
    pub sensitive: bool,
}

/// A resource in one module instance.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceState {
    /// The provider configuration that manages the resource's objects.
    pub provider: ProviderConfigAddress,
    pub instances: BTreeMap<InstanceKey, Instance>,
}

/// One instance: its current object, and deposed objects that must still be destroyed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The object to which the configuration refers.
    pub current: Option<Arc<Object>>,
    /// Deposed objects by key. A key consists of eight hexadecimal digits.
    pub deposed: BTreeMap<Str, Arc<Object>>,
}

/// An object that exists at a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The schema version of the attributes.
    pub schema_version: u64,
    pub attributes: Attributes,
    /// The paths of the sensitive attributes. They are sorted unless they were read from a file.
    pub sensitive_paths: Vec<Path>,
    /// The resource identity, if the resource type has one.
    pub identity: Option<Identity>,
    /// The provider's private data.
    pub private: PrivateBytes,
    /// Whether the object is complete.
    pub status: ObjectStatus,
    /// The resources on which the object depends.
    pub dependencies: Dependencies,
    /// Whether a replacement is created before this object is destroyed.
    pub create_before_destroy: bool,
}

/// The stored attributes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// A JSON object without white space between its tokens.
    Json(Arc<str>),
    /// Paths and strings, in the format of Terraform before 0.12.
    Flat(Arc<BTreeMap<String, String>>),
}

/// The resource identity of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The version of the identity schema.
    pub schema_version: u64,
    /// A JSON object without white space between its tokens.
    pub attributes: Arc<str>,
}

/// Whether an object is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectStatus {
    /// The object is complete.
    #[default]
    Ready,
    /// A step of the object's creation failed, so the next plan replaces the object.
    Tainted,
}

impl Object {
    /// Creates an object that has only attributes: a JSON object without white space between its
    /// tokens.
    pub fn new(schema_version: u64, attributes: impl Into<Arc<str>>) -> Self {
        Self {
            schema_version,
            attributes: Attributes::Json(attributes.into()),
            sensitive_paths: Vec::new(),
            identity: None,
            private: Arc::default(),
            status: ObjectStatus::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
        }
    }

    pub fn is_tainted(&self) -> bool {
        self.status == ObjectStatus::Tainted
    }
}

impl Instance {
    /// Creates an instance that has only a current object.
    pub fn with_current(object: impl Into<Arc<Object>>) -> Self {
        Self { current: Some(object.into()), deposed: BTreeMap::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }

    /// Returns an unused key for another deposed object.
    pub fn free_deposed_key(&self) -> Str {
        loop {
            let random = uuid::Uuid::new_v4().simple().to_string();
            let key = Str::new(random.get(..DEPOSED_KEY_LENGTH).unwrap_or_default());
            if !self.deposed.contains_key(&key) {
                return key;
            }
        }
    }
}

/// The number of hexadecimal digits in the key of a deposed object.
pub(crate) const DEPOSED_KEY_LENGTH: usize = 8;

impl State {
    /// Creates an empty state with a new lineage.
    pub fn with_new_lineage() -> Self {
        Self { lineage: new_lineage(), ..Self::default() }
    }

    /// Returns whether the state has no objects, outputs and check results.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.outputs.is_empty() && self.check_results.is_none()
    }

    /// Returns whether both states have the same content, ignoring serials and program versions.
    pub fn same_content(&self, other: &Self) -> bool {
        self.outputs == other.outputs && self.check_results == other.check_results && self.same_objects(other)
    }

    /// Returns whether both states have the same objects.
    pub fn same_objects(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resources, &other.resources) || self.resources == other.resources
    }

    /// Returns all resources, sorted by address.
    pub fn resources(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&AbsoluteResourceAddress, &ResourceState)> + ExactSizeIterator {
        self.resources.iter().map(|(address, resource)| (address, &**resource))
    }

    pub fn resource(&self, address: &AbsoluteResourceAddress) -> Option<&ResourceState> {
        self.resources.get(address).map(|resource| &**resource)
    }

    pub fn instance(&self, address: &ResourceInstanceAddress) -> Option<&Instance> {
        self.resource(&address.resource)?.instances.get(&address.key)
    }

    /// Returns the current object at an address.
    pub fn current(&self, address: &ResourceInstanceAddress) -> Option<&Arc<Object>> {
        self.instance(address)?.current.as_ref()
    }

    /// Returns all instances, sorted by address.
    pub fn instances(
        &self,
    ) -> impl Iterator<Item = (ResourceInstanceAddress, &ProviderConfigAddress, &Instance)> {
        self.resources().flat_map(|(address, resource)| {
            resource
                .instances
                .iter()
                .map(move |(key, instance)| (address.instance(key.clone()), &resource.provider, instance))
        })
    }

    /// Returns the module instances that contain resources, sorted.
    pub fn modules(&self) -> Vec<&ModuleInstance> {
        let mut modules: Vec<&ModuleInstance> =
            self.resources.keys().map(|address| &address.module).collect();
        modules.dedup();
        modules
    }

    /// Adds or replaces a resource.
    pub fn set_resource(
        &mut self,
        address: AbsoluteResourceAddress,
        resource: impl Into<Arc<ResourceState>>,
    ) {
        Arc::make_mut(&mut self.resources).insert(address, resource.into());
    }

    pub fn remove_resource(&mut self, address: &AbsoluteResourceAddress) -> Option<Arc<ResourceState>> {
        if !self.resources.contains_key(address) {
            return None;
        }
        Arc::make_mut(&mut self.resources).remove(address)
    }

    /// Adds or replaces an instance. An empty instance is removed, and so is its resource if this
    /// was the last instance.
    pub fn set_instance(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        instance: Instance,
    ) {
        if instance.is_empty() {
            self.remove_instance(address);
            return;
        }
        let resources = Arc::make_mut(&mut self.resources);
        let resource = resources.entry(address.resource.clone()).or_insert_with(|| {
            Arc::new(ResourceState { provider: provider.clone(), instances: BTreeMap::new() })
        });
        let resource = Arc::make_mut(resource);
        if resource.provider != *provider {
            resource.provider = provider.clone();
        }
        resource.instances.insert(address.key.clone(), instance);
    }

    /// Sets or removes the current object of an instance.
    pub fn set_current(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        object: Option<Arc<Object>>,
    ) {
        let mut instance = self.instance(address).cloned().unwrap_or_default();
        instance.current = object;
        self.set_instance(address, provider, instance);
    }

    /// Sets or removes a deposed object of an instance.
    pub fn set_deposed(
        &mut self,
        address: &ResourceInstanceAddress,
        provider: &ProviderConfigAddress,
        key: Str,
        object: Option<Arc<Object>>,
    ) {
        let mut instance = self.instance(address).cloned().unwrap_or_default();
        match object {
            Some(object) => instance.deposed.insert(key, object),
            None => instance.deposed.remove(&key),
        };
        self.set_instance(address, provider, instance);
    }

    /// Removes an instance, and its resource if this was the last instance.
    pub fn remove_instance(&mut self, address: &ResourceInstanceAddress) -> Option<Instance> {
        self.instance(address)?;
        let resources = Arc::make_mut(&mut self.resources);
        let resource = Arc::make_mut(resources.get_mut(&address.resource)?);
        let removed = resource.instances.remove(&address.key);
        if resource.instances.is_empty() {
            resources.remove(&address.resource);
        }
        removed
    }
}

pub(crate) fn new_lineage() -> String {
    uuid::Uuid::new_v4().to_string()
}
