//! Encodes resource changes for a plan file.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wardian_address::{
    AbsoluteResourceAddress, ProviderConfigAddress, ResourceInstanceAddress, ResourceMode,
};
use wardian_plugin::{ProviderSchema, Schema};
use wardian_value::Str;

use super::value::{
    Encoded, Step, Typed, decode_path, decode_typed, decode_value, encode_path, encode_typed, encode_value,
};
use super::{PlanFileError, action_by_name, action_name, damaged, parse, reason_by_name};
use crate::plan::{Importing, ResourceChange};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ChangeContents {
    address: String,
    previous_address: Option<String>,
    deposed: Option<String>,
    provider: String,
    action: String,
    reason: Option<String>,
    before: Typed,
    after: Typed,
    required_replace: Vec<Vec<Step>>,
    planned_private: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    importing: Option<ImportingContents>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated_config: Option<String>,
}

/// The JSON text of a change.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct EncodedChange(Box<RawValue>);

impl EncodedChange {
    pub(super) fn decode(&self) -> Result<ChangeContents, PlanFileError> {
        serde_json::from_str(self.0.get()).map_err(damaged("plan.json"))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ImportingContents {
    Id(String),
    Identity(Encoded),
    Unknown,
}

/// The provider configurations of changes, by their text. Many changes have the same provider
/// configuration.
#[derive(Debug, Default)]
pub(super) struct KnownProviders(HashMap<String, ProviderConfigAddress>);

impl KnownProviders {
    fn parse(&mut self, text: &str) -> Result<ProviderConfigAddress, PlanFileError> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let provider: ProviderConfigAddress =
            parse(text, |text| text.parse().ok(), "provider configuration")?;
        self.0.insert(text.to_owned(), provider.clone());
        Ok(provider)
    }
}

/// Returns the resource of a change and its provider.
pub(super) fn decode_provider(
    contents: &ChangeContents,
) -> Result<(AbsoluteResourceAddress, ProviderConfigAddress), PlanFileError> {
    let address: ResourceInstanceAddress = contents.address.parse().map_err(damaged("plan.json"))?;
    Ok((address.resource, contents.provider.parse().map_err(damaged("plan.json"))?))
}

pub(super) fn encode_change(change: &ResourceChange) -> Result<ChangeContents, PlanFileError> {
    Ok(ChangeContents {
        address: change.address.to_string(),
        previous_address: change.previous_address.as_ref().map(ToString::to_string),
        deposed: change.deposed.as_ref().map(ToString::to_string),
        provider: change.provider.to_string(),
        action: action_name(change.action).into(),
        reason: change.reason.map(|reason| reason.name().into()),
        before: encode_typed(&change.before, change.schema.implied_type())?,
        after: encode_typed(&change.after, change.schema.implied_type())?,
        required_replace: change.required_replace.iter().map(encode_path).collect(),
        planned_private: BASE64.encode(&change.planned_private),
        importing: change.importing.as_ref().map(encode_importing).transpose()?,
        generated_config: change.generated_config.clone(),
    })
}

pub(super) fn decode_change<'a>(
    change: ChangeContents,
    providers: &mut KnownProviders,
    schema_of: &impl Fn(&ProviderConfigAddress) -> Option<&'a Arc<ProviderSchema>>,
) -> Result<ResourceChange, PlanFileError> {
    let address: ResourceInstanceAddress =
        parse(&change.address, |text| text.parse().ok(), "resource instance")?;
    let provider = providers.parse(&change.provider)?;
    let schema: Arc<Schema> = schema_of(&provider)
        .and_then(|schema| match address.mode() {
            ResourceMode::Managed => schema.resources.get(address.type_name()),
            ResourceMode::Data => schema.data_sources.get(address.type_name()),
            ResourceMode::Ephemeral => schema.ephemeral_resources.get(address.type_name()),
        })
        .cloned()
        .ok_or_else(|| PlanFileError::NoSchema(change.address.clone()))?;
    Ok(ResourceChange {
        previous_address: change
            .previous_address
            .as_deref()
            .map(|text| parse(text, |t| t.parse().ok(), "resource instance"))
            .transpose()?,
        deposed: change.deposed.as_deref().map(Str::new),
        action: parse(&change.action, action_by_name, "action")?,
        reason: change.reason.as_deref().map(|text| parse(text, reason_by_name, "reason")).transpose()?,
        before: decode_typed(&change.before, schema.implied_type())?,
        after: decode_typed(&change.after, schema.implied_type())?,
        required_replace: change.required_replace.into_iter().map(decode_path).collect(),
        planned_private: BASE64.decode(&change.planned_private).map_err(damaged("plan.json"))?.into(),
        importing: change.importing.map(decode_importing).transpose()?,
        generated_config: change.generated_config,
        address,
        provider,
        schema,
    })
}

fn encode_importing(importing: &Importing) -> Result<ImportingContents, PlanFileError> {
    Ok(match importing {
        Importing::Id(id) => ImportingContents::Id(id.to_string()),
        Importing::Identity(identity) => ImportingContents::Identity(encode_value(identity)?),
        Importing::Unknown => ImportingContents::Unknown,
    })
}

fn decode_importing(importing: ImportingContents) -> Result<Importing, PlanFileError> {
    Ok(match importing {
        ImportingContents::Id(id) => Importing::Id(Str::new(&id)),
        ImportingContents::Identity(identity) => Importing::Identity(decode_value(&identity)?),
        ImportingContents::Unknown => Importing::Unknown,
    })
}
