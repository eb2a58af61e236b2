//! Converts state files of Terraform before 0.12. These files have the format versions 1 to 3.
//!
//! | version | Terraform | difference from the next version |
//! |---|---|---|
//! | 1 | 0.1 to 0.6 | outputs are strings; tainted objects are in a list next to the current object |
//! | 2 | 0.7 | the length of a map in flat attributes is `m.#`, like the length of a list |
//! | 3 | 0.7 to 0.11 | flat attributes, strings as addresses, the type of an output is not stored |
//!
//! Flat attributes are preserved: only their provider can convert them to the current format, when
//! it upgrades the object. Outputs of child modules and the addresses in `depends_on` are dropped,
//! as in Terraform: the next apply computes them again.

mod attributes;
mod output;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use wardian_address::{
    AbsoluteResourceAddress, InstanceKey, ModuleInstance, ProviderAddress, ProviderConfigAddress,
    ResourceMode,
};
use wardian_value::Str;

use super::layout::{Parts, compact};
use super::writer_version::check_writer;
use crate::error::StateProblem;
use crate::model::{Attributes, Instance, Object, ObjectStatus, ResourceState, State};

/// A format version that can be read but is no longer written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegacyVersion {
    One,
    Two,
    Three,
}

#[derive(Deserialize)]
struct StoredState<'a> {
    terraform_version: Option<String>,
    serial: Option<i64>,
    lineage: Option<String>,
    #[serde(borrow)]
    modules: Option<Vec<StoredModule<'a>>>,
}

#[derive(Deserialize)]
struct StoredModule<'a> {
    path: Option<Vec<String>>,
    #[serde(borrow)]
    outputs: Option<BTreeMap<String, &'a RawValue>>,
    #[serde(borrow)]
    resources: Option<BTreeMap<String, StoredResource<'a>>>,
}

#[derive(Deserialize)]
struct StoredResource<'a> {
    #[serde(borrow)]
    primary: Option<StoredObject<'a>>,
    /// Tainted objects; only in version 1.
    #[serde(borrow)]
    tainted: Option<Vec<Option<StoredObject<'a>>>>,
    #[serde(borrow)]
    deposed: Option<Vec<Option<StoredObject<'a>>>>,
    provider: Option<String>,
}

#[derive(Deserialize)]
struct StoredObject<'a> {
    id: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    #[serde(borrow)]
    meta: Option<BTreeMap<String, &'a RawValue>>,
    tainted: Option<bool>,
}

/// Parses a state file of a legacy version.
///
/// # Errors
///
/// Returns an error if the file is damaged or a value in it is invalid. The error contains the
/// location.
pub(super) fn decode(text: &str, version: LegacyVersion) -> Result<State, StateProblem> {
    let stored: StoredState<'_> = serde_json::from_str(text).map_err(StateProblem::NotJson)?;
    let terraform_version = stored.terraform_version.unwrap_or_default();
    check_writer(&terraform_version)?;
    let serial = u64::try_from(stored.serial.unwrap_or(0))
        .map_err(|_| invalid("\"serial\"", "it is less than zero".to_owned()))?;
    let mut state =
        State { lineage: stored.lineage.unwrap_or_default(), serial, terraform_version, ..State::default() };
    for module in stored.modules.unwrap_or_default() {
        let path = module_path(&module.path.unwrap_or_default())?;
        if path.is_root() {
            for (name, raw) in module.outputs.unwrap_or_default() {
                let value = output::decode(&name, raw, version)?;
                state.outputs.insert(Str::new(&name), value);
            }
        }
        for (name, resource) in module.resources.unwrap_or_default() {
            add_resource(&mut state, &path, &name, resource, version)?;
        }
    }
    Ok(state)
}

fn invalid(place: &str, problem: String) -> StateProblem {
    StateProblem::Invalid { place: place.to_owned(), problem }
}

/// Parses `["root", "a", "b"]`.
fn module_path(names: &[String]) -> Result<ModuleInstance, StateProblem> {
    let place = || format!("module path {names:?}");
    let Some((first, rest)) = names.split_first() else {
        return Err(invalid(&place(), "it is empty but must begin with \"root\"".to_owned()));
    };
    if first != "root" {
        return Err(invalid(&place(), "it does not begin with \"root\"".to_owned()));
    }
    let mut module = ModuleInstance::root();
    for name in rest {
        module = module.child(name.as_str(), InstanceKey::None);
    }
    // The address parser checks whether the names are valid.
    if !module.is_root() {
        module
            .to_string()
            .parse::<ModuleInstance>()
            .map_err(|error| StateProblem::Address { place: place(), error })?;
    }
    Ok(module)
}

fn add_resource(
    state: &mut State,
    module: &ModuleInstance,
    name: &str,
    stored: StoredResource<'_>,
    version: LegacyVersion,
) -> Result<(), StateProblem> {
    let dot = if module.is_root() { "" } else { "." };
    let place = format!("resource {module}{dot}{name}");
    let (address, key) = address(module, name, &place)?;
    let provider = provider(stored.provider.as_deref().unwrap_or_default(), &address, &place)?;
    let instance = instance(stored, version, &place)?;
    if instance.is_empty() {
        return Ok(());
    }
    let mut resource = match state.resource(&address) {
        Some(earlier) => earlier.clone(),
        None => ResourceState { provider, instances: BTreeMap::new() },
    };
    if resource.instances.insert(key, instance).is_some() {
        return Err(invalid(&place, "this instance occurs more than once".to_owned()));
    }
    state.set_resource(address, resource);
    Ok(())
}

