//! Renders the results of conditions as JSON.

use serde::Serialize;
use wardian_address::{InstanceKey, ResourceAddress, ResourceInstanceAddress};
use wardian_state::{CheckKind, CheckObject, CheckResult};

use super::objects::mode_name;

/// The results of all conditions of one block.
#[derive(Serialize)]
pub(super) struct Check<'a> {
    address: CheckAddress,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    instances: Vec<CheckInstance<'a>>,
}

#[derive(Default, Serialize)]
struct CheckAddress {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    name: String,
    to_display: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    type_name: Option<String>,
}

#[derive(Serialize)]
struct CheckInstance<'a> {
    address: InstanceAddress,
    status: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct InstanceAddress {
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_key: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    to_display: String,
}

#[derive(Serialize)]
struct Problem<'a> {
    message: &'a str,
}

impl<'a> Check<'a> {
    /// Returns all results, sorted by their displayed addresses.
    pub(super) fn all(results: &'a [CheckResult]) -> Vec<Self> {
        let mut checks: Vec<Self> = results.iter().map(Self::new).collect();
        checks.sort_by(|a, b| a.address.to_display.cmp(&b.address.to_display));
        checks
    }

    fn new(result: &'a CheckResult) -> Self {
        let objects = result.objects.as_deref().unwrap_or_default();
        let mut instances: Vec<CheckInstance<'a>> =
            objects.iter().map(|object| CheckInstance::new(result.kind, object)).collect();
        instances.sort_by(|a, b| a.address.to_display.cmp(&b.address.to_display));
        Self {
            address: check_address(result.kind, &result.config_address),
            status: result.status.as_str(),
            instances,
        }
    }
}

fn check_address(kind: CheckKind, text: &str) -> CheckAddress {
    let to_display = text.to_string();
    let kind_name = match kind {
        CheckKind::Resource => "resource",
        CheckKind::Output => "output_value",
        CheckKind::Check => "check",
        CheckKind::Variable => "var",
    };
    if kind == CheckKind::Resource
        && let Ok(address) = text.parse::<ResourceAddress>()
    {
        return CheckAddress {
            kind: kind_name,
            mode: Some(mode_name(address.mode)),
            module: (!address.module.is_root()).then(|| address.module.to_string()),
            name: address.name.to_string(),
            to_display,
            type_name: Some(address.type_name.to_string()),
        };
    }
    let (module, name) = split_name(text);
    CheckAddress {
        kind: kind_name,
        module: module.map(Into::into),
        name: name.into(),
        to_display,
        ..CheckAddress::default()
    }
}

/// Splits `module.m["a.b"].output.o` into the module and the name.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let Some((rest, name)) = text.rsplit_once('.') else {
        return (None, text);
    };
    (rest.rsplit_once('.').map(|(module, _)| module), name)
}

impl<'a> CheckInstance<'a> {
    fn new(kind: CheckKind, object: &'a CheckObject) -> Self {
        let to_display = object.address.to_string();
        let address = match object.address.parse::<ResourceInstanceAddress>() {
            Ok(address) if kind == CheckKind::Resource => InstanceAddress {
                instance_key: match &address.key {
                    InstanceKey::None => None,
                    InstanceKey::Int(index) => Some((*index).into()),
                    InstanceKey::String(key) => Some(key.as_str().into()),
                },
                module: (!address.module().is_root()).then(|| address.module().to_string()),
                to_display,
            },
            _ => {
                let module = split_name(&object.address).0.map(Into::into);
                InstanceAddress { instance_key: None, module, to_display }
            }
        };
        let problems = object.failure_messages.iter().map(|message| Problem { message }).collect();
        Self { address, status: object.status.as_str(), problems }
    }
}
