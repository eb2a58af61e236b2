//! Encodes and decodes the objects of an instance, in the state file and in the journal.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;
use wardian_address::{InstanceAddressError, InstanceKey, ResourceAddress};
use wardian_value::{Path, PathStep, Str};

use super::layout::{Parts, compact, push_string};
use crate::error::StateProblem;
use crate::model::{Attributes, DEPOSED_KEY_LENGTH, Identity, Instance, Object, ObjectStatus};

/// The minimum number of objects of a resource that are decoded on several threads.
const MIN_PARALLEL_OBJECTS: usize = 2048;

/// The minimum number of objects that a thread decodes as one unit of work.
const MIN_OBJECTS_PER_PART: usize = 256;

#[derive(Deserialize)]
pub(super) struct StoredObject<'a> {
    #[serde(borrow)]
    index_key: Option<&'a RawValue>,
    status: Option<String>,
    deposed: Option<String>,
    schema_version: Option<u64>,
    #[serde(borrow)]
    attributes: Option<&'a RawValue>,
    attributes_flat: Option<BTreeMap<String, String>>,
    sensitive_attributes: Option<Vec<Vec<StoredStep<'a>>>>,
    identity_schema_version: Option<u64>,
    #[serde(borrow)]
    identity: Option<&'a RawValue>,
    private: Option<String>,
    #[serde(borrow)]
    dependencies: Option<Vec<StoredText<'a>>>,
    create_before_destroy: Option<bool>,
}

/// A string that is copied only if it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct StoredText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Resource addresses that have already been parsed. Many objects contain the same addresses.
#[derive(Default)]
pub(crate) struct KnownResources(HashMap<String, Arc<ResourceAddress>>);

impl KnownResources {
    fn parse(&mut self, text: &str) -> Result<Arc<ResourceAddress>, InstanceAddressError> {
        if let Some(known) = self.0.get(text) {
            return Ok(Arc::clone(known));
        }
        let address: Arc<ResourceAddress> = Arc::new(text.parse()?);
        self.0.insert(text.to_owned(), Arc::clone(&address));
        Ok(address)
    }
}

#[derive(Deserialize)]
struct StoredStep<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    value: &'a RawValue,
}

#[derive(Deserialize)]
struct StoredIndex<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
}

/// Writes the objects of an instance as elements of an array, the current object first.
pub(crate) fn encode_instance(items: &mut Parts<'_>, key: &InstanceKey, instance: &Instance) {
    if let Some(object) = &instance.current {
        encode_object(items.item(), key, None, object);
    }
    for (deposed, object) in &instance.deposed {
        encode_object(items.item(), key, Some(deposed), object);
    }
}

fn encode_object(json: &mut String, key: &InstanceKey, deposed: Option<&Str>, object: &Object) {
    let mut members = Parts::object(json);
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(index) => members.number("index_key", *index),
        InstanceKey::String(key) => members.text("index_key", key),
    }
    if object.is_tainted() {
        members.text("status", "tainted");
    }
    if let Some(deposed) = deposed {
        members.text("deposed", deposed);
    }
    members.number("schema_version", object.schema_version);
    match &object.attributes {
        Attributes::Json(attributes) => members.member("attributes").push_str(attributes),
        Attributes::Flat(attributes) => {
            let mut texts = Parts::object(members.member("attributes_flat"));
            for (name, value) in attributes.iter() {
                texts.text(name, value);
            }
            texts.end();
        }
    }
    encode_paths(members.member("sensitive_attributes"), &object.sensitive_paths);
    if let Some(identity) = &object.identity {
        members.number("identity_schema_version", identity.schema_version);
        members.member("identity").push_str(&identity.attributes);
    }
    if !object.private.is_empty() {
        members.text("private", &BASE64_STANDARD.encode(&object.private));
    }
    if !object.dependencies.is_empty() {
        let mut addresses = Parts::array(members.member("dependencies"));
        for address in object.dependencies.iter() {
            push_string(addresses.item(), &address.to_string());
        }
        addresses.end();
    }
    members.flag("create_before_destroy", object.create_before_destroy);
    members.end();
}

