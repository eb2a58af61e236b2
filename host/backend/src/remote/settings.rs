//! The arguments of the backend `remote` and of the block `cloud`.

use std::sync::Arc;
use std::time::Duration;

use wardian_network::TlsRoots;
use wardian_plugin::{AttributeType, Block, BlockNesting};
use wardian_value::{Type, Value, View};

use super::REMOTE;
use crate::backend::BackendError;
use crate::config::Settings;
use crate::host::ServiceHosts;
use crate::schema::{block, text, with_block};
use crate::service::{RetryRule, Service};

pub(super) const CLOUD_BLOCK: &str = "block \"cloud\"";
const REMOTE_BLOCK: &str = "backend \"remote\"";
const DEFAULT_HOST: &str = "app.terraform.io";

/// How workspaces of this configuration are found in the organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// One workspace.
    Name(String),
    /// All workspaces whose names start with this text.
    Prefix(String),
    /// All workspaces with these tags.
    Tags {
        names: Vec<String>,
        /// Keys and values.
        pairs: Vec<(String, String)>,
    },
}

/// The settings of a backend. `Debug` output contains no secrets.
pub(super) struct EnterpriseSettings {
    /// The block, for messages.
    pub(super) block: &'static str,
    pub(super) host: String,
    pub(super) organization: String,
    pub(super) token: Option<String>,
    pub(super) mapping: Mapping,
    /// The project in which workspaces are created.
    pub(super) project: Option<String>,
    pub(super) terraform_version: String,
    pub(super) service: Service,
    pub(super) hosts: Arc<dyn ServiceHosts>,
}

impl std::fmt::Debug for EnterpriseSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EnterpriseSettings")
            .field("host", &self.host)
            .field("organization", &self.organization)
            .field("mapping", &self.mapping)
            .finish_non_exhaustive()
    }
}

pub(super) fn remote_schema() -> Block {
    let own = block([("hostname", text()), ("organization", text()), ("token", text())]);
    with_block(own, "workspaces", block([("name", text()), ("prefix", text())]), BlockNesting::Single)
}

pub(super) fn cloud_schema() -> Block {
    let own = block([("hostname", text()), ("organization", text()), ("token", text())]);
    let workspaces = block([
        ("name", text()),
        ("project", text()),
        // A list of names, or a map of keys and values.
        ("tags", AttributeType::Value(Type::Dynamic)),
    ]);
    with_block(own, "workspaces", workspaces, BlockNesting::Single)
}

fn workspaces_text(settings: Settings<'_>, name: &str) -> Option<String> {
    let value = settings.config.get("workspaces")?.get(name)?.as_str()?;
    Some(value.to_owned()).filter(|text| !text.is_empty())
}

fn invalid_workspaces(detail: String) -> BackendError {
    BackendError::new("Invalid workspaces configuration", detail)
}

impl EnterpriseSettings {
    /// Returns the settings of the backend `remote`.
    pub(super) fn for_remote(settings: Settings<'_>) -> Result<Self, BackendError> {
        let organization = settings
            .text("organization", &[])
            .ok_or_else(|| BackendError::missing("organization", REMOTE, &[]))?;
        let mapping = match (workspaces_text(settings, "name"), workspaces_text(settings, "prefix")) {
            (Some(name), None) => Mapping::Name(name),
            (None, Some(prefix)) => Mapping::Prefix(prefix),
            (None, None) => {
                let detail = "Either \"name\" or \"prefix\" must be set in the block \"workspaces\".";
                return Err(invalid_workspaces(detail.to_owned()));
            }
            (Some(_), Some(_)) => {
                let detail = "Only one of \"name\" and \"prefix\" can be set in the block \"workspaces\".";
                return Err(invalid_workspaces(detail.to_owned()));
            }
        };
        let host = settings.text("hostname", &[]).unwrap_or_else(|| DEFAULT_HOST.to_owned());
        Self::new(settings, REMOTE_BLOCK, host, organization, mapping, None)
    }

    /// Returns the settings of the block `cloud`.
    pub(super) fn for_cloud(settings: Settings<'_>) -> Result<Self, BackendError> {
        let organization = settings.text("organization", &["TF_CLOUD_ORGANIZATION"]).ok_or_else(|| {
            BackendError::for_argument(
                "organization",
                "Missing required argument",
                "The cloud block requires the argument \"organization\", or the environment variable \
                     TF_CLOUD_ORGANIZATION.",
            )
        })?;
        let selected = settings.host.variable("TF_WORKSPACE");
        let tags = settings.config.get("workspaces").and_then(|workspaces| workspaces.get("tags"));
        let tags = tags.filter(|tags| !tags.is_null()).map(tags_mapping).transpose()?;
        let mapping = match (workspaces_text(settings, "name"), tags, selected) {
            (Some(_), Some(_), _) => {
                let detail = "Only one of \"name\" and \"tags\" can be set in the block \"workspaces\".";
                return Err(invalid_workspaces(detail.to_owned()));
            }
            (Some(name), None, Some(selected)) if name != selected => {
                return Err(invalid_workspaces(format!(
                    "The \"name\" in the block \"workspaces\" is \"{name}\", but the environment variable TF_WORKSPACE is \
                     \"{selected}\". Unset the variable, or omit the name."
                )));
            }
            (Some(name), None, _) | (None, None, Some(name)) => Mapping::Name(name),
            (None, Some(tags), _) => tags,
            (None, None, None) => {
                let detail = "Either \"name\" or \"tags\" must be set in the block \"workspaces\", or the name in the \
                              environment variable TF_WORKSPACE.";
                return Err(invalid_workspaces(detail.to_owned()));
            }
        };
        let host =
            settings.text("hostname", &["TF_CLOUD_HOSTNAME"]).unwrap_or_else(|| DEFAULT_HOST.to_owned());
        let project =
            workspaces_text(settings, "project").or_else(|| settings.host.variable("TF_CLOUD_PROJECT"));
        Self::new(settings, CLOUD_BLOCK, host, organization, mapping, project)
    }

    fn new(
        settings: Settings<'_>,
        block: &'static str,
        host: String,
        organization: String,
        mapping: Mapping,
        project: Option<String>,
    ) -> Result<Self, BackendError> {
        let retry = RetryRule {
            retries: 5,
            min_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(5),
        };
        let client = settings.host.http.client(TlsRoots::from_system())?;
        Ok(Self {
            block,
            host,
            organization,
            token: settings.text("token", &[]),
            mapping,
            project,
            terraform_version: settings.host.terraform_version.clone(),
            service: Service::new(client, settings.host.http.response_timeout, retry),
            hosts: Arc::clone(&settings.host.services),
        })
    }
}

fn tags_mapping(tags: &Value) -> Result<Mapping, BackendError> {
    let invalid = || {
        invalid_workspaces(
            "The argument \"tags\" in the block \"workspaces\" must be a set of strings or a map of strings."
                .to_owned(),
        )
    };
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(invalid);
    let mapping = match tags.view() {
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            let names = elements.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            Mapping::Tags { names, pairs: Vec::new() }
        }
        View::Object(members) | View::Map(members) => {
            let pairs = members.iter().map(|(key, value)| Ok((key.to_string(), text(value)?)));
            Mapping::Tags { names: Vec::new(), pairs: pairs.collect::<Result<Vec<_>, BackendError>>()? }
        }
        _ => return Err(invalid()),
    };
    if matches!(&mapping, Mapping::Tags { names, pairs } if names.is_empty() && pairs.is_empty()) {
        return Err(invalid_workspaces("The argument \"tags\" must contain a tag.".to_owned()));
    }
    Ok(mapping)
}