/// Parses `type.name`, `type.name.0`, `data.type.name` or `data.type.name.0`.
fn address(
    module: &ModuleInstance,
    name: &str,
    place: &str,
) -> Result<(AbsoluteResourceAddress, InstanceKey), StateProblem> {
    let parts: Vec<&str> = name.split('.').collect();
    let (mode, parts) = match parts.as_slice() {
        ["data", rest @ ..] if rest.len() > 1 => (ResourceMode::Data, rest),
        rest => (ResourceMode::Managed, rest),
    };
    let (type_name, name, key) = match parts {
        [type_name, name] => (type_name, name, InstanceKey::None),
        [type_name, name, index] => {
            let index = index
                .parse()
                .map_err(|_| invalid(place, format!("the index \"{index}\" is not a whole number")))?;
            (type_name, name, InstanceKey::Int(index))
        }
        _ => {
            return Err(invalid(
                place,
                "the key does not have the form TYPE.NAME, optionally followed by an index".to_owned(),
            ));
        }
    };
    if type_name.is_empty() || name.is_empty() {
        return Err(invalid(place, "its type or its name is empty".to_owned()));
    }
    Ok((module.resource(mode, *type_name, *name), key))
}

/// Parses `provider`: `provider.aws.west` and `module.a.provider.aws` are complete addresses;
/// `aws.west` is an address in the resource's module; an empty string is the default configuration
/// of the provider that is named by the first word of the type.
fn provider(
    text: &str,
    address: &AbsoluteResourceAddress,
    place: &str,
) -> Result<ProviderConfigAddress, StateProblem> {
    let failed = |error| StateProblem::Address { place: place.to_owned(), error };
    if text.contains("provider.") {
        return text.parse().map_err(failed);
    }
    let module = address.module.path();
    if !text.is_empty() {
        let local: ProviderConfigAddress = format!("provider.{text}").parse().map_err(failed)?;
        return Ok(ProviderConfigAddress { module, ..local });
    }
    let name = address.type_name.split('_').next().unwrap_or_default();
    let provider = ProviderAddress::legacy(name)
        .map_err(|error| invalid(place, format!("its provider cannot be determined: {error}")))?;
    Ok(ProviderConfigAddress { module, provider, alias: None })
}

fn instance(
    stored: StoredResource<'_>,
    version: LegacyVersion,
    place: &str,
) -> Result<Instance, StateProblem> {
    let mut current = match stored.primary {
        // Version 1 stores tainted objects in another field.
        Some(primary) if version == LegacyVersion::One => {
            Some(object(StoredObject { tainted: None, ..primary }, version, place)?)
        }
        Some(primary) => Some(object(primary, version, place)?),
        None => None,
    };
    let mut others = stored.deposed.unwrap_or_default();
    if version == LegacyVersion::One {
        // Terraform drops these objects, but they exist and must be destroyed.
        let mut tainted = stored.tainted.unwrap_or_default().into_iter().flatten();
        if current.is_none()
            && let Some(first) = tainted.next()
        {
            current = Some(object(StoredObject { tainted: Some(true), ..first }, version, place)?);
        }
        others.extend(tainted.map(Some));
    }
    let mut deposed = BTreeMap::new();
    for (number, other) in (1u32..).zip(others) {
        if let Some(other) = other {
            deposed.insert(Str::new(&format!("{number:08x}")), Arc::new(object(other, version, place)?));
        }
    }
    Ok(Instance { current: current.map(Arc::new), deposed })
}

fn object(stored: StoredObject<'_>, version: LegacyVersion, place: &str) -> Result<Object, StateProblem> {
    let mut meta = stored.meta.unwrap_or_default();
    let schema_version = meta.get("schema_version").and_then(|raw| schema_version(raw.get()));
    if schema_version.is_some() {
        meta.remove("schema_version");
    }
    let id = stored.id.filter(|id| !id.is_empty());
    let mut attributes = stored.attributes.unwrap_or_default();
    if version != LegacyVersion::Three {
        attributes = attributes::with_map_lengths(attributes);
    }
    if let Some(id) = id {
        attributes.entry("id".to_owned()).or_insert(id);
    }
    let mut object = Object::new(schema_version.unwrap_or(0), "{}");
    if !attributes.is_empty() {
        object.attributes = Attributes::Flat(Arc::new(attributes));
    }
    if !meta.is_empty() {
        object.private = private(&meta, place)?.into_bytes().into();
    }
    if stored.tainted == Some(true) {
        object.status = ObjectStatus::Tainted;
    }
    Ok(object)
}

/// Parses a number, or a string that contains a whole number.
fn schema_version(raw: &str) -> Option<u64> {
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        return text.parse().ok();
    }
    let number: f64 = serde_json::from_str(raw).ok()?;
    let fits = (0.0..9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
    fits.then_some(number.trunc() as u64)
}

/// Returns the provider's private data as JSON, in the format of current providers.
fn private(meta: &BTreeMap<String, &RawValue>, place: &str) -> Result<String, StateProblem> {
    let mut json = String::new();
    let mut members = Parts::object(&mut json);
    for (name, raw) in meta {
        if name.is_empty() {
            return Err(invalid(place, "\"meta\" has a member without a name".to_owned()));
        }
        members.member(name).push_str(&compact(raw.get()));
    }
    members.end();
    Ok(json)
}
