//! Encodes the results of conditions and the relevant attributes in a plan file.

use serde::{Deserialize, Serialize};
use wardian_state::{CheckKind, CheckObject, CheckResult, CheckStatus};
use wardian_value::Str;

use super::value::{Step, decode_path, encode_path};
use super::{PlanFileError, parse};
use crate::plan::RelevantAttribute;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CheckContents {
    kind: String,
    address: String,
    status: String,
    objects: Option<Vec<ObjectContents>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ObjectContents {
    address: String,
    status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RelevantContents {
    resource: String,
    path: Vec<Step>,
}

pub(super) fn encode_check(check: &CheckResult) -> CheckContents {
    let object = |object: &CheckObject| ObjectContents {
        address: object.address.to_string(),
        status: object.status.as_str().into(),
        messages: object.failure_messages.clone(),
    };
    CheckContents {
        kind: check.kind.as_str().into(),
        address: check.config_address.to_string(),
        status: check.status.as_str().into(),
        objects: check.objects.as_ref().map(|objects| objects.iter().map(object).collect()),
    }
}

pub(super) fn decode_check(check: CheckContents) -> Result<CheckResult, PlanFileError> {
    let status = |text: &str| parse(text, CheckStatus::parse, "status of a check");
    let object = |object: ObjectContents| {
        Ok(CheckObject {
            address: Str::new(&object.address),
            status: status(&object.status)?,
            failure_messages: object.messages,
        })
    };
    Ok(CheckResult {
        kind: parse(&check.kind, CheckKind::parse, "kind of check")?,
        config_address: Str::new(&check.address),
        status: status(&check.status)?,
        objects: check
            .objects
            .map(|objects| objects.into_iter().map(object).collect::<Result<_, PlanFileError>>())
            .transpose()?,
    })
}

pub(super) fn encode_relevant(attribute: &RelevantAttribute) -> RelevantContents {
    RelevantContents { resource: attribute.resource.to_string(), path: encode_path(&attribute.path) }
}

pub(super) fn decode_relevant(attribute: RelevantContents) -> Result<RelevantAttribute, PlanFileError> {
    Ok(RelevantAttribute {
        resource: parse(&attribute.resource, |text| text.parse().ok(), "resource instance")?,
        path: decode_path(attribute.path),
    })
}
