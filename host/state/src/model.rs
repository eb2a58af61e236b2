//! The state as a data structure.

use std::collections::BTreeMap;
use std::sync::Arc;

use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ProviderConfigAddress, ResourceAddress,
    ResourceInstanceAddress,
};
use wardian_value::{Path, Str, Value};

use crate::checks::CheckResult;

/// Bytes that a provider stores with an object; empty where there are none.
pub type PrivateBytes = Arc<[u8]>;

/// What an object was made from, sorted. Objects share the addresses: of n objects in
/// a chain the last one names n - 1 others.
pub type Dependencies = Arc<[Arc<ResourceAddress>]>;

/// All that is known. A clone is one pointer for the resources; the first change
/// after it copies the table of pointers, later changes cost their own size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Which state this is; the same for its whole life. Empty for one that was
    /// never written.
    pub lineage: String,
    /// Counts changes.
    pub serial: u64,
    /// The version of the program that wrote it last.
    pub terraform_version: String,
    /// Outputs of the root module.
    pub outputs: BTreeMap<Str, OutputValue>,
    /// What was last checked, in the order of the file; `None` where nothing ever was.
    pub check_results: Option<Vec<CheckResult>>,
    pub(crate) resources: Arc<BTreeMap<AbsoluteResourceAddress, Arc<Resource>>>,
}

/// An output of the root module.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputValue {
    /// The value, without marks.
    pub value: Value,
    /// Whether it must not be shown.
    pub sensitive: bool,
}

/// A resource in one module instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Which provider configuration its objects belong to.
    pub provider: ProviderConfigAddress,
    /// Its instances by key.
    pub instances: BTreeMap<InstanceKey, Instance>,
}

/// One instance: the object that the configuration means, and objects that were
/// replaced and wait for their destruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The object that the configuration means.
    pub current: Option<Arc<Object>>,
    /// Replaced objects by their key of eight hexadecimal digits.
    pub deposed: BTreeMap<Str, Arc<Object>>,
}

/// An object that exists somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The version of the resource type's schema that the attributes are of.
    pub schema_version: u64,
    /// What is known about it.
    pub attributes: Attributes,
    /// Which attributes must not be shown, sorted unless read from a file.
    pub sensitive_paths: Vec<Path>,
    /// What identifies it, where its type has identities.
    pub identity: Option<Identity>,
    /// What the provider wants to have kept.
    pub private: PrivateBytes,
    /// Whether it is whole.
    pub status: ObjectStatus,
    /// What it was made from.
    pub dependencies: Dependencies,
    /// Whether a replacement is created before this is destroyed.
    pub create_before_destroy: bool,
}

/// An object's attributes as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// A JSON object, without white space between its parts.
    Json(Arc<str>),
    /// Paths and texts, as Terraform before 0.12 stored them.
    Flat(Arc<BTreeMap<String, String>>),
}

/// What identifies an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The version of the identity schema.
    pub schema_version: u64,
    /// A JSON object, without white space between its parts.
    pub attributes: Arc<str>,
}

/// Whether an object is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectStatus {
    /// It is.
    #[default]
    Ready,
    /// Something failed half way; it is to be replaced.
    Tainted,
}

impl Object {
    /// An object of which only the attributes are known: a JSON object without
    /// white space between its parts.
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

    /// Whether the object is to be replaced.
    pub fn is_tainted(&self) -> bool {
        self.status == ObjectStatus::Tainted
    }
}

impl Instance {
    /// An instance with a current object only.
    pub fn with_current(object: impl Into<Arc<Object>>) -> Self {
        Self { current: Some(object.into()), deposed: BTreeMap::new() }
    }

    /// Whether there is no object left.
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }

    /// A key for one more deposed object, unlike those there are.
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

/// How many hexadecimal digits name a deposed object.
pub(crate) const DEPOSED_KEY_LENGTH: usize = 8;

impl State {
    /// A state in which nothing is known, with a lineage of its own.
    pub fn with_new_lineage() -> Self {
        Self { lineage: new_lineage(), ..Self::default() }
    }

    /// Whether no object, output or check is known.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.outputs.is_empty() && self.check_results.is_none()
    }

    /// Whether both know the same, whatever their serials and writers.
    pub fn same_content(&self, other: &Self) -> bool {
        self.outputs == other.outputs && self.check_results == other.check_results && self.same_objects(other)
    }

    /// Whether both have the same objects.
    pub fn same_objects(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.resources, &other.resources) || self.resources == other.resources
    }

    /// All resources, sorted by address.
    pub fn resources(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&AbsoluteResourceAddress, &Resource)> + ExactSizeIterator {
        self.resources.iter().map(|(address, resource)| (address, &**resource))
    }

    /// One resource.
    pub fn resource(&self, address: &AbsoluteResourceAddress) -> Option<&Resource> {
        self.resources.get(address).map(|resource| &**resource)
    }

    /// One instance.
    pub fn instance(&self, address: &ResourceInstanceAddress) -> Option<&Instance> {
        self.resource(&address.resource)?.instances.get(&address.key)
    }

    /// The object that the configuration means by an address.
    pub fn current(&self, address: &ResourceInstanceAddress) -> Option<&Arc<Object>> {
        self.instance(address)?.current.as_ref()
    }

    /// All instances, sorted by address.
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

    /// The module instances that hold resources, sorted.
    pub fn modules(&self) -> Vec<&ModuleInstance> {
        let mut modules: Vec<&ModuleInstance> =
            self.resources.keys().map(|address| &address.module).collect();
        modules.dedup();
        modules
    }

    /// Puts a whole resource in the place of what is known of it.
    pub fn set_resource(&mut self, address: AbsoluteResourceAddress, resource: impl Into<Arc<Resource>>) {
        Arc::make_mut(&mut self.resources).insert(address, resource.into());
    }

    /// Takes out a whole resource.
    pub fn remove_resource(&mut self, address: &AbsoluteResourceAddress) -> Option<Arc<Resource>> {
        if !self.resources.contains_key(address) {
            return None;
        }
        Arc::make_mut(&mut self.resources).remove(address)
    }

    /// Puts an instance in the place of what is known of it. An empty one is
    /// taken out, and with the last instance its resource.
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
        let resource = resources
            .entry(address.resource.clone())
            .or_insert_with(|| Arc::new(Resource { provider: provider.clone(), instances: BTreeMap::new() }));
        let resource = Arc::make_mut(resource);
        if resource.provider != *provider {
            resource.provider = provider.clone();
        }
        resource.instances.insert(address.key.clone(), instance);
    }

    /// Sets the current object of an instance, or takes it away.
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

    /// Sets a deposed object of an instance, or takes it away.
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

    /// Takes out an instance, and with the last one its resource.
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
