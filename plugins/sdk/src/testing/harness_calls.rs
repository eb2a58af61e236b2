//! The calls of the harness for lists, actions and ephemeral resources.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::config::Config;
use super::harness::{
    HarnessError, ProviderHarness, config_bytes, decode, deferred_reason, diagnostics, passed, validation,
};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::{DeferredReason, Diagnostics, Object};

/// Number of listed objects that one call returns, as in a host.
const BATCH: u32 = 32;

/// An object in the results of a list resource.
///
/// ```
/// use wardian_sdk::testing::Listed;
///
/// fn names(found: &[Listed]) -> Vec<&str> {
///     found.iter().map(|one| one.display_name.as_str()).collect()
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The identity of the object.
    pub identity: Object,
    /// The object's name for users.
    pub display_name: String,
    /// The object, if it was requested.
    pub object: Option<Object>,
}

/// The result of an action.
///
/// ```
/// # use wardian_sdk::{Action, ActionSteps, Attribute, Context, Provider, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, json};
/// # #[derive(serde::Deserialize)] struct Config { server: String }
/// # struct Restart;
/// # impl Action for Restart {
/// #     type Config = Config;
/// #     fn schema(&self) -> Schema { Schema::new().attribute(Attribute::string("server").required()) }
/// #     fn invoke(&self, config: Config, _: &mut Context<'_>) -> Result<ActionSteps> {
/// #         Ok(Box::new(std::iter::once(Ok(format!("restarted {}", config.server)))))
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").action("cloud_restart", Restart));
/// let run = harness.invoke_action("cloud_restart", json!({ "server": "web" }))?;
/// assert_eq!(run.progress, ["restarted web"]);
/// assert!(run.diagnostics.is_empty());
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ActionRun {
    /// The progress messages.
    pub progress: Vec<String>,
    /// The errors and warnings with which the action ended.
    pub diagnostics: Diagnostics,
}

/// An open ephemeral resource. The test closes it with [`OpenEphemeral::close`].
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use wardian_sdk::{Context, EphemeralResource, Opened, Provider, Result, Schema};
/// # use wardian_sdk::testing::{ProviderHarness, json};
/// # #[derive(Serialize, Deserialize, Schema)] struct Token { #[attr(computed)] value: Option<String> }
/// # struct Tokens;
/// # impl EphemeralResource for Tokens {
/// #     type State = Token;
/// #     fn schema(&self) -> Schema { Schema::for_type::<Token>() }
/// #     fn open(&self, _: Token, _: &mut Context<'_>) -> Result<Opened<Token>> {
/// #         Ok(Opened::new(Token { value: Some("secret".to_owned()) }))
/// #     }
/// # }
/// # let harness = ProviderHarness::new(Provider::new("cloud").ephemeral_resource("cloud_token", Tokens));
/// let token = harness.ephemeral("cloud_token", json!({}))?;
/// assert_eq!(token.object().get::<String>("value").unwrap(), "secret");
/// assert_eq!(token.renew_at(), None);
/// token.close()?;
/// # Ok::<(), wardian_sdk::testing::HarnessError>(())
/// ```
pub struct OpenEphemeral<'a> {
    harness: &'a ProviderHarness,
    type_name: String,
    object: Object,
    private: Vec<u8>,
    renew_at: Option<SystemTime>,
    /// Warnings of the call that opened the resource.
    pub warnings: Diagnostics,
    /// Set if opening is deferred to a later run.
    pub deferred: Option<DeferredReason>,
}

impl ProviderHarness {
    /// Validates a list block, and returns all objects up to the limit.
    ///
    /// ```
    /// use wardian_sdk::Provider;
    /// use wardian_sdk::testing::{ProviderHarness, json};
    ///
    /// let harness = ProviderHarness::new(Provider::new("cloud"));
    /// let failed = harness.list("cloud_server", json!({}), true, Some(10)).unwrap_err();
    /// failed.assert_at("", "Unknown list resource");
    /// ```
    pub fn list(
        &self,
        type_name: &str,
        config: impl Into<Config>,
        include_objects: bool,
        limit: Option<u64>,
    ) -> Result<Vec<Listed>, HarnessError> {
        let list = self.service.parts.list_resources.get(type_name);
        let list = list.ok_or_else(|| Diagnostics::error("Unknown list resource", type_name))?;
        let resource = self.resource(type_name)?;
        let identity = resource.part.identity();
        let identity = identity.ok_or_else(|| Diagnostics::error("No identity", type_name))?.ty();
        let (config, _) = config_bytes(list, &config.into())?;
        let include = wardian_value::Value::bool(include_objects);
        let number = limit.map_or_else(
            || wardian_value::Value::null(wardian_value::Type::Number),
            |limit| wardian_value::Value::number(wardian_value::Number::from(limit)),
        );
        passed(self.service.validate_list(&protocol::ValidateListResourceConfigRequest {
            type_name: type_name.to_owned(),
            config: config.clone(),
            include_resource_object: super::harness::encode(&include, &wardian_value::Type::Bool)?,
            limit: super::harness::encode(&number, &wardian_value::Type::Number)?,
        }))?;
        let mut cursor = self.service.list(&protocol::ListResourceRequest {
            type_name: type_name.to_owned(),
            config,
            include_resource_object: include_objects,
            limit,
        });
        let mut listed = Vec::new();
        loop {
            let batch = cursor.next(BATCH);
            if batch.is_empty() {
                return Ok(listed);
            }
            for event in batch {
                passed(event.diagnostics)?;
                let identity_bytes = event.identity.unwrap_or_default();
                let object = event.resource_object.map(|bytes| {
                    decode(&bytes, resource.ty()).map(|value| Object::new(value, resource.ty().clone()))
                });
                listed.push(Listed {
                    identity: Object::new(decode(&identity_bytes, &identity)?, identity.clone()),
                    display_name: event.display_name,
                    object: object.transpose()?,
                });
            }
        }
    }

