//! Parses state files of all supported versions.

use std::collections::BTreeMap;

use serde::Deserialize;
use wardian_address::{AbsoluteResourceAddress, ModuleInstance, ProviderConfigAddress, ResourceMode};
use wardian_value::Str;

use super::instance::{KnownResources, StoredObject, collect_instances};
use super::legacy::{self, LegacyVersion};
use super::output::{StoredOutput, decode_output};
use super::writer_version::check_writer;
use crate::checks::{CheckKind, CheckObject, CheckResult, CheckStatus};
use crate::error::StateProblem;
use crate::model::{ResourceState, State};

/// The members that identify a file that is not a state of version 4.
#[derive(Deserialize)]
struct Identification {
    version: Option<u64>,
    terraform_version: Option<String>,
    /// Only in encrypted states.
    encryption_version: Option<String>,
}

#[derive(Deserialize)]
struct StoredState<'a> {
    version: Option<u64>,
    terraform_version: Option<String>,
    serial: Option<u64>,
    lineage: Option<String>,
    #[serde(borrow)]
    outputs: Option<BTreeMap<String, StoredOutput<'a>>>,
    #[serde(borrow)]
    resources: Option<Vec<StoredResource<'a>>>,
    check_results: Option<Vec<StoredCheck>>,
}

#[derive(Deserialize)]
struct StoredResource<'a> {
    module: Option<String>,
    mode: String,
    #[serde(rename = "type")]
    type_name: String,
    name: String,
    provider: String,
    #[serde(borrow)]
    instances: Vec<StoredObject<'a>>,
}

#[derive(Deserialize)]
struct StoredCheck {
    object_kind: String,
    config_addr: String,
    status: String,
    objects: Option<Vec<StoredCheckObject>>,
}

#[derive(Deserialize)]
struct StoredCheckObject {
    object_addr: String,
    status: String,
    failure_messages: Option<Vec<String>>,
}

/// Parses a state file. An empty file contains no state.
///
/// # Errors
///
/// Returns an error if the bytes are not a state file of version 1 to 4. The error contains the
/// location.
pub fn decode(bytes: &[u8]) -> Result<Option<State>, StateProblem> {
    let text = std::str::from_utf8(bytes).map_err(|error| StateProblem::NotUtf8(error.valid_up_to()))?;
    if text.is_empty() {
        return Ok(None);
    }
    // Almost all files have the newest version, so they are parsed only once.
    if let Ok(stored) = serde_json::from_str::<StoredState<'_>>(text)
        && stored.version == Some(super::FORMAT_VERSION)
    {
        return decode_version_4(stored).map(Some);
    }
    let version: Identification = serde_json::from_str(text).map_err(StateProblem::NotJson)?;
    match version.version {
        None if version.encryption_version.is_some() => return Err(StateProblem::Encrypted),
        None => return Err(StateProblem::NoVersion),
        Some(0) => return Err(StateProblem::VersionZero),
        Some(1) => return legacy::decode(text, LegacyVersion::One).map(Some),
        Some(2) => return legacy::decode(text, LegacyVersion::Two).map(Some),
        Some(3) => return legacy::decode(text, LegacyVersion::Three).map(Some),
        Some(super::FORMAT_VERSION) => {}
        Some(newer) => {
            let writer = version.terraform_version.unwrap_or_default();
            return Err(StateProblem::NewVersion { version: newer, writer });
        }
    }
    let stored: StoredState<'_> = serde_json::from_str(text).map_err(StateProblem::NotJson)?;
    decode_version_4(stored).map(Some)
}