fn encode_paths(json: &mut String, paths: &[Path]) {
    let mut array = Parts::array(json);
    for path in paths {
        let mut steps = Parts::array(array.item());
        for step in path.steps() {
            let mut members = Parts::object(steps.item());
            match step {
                PathStep::Attribute(name) => {
                    members.text("type", "get_attr");
                    members.text("value", name);
                }
                PathStep::Key(key) => {
                    members.text("type", "index");
                    let mut index = Parts::object(members.member("value"));
                    index.text("value", key);
                    index.text("type", "string");
                    index.end();
                }
                PathStep::Index(number) => {
                    members.text("type", "index");
                    let mut index = Parts::object(members.member("value"));
                    index.number("value", *number);
                    index.text("type", "number");
                    index.end();
                }
            }
            members.end();
        }
        steps.end();
    }
    array.end();
}

/// An object, with its instance key and its deposed key.
struct DecodedObject {
    key: InstanceKey,
    /// The key of a deposed object; empty for the current object.
    deposed: String,
    object: Arc<Object>,
}

fn decode_object(
    mut stored: StoredObject<'_>,
    place: &str,
    known: &mut KnownResources,
) -> Result<DecodedObject, StateProblem> {
    let invalid = |problem: String| StateProblem::Invalid { place: format!("resource {place}"), problem };
    let key = stored.index_key.map_or(Ok(InstanceKey::None), |raw| index_key(raw, &invalid))?;
    let deposed = stored.deposed.take().unwrap_or_default();
    let object = Arc::new(object(stored, &format_args!("resource {place}{key}"), known)?);
    Ok(DecodedObject { key, deposed, object })
}

/// Decodes objects, on several threads if there are many. If objects are invalid, returns the error
/// of the first of them.
fn decode_objects(
    stored: Vec<StoredObject<'_>>,
    place: &str,
    known: &mut KnownResources,
) -> Result<Vec<DecodedObject>, StateProblem> {
    if stored.len() < MIN_PARALLEL_OBJECTS {
        return stored.into_iter().map(|stored| decode_object(stored, place, known)).collect();
    }
    let decoded: Vec<_> = stored
        .into_par_iter()
        .with_min_len(MIN_OBJECTS_PER_PART)
        .map_init(KnownResources::default, |known, stored| decode_object(stored, place, known))
        .collect();
    decoded.into_iter().collect()
}

/// Combines the objects of an array into instances. Errors contain `place`.
pub(super) fn collect_instances(
    stored: Vec<StoredObject<'_>>,
    place: &str,
    known: &mut KnownResources,
) -> Result<BTreeMap<InstanceKey, Instance>, StateProblem> {
    let mut instances: BTreeMap<InstanceKey, Instance> = BTreeMap::new();
    for DecodedObject { key, deposed, object } in decode_objects(stored, place, known)? {
        let instance = instances.entry(key.clone()).or_default();
        let invalid =
            |problem: String| StateProblem::Invalid { place: format!("resource {place}{key}"), problem };
        if deposed.is_empty() {
            if instance.current.replace(object).is_some() {
                return Err(invalid("this instance occurs more than once".to_owned()));
            }
        } else {
            if deposed.len() != DEPOSED_KEY_LENGTH || !deposed.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(invalid(format!(
                    "the key {deposed:?} of a deposed object is not eight hexadecimal digits"
                )));
            }
            if instance.deposed.insert(Str::new(&deposed), object).is_some() {
                return Err(invalid(format!("the deposed object {deposed} occurs more than once")));
            }
        }
    }
    Ok(instances)
}

/// Reads the objects of one instance from an array written by [`encode_instance`].
pub(crate) fn decode_instance(json: &str, place: &str) -> Result<Instance, StateProblem> {
    decode_instance_with(json, place, &mut KnownResources::default())
}

/// Reads the objects of one of many instances.
pub(crate) fn decode_instance_with(
    json: &str,
    place: &str,
    known: &mut KnownResources,
) -> Result<Instance, StateProblem> {
    let stored: Vec<StoredObject<'_>> = serde_json::from_str(json).map_err(StateProblem::NotJson)?;
    let mut instances = collect_instances(stored, place, known)?;
    Ok(instances.pop_first().map(|(_, instance)| instance).unwrap_or_default())
}