    /// Validates, plans and executes an action. The errors of the action are in the result.
    ///
    /// ```
    /// use wardian_sdk::Provider;
    /// use wardian_sdk::testing::{ProviderHarness, json};
    ///
    /// let harness = ProviderHarness::new(Provider::new("cloud"));
    /// harness.invoke_action("cloud_restart", json!({})).unwrap_err().assert_at("", "Unknown action");
    /// ```
    pub fn invoke_action(
        &self,
        action_type: &str,
        config: impl Into<Config>,
    ) -> Result<ActionRun, HarnessError> {
        let action = self.service.parts.actions.get(action_type);
        let action = action.ok_or_else(|| Diagnostics::error("Unknown action", action_type))?;
        let (config, _) = config_bytes(action, &config.into())?;
        passed(self.service.validate_action(&validation(action_type, config.clone())))?;
        let request = protocol::ActionRequest {
            action_type: action_type.to_owned(),
            config,
            client_capabilities: self.capabilities,
        };
        let mut reported = passed(self.service.plan_action(&request).diagnostics)?;
        let mut progress = Vec::new();
        for step in self.service.invoke_action(&request) {
            match step {
                Ok(text) => progress.push(text),
                Err(errors) => {
                    reported.append(errors);
                    break;
                }
            }
        }
        Ok(ActionRun { progress, diagnostics: reported })
    }

    /// Validates, opens and closes an ephemeral resource, and returns its value.
    pub fn open_ephemeral(&self, type_name: &str, config: impl Into<Config>) -> Result<Object, HarnessError> {
        let opened = self.ephemeral(type_name, config)?;
        let object = opened.object.clone();
        opened.close()?;
        Ok(object)
    }

    /// Validates and opens an ephemeral resource, which the test can renew.
    ///
    /// ```
    /// use wardian_sdk::Provider;
    /// use wardian_sdk::testing::{ProviderHarness, json};
    ///
    /// let harness = ProviderHarness::new(Provider::new("cloud"));
    /// assert!(harness.ephemeral("cloud_token", json!({})).is_err());
    /// ```
    pub fn ephemeral(
        &self,
        type_name: &str,
        config: impl Into<Config>,
    ) -> Result<OpenEphemeral<'_>, HarnessError> {
        let resource = self.service.parts.ephemeral_resources.get(type_name);
        let resource = resource.ok_or_else(|| Diagnostics::error("Unknown ephemeral resource", type_name))?;
        let (config, _) = config_bytes(resource, &config.into())?;
        passed(self.service.validate_ephemeral(&validation(type_name, config.clone())))?;
        let response = self.service.open_ephemeral(&protocol::OpenEphemeralResourceRequest {
            type_name: type_name.to_owned(),
            config,
            client_capabilities: self.capabilities,
        });
        let reported = diagnostics(response.diagnostics);
        if reported.has_errors() {
            return Err(reported.into());
        }
        Ok(OpenEphemeral {
            harness: self,
            type_name: type_name.to_owned(),
            object: Object::new(decode(&response.result, resource.ty())?, resource.ty().clone()),
            private: response.private,
            renew_at: response.renew_at.map(time),
            warnings: reported,
            deferred: response.deferred.map(deferred_reason),
        })
    }
}

impl OpenEphemeral<'_> {
    /// Returns the configuration and the result.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the time at which the resource must be renewed.
    pub fn renew_at(&self) -> Option<SystemTime> {
        self.renew_at
    }

    /// Returns the private data.
    pub fn private(&self) -> &[u8] {
        &self.private
    }

    /// Renews the resource, and returns the warnings.
    pub fn renew(&mut self) -> Result<Diagnostics, HarnessError> {
        let response = self.harness.service.renew_ephemeral(&self.type_name, self.private.clone());
        let warnings = passed(response.diagnostics)?;
        self.private = response.private;
        self.renew_at = response.renew_at.map(time);
        Ok(warnings)
    }

    /// Closes the resource, and returns the warnings.
    pub fn close(self) -> Result<Diagnostics, HarnessError> {
        passed(self.harness.service.close_ephemeral(&self.type_name, self.private))
    }
}

fn time(at: types::Timestamp) -> SystemTime {
    let nanoseconds = Duration::from_nanos(at.nanoseconds.into());
    let seconds = Duration::from_secs(at.seconds.unsigned_abs());
    let whole =
        if at.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
    whole.and_then(|whole| whole.checked_add(nanoseconds)).unwrap_or(UNIX_EPOCH)
}