fn decode_version_4(stored: StoredState<'_>) -> Result<State, StateProblem> {
    let terraform_version = stored.terraform_version.unwrap_or_default();
    check_writer(&terraform_version)?;
    let mut outputs = BTreeMap::new();
    for (name, output) in stored.outputs.unwrap_or_default() {
        let value = decode_output(&name, output)?;
        outputs.insert(Str::new(&name), value);
    }
    let mut state = State {
        lineage: stored.lineage.unwrap_or_default(),
        serial: stored.serial.unwrap_or(0),
        terraform_version,
        outputs,
        check_results: stored
            .check_results
            .map(|results| results.into_iter().map(check).collect())
            .transpose()?,
        ..State::default()
    };
    let mut known = KnownResources::default();
    for resource in stored.resources.unwrap_or_default() {
        add_resource(&mut state, resource, &mut known)?;
    }
    Ok(state)
}

fn add_resource(
    state: &mut State,
    stored: StoredResource<'_>,
    known: &mut KnownResources,
) -> Result<(), StateProblem> {
    let dot = if stored.module.as_deref().unwrap_or_default().is_empty() { "" } else { "." };
    let place =
        format!("{}{dot}{}.{}", stored.module.as_deref().unwrap_or_default(), stored.type_name, stored.name);
    let invalid = |problem: &str| StateProblem::Invalid {
        place: format!("resource {place}"),
        problem: problem.to_owned(),
    };
    let address_error = |error| StateProblem::Address { place: format!("resource {place}"), error };
    let mode = match stored.mode.as_str() {
        "managed" => ResourceMode::Managed,
        "data" => ResourceMode::Data,
        other => return Err(invalid(&format!("the mode {other:?} is unknown"))),
    };
    if stored.type_name.is_empty() || stored.name.is_empty() {
        return Err(invalid("its type or its name is empty"));
    }
    let module: ModuleInstance = match stored.module.as_deref() {
        None | Some("") => ModuleInstance::root(),
        Some(text) => text.parse().map_err(address_error)?,
    };
    let provider: ProviderConfigAddress = stored.provider.parse().map_err(address_error)?;
    let address = AbsoluteResourceAddress {
        module,
        mode,
        type_name: stored.type_name.into(),
        name: stored.name.into(),
    };
    let instances = collect_instances(stored.instances, &address.to_string(), known)?;
    // Terraform itself leaves resources without instances in some states; they contain no data.
    if instances.is_empty() {
        return Ok(());
    }
    match state.resource(&address) {
        None => state.set_resource(address, ResourceState { provider, instances }),
        Some(earlier) => {
            let mut merged = earlier.clone();
            for (key, instance) in instances {
                if merged.instances.insert(key.clone(), instance).is_some() {
                    return Err(StateProblem::Invalid {
                        place: format!("resource {}", address.instance(key)),
                        problem: "this instance occurs more than once".to_owned(),
                    });
                }
            }
            state.set_resource(address, merged);
        }
    }
    Ok(())
}

/// Reads the results of a block's conditions.
pub fn decode_check_text(text: &str) -> Result<CheckResult, StateProblem> {
    check(serde_json::from_str(text).map_err(StateProblem::NotJson)?)
}

fn check(stored: StoredCheck) -> Result<CheckResult, StateProblem> {
    let place = format!("check result of {}", stored.config_addr);
    let invalid = |problem: String| StateProblem::Invalid { place: place.clone(), problem };
    let status = |text: &str| {
        CheckStatus::parse(text).ok_or_else(|| invalid(format!("the status {text:?} is unknown")))
    };
    let objects = match stored.objects {
        None => None,
        Some(objects) => Some(
            objects
                .into_iter()
                .map(|object| {
                    Ok(CheckObject {
                        status: status(&object.status)?,
                        address: object.object_addr.into(),
                        failure_messages: object.failure_messages.unwrap_or_default(),
                    })
                })
                .collect::<Result<_, StateProblem>>()?,
        ),
    };
    Ok(CheckResult {
        kind: CheckKind::parse(&stored.object_kind)
            .ok_or_else(|| invalid(format!("the kind {:?} is unknown", stored.object_kind)))?,
        status: status(&stored.status)?,
        config_address: stored.config_addr.into(),
        objects,
    })
}