pub(super) fn index_key(
    raw: &RawValue,
    invalid: &impl Fn(String) -> StateProblem,
) -> Result<InstanceKey, StateProblem> {
    let text = raw.get();
    if text == "null" {
        return Ok(InstanceKey::None);
    }
    if text.starts_with('"') {
        let key: String = serde_json::from_str(text).map_err(|error| invalid(error.to_string()))?;
        return Ok(InstanceKey::String(key.into()));
    }
    whole_number(text)
        .map(InstanceKey::Int)
        .ok_or_else(|| invalid(format!("the index key {text} is neither a whole number nor a string")))
}

/// Parses an index. Go sometimes writes and reads indexes as doubles, so `1.0` and `1e1` are also
/// accepted as whole numbers.
fn whole_number(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    let exact = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
    exact.then_some(number as u64)
}

fn object(
    stored: StoredObject<'_>,
    place: &dyn Display,
    known: &mut KnownResources,
) -> Result<Object, StateProblem> {
    let invalid = |problem: String| StateProblem::Invalid { place: place.to_string(), problem };
    let status = match stored.status.as_deref() {
        None | Some("") => ObjectStatus::Ready,
        Some("tainted") => ObjectStatus::Tainted,
        Some(other) => return Err(invalid(format!("the status {other:?} is unknown"))),
    };
    let attributes = match (stored.attributes, stored.attributes_flat) {
        (Some(raw), _) if raw.get().starts_with('{') => Attributes::Json(compact(raw.get()).into()),
        (Some(_), _) => return Err(invalid("\"attributes\" is not an object".to_owned())),
        (None, Some(flat)) => Attributes::Flat(Arc::new(flat)),
        (None, None) => Attributes::Json("{}".into()),
    };
    let sensitive_paths = stored
        .sensitive_attributes
        .unwrap_or_default()
        .into_iter()
        .map(|steps| steps.iter().map(|step| path_step(step, &invalid)).collect::<Result<Vec<_>, _>>())
        .map(|steps| steps.map(Path::from))
        .collect::<Result<_, _>>()?;
    let private = BASE64_STANDARD
        .decode(stored.private.unwrap_or_default())
        .map_err(|error| invalid(format!("\"private\" is not base64: {error}")))?;
    let mut dependencies = Vec::new();
    for text in stored.dependencies.unwrap_or_default() {
        let address = known
            .parse(&text.0)
            .map_err(|error| StateProblem::Address { place: format!("{place}, dependencies"), error })?;
        dependencies.push(address);
    }
    Ok(Object {
        schema_version: stored.schema_version.unwrap_or(0),
        attributes,
        sensitive_paths,
        identity: stored.identity.filter(|raw| raw.get() != "null").map(|raw| Identity {
            schema_version: stored.identity_schema_version.unwrap_or(0),
            attributes: compact(raw.get()).into(),
        }),
        private: private.into(),
        status,
        dependencies: dependencies.into(),
        create_before_destroy: stored.create_before_destroy.unwrap_or(false),
    })
}

fn path_step(
    step: &StoredStep<'_>,
    invalid: &impl Fn(String) -> StateProblem,
) -> Result<PathStep, StateProblem> {
    let wrong = |error: serde_json::Error| invalid(format!("a sensitive path cannot be read: {error}"));
    match step.kind.as_str() {
        "get_attr" => {
            let name: String = serde_json::from_str(step.value.get()).map_err(wrong)?;
            Ok(PathStep::Attribute(name.into()))
        }
        "index" => {
            let index: StoredIndex<'_> = serde_json::from_str(step.value.get()).map_err(wrong)?;
            match index_key(index.value, invalid)? {
                InstanceKey::String(key) => Ok(PathStep::Key(key)),
                InstanceKey::Int(number) => Ok(PathStep::Index(number)),
                InstanceKey::None => Err(invalid("a sensitive path has a null index".to_owned())),
            }
        }
        other => Err(invalid(format!("a sensitive path has the unknown step {other:?}"))),
    }
}
