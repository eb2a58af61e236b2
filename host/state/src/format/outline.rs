//! Reads the addresses and output names in a state file, without its values. Completion in a shell
//! must respond at once, even if the state is large.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use wardian_address::{AbsoluteResourceAddress, ModuleInstance, ResourceInstanceAddress, ResourceMode};

use super::instance::index_key;
use crate::error::StateProblem;

/// The addresses and output names in a state file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateOutline {
    /// The instances in the order of the file. An instance of which only a deposed object exists is
    /// included.
    pub instances: Vec<ResourceInstanceAddress>,
    pub outputs: Vec<String>,
}

#[derive(Deserialize)]
struct Outline<'a> {
    version: Option<u64>,
    #[serde(borrow, default)]
    resources: Vec<Resource<'a>>,
    #[serde(default)]
    outputs: Names,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    module: Cow<'a, str>,
    #[serde(borrow)]
    mode: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    type_name: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    instances: Vec<Instance<'a>>,
}

#[derive(Deserialize)]
struct Instance<'a> {
    #[serde(borrow)]
    index_key: Option<&'a RawValue>,
}

/// The names of a JSON object's members.
#[derive(Default)]
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;

        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = members.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(NamesVisitor)
    }
}

/// Reads a state file of version 4. Resources with invalid addresses are omitted.
///
/// # Errors
/// Returns an error if the file is not a state of version 4.
pub fn read_outline(bytes: &[u8]) -> Result<StateOutline, StateProblem> {
    let text = std::str::from_utf8(bytes).map_err(|error| StateProblem::NotUtf8(error.valid_up_to()))?;
    let outline: Outline<'_> = serde_json::from_str(text).map_err(StateProblem::NotJson)?;
    match outline.version {
        Some(super::FORMAT_VERSION) => {}
        Some(version) => return Err(StateProblem::NewVersion { version, writer: String::new() }),
        None => return Err(StateProblem::NoVersion),
    }
    let mut instances = Vec::new();
    for resource in &outline.resources {
        let Some(address) = resource.address() else { continue };
        let keys = resource.instances.iter().filter_map(|instance| match instance.index_key {
            None => Some(wardian_address::InstanceKey::None),
            Some(raw) => {
                index_key(raw, &|problem| StateProblem::Invalid { place: String::new(), problem }).ok()
            }
        });
        instances.extend(keys.map(|key| address.instance(key)));
    }
    // An instance has one entry for each of its objects.
    instances.dedup();
    Ok(StateOutline { instances, outputs: outline.outputs.0 })
}

impl Resource<'_> {
    fn address(&self) -> Option<AbsoluteResourceAddress> {
        let mode = match &*self.mode {
            "managed" => ResourceMode::Managed,
            "data" => ResourceMode::Data,
            _ => return None,
        };
        let module: ModuleInstance = match &*self.module {
            "" => ModuleInstance::root(),
            text => text.parse().ok()?,
        };
        Some(AbsoluteResourceAddress {
            module,
            mode,
            type_name: (&*self.type_name).into(),
            name: (&*self.name).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATE: &str = r#"{
        "version": 4, "serial": 1, "lineage": "l",
        "outputs": {"a": {"value": "x", "type": "string"}, "b\"": {"value": 1, "type": "number"}},
        "resources": [
            {"mode": "managed", "type": "t", "name": "a", "provider": "p", "instances": [{"attributes": {"x": [1]}}]},
            {"module": "module.m[\"k\"]", "mode": "managed", "type": "t", "name": "b", "provider": "p",
             "instances": [{"index_key": 0}, {"index_key": 1, "deposed": "00000000"}, {"index_key": 1}]},
            {"mode": "data", "type": "t", "name": "c", "provider": "p", "instances": [{"index_key": "é\n"}]},
            {"mode": "other", "type": "t", "name": "d", "provider": "p", "instances": [{}]}
        ]}"#;

    #[test]
    fn outline_contains_addresses_and_output_names() {
        let outline = read_outline(STATE.as_bytes()).unwrap();
        let addresses: Vec<String> = outline.instances.iter().map(ToString::to_string).collect();
        let expected = ["t.a", "module.m[\"k\"].t.b[0]", "module.m[\"k\"].t.b[1]", "data.t.c[\"é\\n\"]"];
        assert_eq!(addresses, expected);
        assert_eq!(outline.outputs, ["a", "b\""]);
    }

    #[test]
    fn other_files_are_rejected() {
        for text in ["", "{}", "[]", r#"{"version": 3}"#, r#"{"version": 4, "resources": 1}"#, "\u{1b}"] {
            assert!(read_outline(text.as_bytes()).is_err(), "{text}");
        }
        assert!(read_outline(b"\xff").is_err());
    }

    proptest! {
        #[test]
        fn damaged_states_do_not_panic(position in 0..STATE.len(), byte in any::<u8>()) {
            let mut damaged = STATE.as_bytes().to_vec();
            damaged[position] = byte;
            let _ = read_outline(&damaged);
            let _ = read_outline(&damaged[..position]);
        }
    }
}
