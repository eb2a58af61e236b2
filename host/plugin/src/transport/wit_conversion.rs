//! Converts between the records of the WIT interface and the types of the plugin protocol.
//!
//! Each transport of components has its own generated types for the same records: wasmtime generates those
//! of the sandbox, and wit-bindgen those of the SDK. [`wit_conversions!`](crate::wit_conversions) defines the
//! conversions for one set of them, so requests are encoded and responses are decoded by the same code. The
//! functions neither call a plugin nor perform I/O.

/// Defines the conversions for a set of generated types, as functions of the module that calls the macro.
///
/// `types` and `provider` are the modules of the interfaces `types` and `provider`, and `diagnostics` is the
/// function that converts a plugin's diagnostics. It decides how many of them are retained.
#[macro_export]
macro_rules! wit_conversions {
    (
        types: $($types:ident)::+,
        provider: $($provider:ident)::+,
        diagnostics: $diagnostics:ident $(,)?
    ) => {
        use $($provider)::+ as records;
        use $($types)::+ as record_types;

        /// Converts a severity.
        pub(crate) fn severity(severity: record_types::Severity) -> $crate::Severity {
            match severity {
                record_types::Severity::Error => $crate::Severity::Error,
                record_types::Severity::Warning => $crate::Severity::Warning,
            }
        }

        /// Converts a path up to the first step that is invalid.
        pub(crate) fn path(steps: Vec<record_types::PathStep>) -> ::wardian_value::Path {
            use ::wardian_value::PathStep;
            let steps: Vec<PathStep> = steps
                .into_iter()
                .map_while(|step| match step {
                    record_types::PathStep::AttributeName(name) => Some(PathStep::Attribute(name.into())),
                    record_types::PathStep::ElementKeyString(key) => Some(PathStep::Key(key.into())),
                    record_types::PathStep::ElementKeyInt(index) => {
                        u64::try_from(index).ok().map(PathStep::Index)
                    }
                })
                .collect();
            ::wardian_value::Path::from(steps)
        }

        fn deferred(reason: Option<record_types::DeferredReason>) -> Option<$crate::DeferredReason> {
            use $crate::DeferredReason;
            reason.map(|reason| match reason {
                record_types::DeferredReason::Unknown => DeferredReason::Unknown,
                record_types::DeferredReason::ResourceConfigUnknown => DeferredReason::ResourceConfigUnknown,
                record_types::DeferredReason::ProviderConfigUnknown => DeferredReason::ProviderConfigUnknown,
                record_types::DeferredReason::AbsentPrerequisite => DeferredReason::AbsentPrerequisite,
            })
        }

        pub(crate) fn capabilities(capabilities: $crate::ClientCapabilities) -> record_types::ClientCapabilities {
            record_types::ClientCapabilities {
                deferral_allowed: capabilities.deferral_allowed,
                write_only_attributes_allowed: capabilities.write_only_attributes_allowed,
            }
        }

        fn raw_state(raw: &$crate::RawState) -> record_types::RawState {
            match raw {
                $crate::RawState::Json(json) => record_types::RawState::Json(json.as_bytes().to_vec()),
                $crate::RawState::Flatmap(flatmap) => record_types::RawState::Flatmap(
                    flatmap.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
                ),
            }
        }

        /// Converts the time at which to renew an ephemeral resource.
        fn renew_at(
            at: Option<record_types::Timestamp>,
        ) -> Result<Option<::std::time::SystemTime>, $crate::transport::PluginFailure> {
            at.map(|at| $crate::transport::decode_timestamp(at.seconds, at.nanoseconds.into())).transpose()
        }

        /// Encodes the module's metadata for the provider; empty if the provider has no schema for metadata.
        fn meta(
            schema: &$crate::transport::DecodedSchema,
            meta: Option<&::wardian_value::Value>,
        ) -> Result<Vec<u8>, $crate::transport::PluginFailure> {
            let ty = schema.provider_meta();
            let encoded = $crate::transport::encode_optional("the provider's metadata", meta, ty)?;
            Ok(encoded.unwrap_or_default())
        }

        pub(crate) fn configure_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ConfigureRequest,
        ) -> Result<records::ConfigureProviderRequest, $crate::transport::PluginFailure> {
            let ty = schema.provider();
            Ok(records::ConfigureProviderRequest {
                terraform_version: request.terraform_version.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn validate_request(
            schema: &$crate::transport::DecodedSchema,
            kind: $crate::ConfigKind,
            request: &$crate::ValidateConfigRequest,
        ) -> Result<records::ValidateConfigRequest, $crate::transport::PluginFailure> {
            let ty = schema.config(kind, &request.type_name)?;
            Ok(records::ValidateConfigRequest {
                type_name: request.type_name.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn function_error(error: records::FunctionError) -> $crate::FunctionError {
            $crate::FunctionError {
                text: $crate::printable(&error.text),
                argument: error.function_argument.and_then(|index| usize::try_from(index).ok()),
            }
        }

        pub(crate) fn upgrade_state_request(
            request: &$crate::UpgradeStateRequest,
        ) -> records::UpgradeResourceStateRequest {
            records::UpgradeResourceStateRequest {
                type_name: request.type_name.as_str().to_owned(),
                version: request.version,
                raw_state: raw_state(&request.raw),
            }
        }

        pub(crate) fn upgraded_state(
            call: &$crate::PluginCall,
            ty: &::wardian_value::Type,
            answer: records::UpgradeResourceStateResponse,
        ) -> $crate::UpgradeStateResponse {
            let mut reported = $diagnostics(answer.diagnostics);
            let upgraded = $crate::transport::decode_result(
                "the upgraded state",
                &answer.upgraded_state,
                ty,
                &reported,
            );
            let upgraded = $crate::transport::decode_field(call, &mut reported, upgraded);
            $crate::UpgradeStateResponse { upgraded, diagnostics: reported }
        }

        pub(crate) fn upgrade_identity_request(
            request: &$crate::UpgradeStateRequest,
        ) -> records::UpgradeResourceIdentityRequest {
            records::UpgradeResourceIdentityRequest {
                type_name: request.type_name.as_str().to_owned(),
                version: request.version,
                raw_identity: raw_state(&request.raw),
            }
        }

        pub(crate) fn upgraded_identity(
            call: &$crate::PluginCall,
            ty: &::wardian_value::Type,
            answer: records::UpgradeResourceIdentityResponse,
        ) -> $crate::UpgradeStateResponse {
            let mut reported = $diagnostics(answer.diagnostics);
            let upgraded = $crate::transport::decode_result(
                "the upgraded identity",
                &answer.upgraded_identity,
                ty,
                &reported,
            );
            let upgraded = $crate::transport::decode_field(call, &mut reported, upgraded);
            $crate::UpgradeStateResponse { upgraded, diagnostics: reported }
        }

        pub(crate) fn read_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ReadResourceRequest,
        ) -> Result<records::ReadResourceRequest, $crate::transport::PluginFailure> {
            use $crate::transport::{encode_optional, encode_value};
            let ty = schema.resource(&request.type_name)?;
            let identity = schema.identity(&request.type_name);
            Ok(records::ReadResourceRequest {
                type_name: request.type_name.as_str().to_owned(),
                current_state: encode_value("the state", &request.current_state, ty)?,
                private: request.private.to_vec(),
                provider_meta: meta(schema, request.provider_meta.as_ref())?,
                client_capabilities: capabilities(request.capabilities),
                current_identity: encode_optional(
                    "the identity",
                    request.current_identity.as_ref(),
                    identity,
                )?,
            })
        }

        pub(crate) fn read_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            answer: records::ReadResourceResponse,
        ) -> Result<$crate::ReadResourceResponse, $crate::transport::PluginFailure> {
            use $crate::transport::{decode_field, decode_optional, decode_result};
            let ty = schema.resource(type_name)?;
            let mut reported = $diagnostics(answer.diagnostics);
            let new_state = decode_result("the new state", &answer.new_state, ty, &reported);
            let new_state = decode_field(call, &mut reported, new_state);
            let identity = schema.identity(type_name);
            let new_identity = decode_optional("the new identity", answer.new_identity.as_deref(), identity);
            let new_identity = decode_field(call, &mut reported, new_identity);
            Ok($crate::ReadResourceResponse {
                new_state,
                private: answer.private.into(),
                new_identity,
                deferred: deferred(answer.deferred),
                diagnostics: reported,
            })
        }

        pub(crate) fn plan_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::PlanRequest,
        ) -> Result<records::PlanResourceChangeRequest, $crate::transport::PluginFailure> {
            use $crate::transport::{encode_optional, encode_value};
            let ty = schema.resource(&request.type_name)?;
            let identity = schema.identity(&request.type_name);
            Ok(records::PlanResourceChangeRequest {
                type_name: request.type_name.as_str().to_owned(),
                prior_state: encode_value("the prior state", &request.prior_state, ty)?,
                proposed_new_state: encode_value("the proposed state", &request.proposed_new_state, ty)?,
                config: encode_value("the configuration", &request.config, ty)?,
                prior_private: request.prior_private.to_vec(),
                provider_meta: meta(schema, request.provider_meta.as_ref())?,
                client_capabilities: capabilities(request.capabilities),
                prior_identity: encode_optional(
                    "the prior identity",
                    request.prior_identity.as_ref(),
                    identity,
                )?,
            })
        }

        pub(crate) fn plan_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            answer: records::PlanResourceChangeResponse,
        ) -> Result<$crate::PlanResponse, $crate::transport::PluginFailure> {
            use $crate::transport::{decode_field, decode_optional, decode_result};
            let ty = schema.resource(type_name)?;
            let mut reported = $diagnostics(answer.diagnostics);
            let planned_state = decode_result("the planned state", &answer.planned_state, ty, &reported);
            let planned_state = decode_field(call, &mut reported, planned_state);
            let planned_identity = decode_optional(
                "the planned identity",
                answer.planned_identity.as_deref(),
                schema.identity(type_name),
            );
            let planned_identity = decode_field(call, &mut reported, planned_identity);
            Ok($crate::PlanResponse {
                planned_state,
                requires_replace: answer.requires_replace.into_iter().map(path).collect(),
                planned_private: answer.planned_private.into(),
                legacy_type_system: answer.legacy_type_system,
                deferred: deferred(answer.deferred),
                planned_identity,
                diagnostics: reported,
            })
        }

        pub(crate) fn apply_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ApplyRequest,
        ) -> Result<records::ApplyResourceChangeRequest, $crate::transport::PluginFailure> {
            use $crate::transport::{encode_optional, encode_value};
            let ty = schema.resource(&request.type_name)?;
            let identity = schema.identity(&request.type_name);
            Ok(records::ApplyResourceChangeRequest {
                type_name: request.type_name.as_str().to_owned(),
                prior_state: encode_value("the prior state", &request.prior_state, ty)?,
                planned_state: encode_value("the planned state", &request.planned_state, ty)?,
                config: encode_value("the configuration", &request.config, ty)?,
                planned_private: request.planned_private.to_vec(),
                provider_meta: meta(schema, request.provider_meta.as_ref())?,
                planned_identity: encode_optional(
                    "the planned identity",
                    request.planned_identity.as_ref(),
                    identity,
                )?,
            })
        }

        pub(crate) fn apply_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            answer: records::ApplyResourceChangeResponse,
        ) -> Result<$crate::ApplyResponse, $crate::transport::PluginFailure> {
            use $crate::transport::{decode_field, decode_optional, decode_result};
            let ty = schema.resource(type_name)?;
            let mut reported = $diagnostics(answer.diagnostics);
            let new_state = decode_result("the new state", &answer.new_state, ty, &reported);
            let new_state = decode_field(call, &mut reported, new_state);
            let identity = schema.identity(type_name);
            let new_identity = decode_optional("the new identity", answer.new_identity.as_deref(), identity);
            let new_identity = decode_field(call, &mut reported, new_identity);
            Ok($crate::ApplyResponse {
                new_state,
                private: answer.private.into(),
                legacy_type_system: answer.legacy_type_system,
                new_identity,
                diagnostics: reported,
            })
        }

        pub(crate) fn import_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ImportRequest,
        ) -> Result<records::ImportResourceStateRequest, $crate::transport::PluginFailure> {
            schema.resource(&request.type_name)?;
            let target = match &request.target {
                $crate::ImportTarget::Id(id) => records::ImportTarget::Id(id.clone()),
                $crate::ImportTarget::Identity(identity) => {
                    let ty = schema.required_identity(&request.type_name)?;
                    let encoded = $crate::transport::encode_value("the identity", identity, ty)?;
                    records::ImportTarget::Identity(encoded)
                }
            };
            Ok(records::ImportResourceStateRequest {
                type_name: request.type_name.as_str().to_owned(),
                target,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn import_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            answer: records::ImportResourceStateResponse,
        ) -> $crate::ImportResponse {
            let mut reported = $diagnostics(answer.diagnostics);
            let imported = answer
                .imported_resources
                .into_iter()
                .filter_map(|one| {
                    let decoded = imported(schema, one).map(Some);
                    $crate::transport::decode_field(call, &mut reported, decoded)
                })
                .collect();
            $crate::ImportResponse { imported, deferred: deferred(answer.deferred), diagnostics: reported }
        }

        fn imported(
            schema: &$crate::transport::DecodedSchema,
            one: records::ImportedResource,
        ) -> Result<$crate::ImportedResource, $crate::transport::PluginFailure> {
            let type_name = ::wardian_value::Str::from(one.type_name);
            // The plugin chooses the resource type in this response.
            let ty = schema.resource(&type_name).map_err(|_| {
                $crate::transport::PluginFailure::InvalidResponse(format!(
                    "it returned a resource of type {:?}, which its schema does not contain",
                    $crate::printable(&type_name)
                ))
            })?;
            let identity = schema.identity(&type_name);
            Ok($crate::ImportedResource {
                state: $crate::transport::decode_value("the imported state", &one.state, ty)?,
                private: one.private.into(),
                identity: $crate::transport::decode_optional(
                    "the imported identity",
                    one.identity.as_deref(),
                    identity,
                )?,
                type_name,
            })
        }

        pub(crate) fn move_request(request: &$crate::MoveRequest) -> records::MoveResourceStateRequest {
            let identity = request.source_identity.as_ref();
            records::MoveResourceStateRequest {
                source_provider_address: request.source_provider_address.clone(),
                source_type_name: request.source_type_name.as_str().to_owned(),
                source_schema_version: request.source_schema_version,
                source_state: raw_state(&request.source_state),
                target_type_name: request.target_type_name.as_str().to_owned(),
                source_private: request.source_private.to_vec(),
                source_identity: identity.map(|(_, identity)| raw_state(identity)),
                source_identity_schema_version: identity.map_or(0, |(version, _)| *version),
            }
        }

        pub(crate) fn move_response(
            call: &$crate::PluginCall,
            ty: &::wardian_value::Type,
            identity: Option<&::wardian_value::Type>,
            answer: records::MoveResourceStateResponse,
        ) -> $crate::MoveResponse {
            use $crate::transport::{decode_field, decode_optional, decode_result};
            let mut reported = $diagnostics(answer.diagnostics);
            let target_state = decode_result("the moved state", &answer.target_state, ty, &reported);
            let target_state = decode_field(call, &mut reported, target_state);
            let target_identity =
                decode_optional("the moved identity", answer.target_identity.as_deref(), identity);
            let target_identity = decode_field(call, &mut reported, target_identity);
            $crate::MoveResponse {
                target_state,
                target_private: answer.target_private.into(),
                target_identity,
                diagnostics: reported,
            }
        }

        pub(crate) fn generate_config_response(
            call: &$crate::PluginCall,
            ty: &::wardian_value::Type,
            answer: records::GenerateResourceConfigResponse,
        ) -> $crate::GenerateConfigResponse {
            let mut reported = $diagnostics(answer.diagnostics);
            let config = $crate::transport::decode_result("the configuration", &answer.config, ty, &reported);
            let config = $crate::transport::decode_field(call, &mut reported, config);
            $crate::GenerateConfigResponse { config, diagnostics: reported }
        }

        pub(crate) fn read_data_source_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ReadDataSourceRequest,
        ) -> Result<records::ReadDataSourceRequest, $crate::transport::PluginFailure> {
            let ty = schema.config($crate::ConfigKind::DataSource, &request.type_name)?;
            Ok(records::ReadDataSourceRequest {
                type_name: request.type_name.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                provider_meta: meta(schema, request.provider_meta.as_ref())?,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn read_data_source_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            answer: records::ReadDataSourceResponse,
        ) -> Result<$crate::ReadDataSourceResponse, $crate::transport::PluginFailure> {
            let ty = schema.config($crate::ConfigKind::DataSource, type_name)?;
            let mut reported = $diagnostics(answer.diagnostics);
            let state = $crate::transport::decode_result("what was read", &answer.state, ty, &reported);
            let state = $crate::transport::decode_field(call, &mut reported, state);
            Ok($crate::ReadDataSourceResponse {
                state,
                deferred: deferred(answer.deferred),
                diagnostics: reported,
            })
        }

        pub(crate) fn open_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::OpenEphemeralRequest,
        ) -> Result<records::OpenEphemeralResourceRequest, $crate::transport::PluginFailure> {
            let ty = schema.config($crate::ConfigKind::EphemeralResource, &request.type_name)?;
            Ok(records::OpenEphemeralResourceRequest {
                type_name: request.type_name.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn open_response(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            answer: records::OpenEphemeralResourceResponse,
        ) -> Result<$crate::OpenEphemeralResponse, $crate::transport::PluginFailure> {
            use $crate::transport::{decode_field, decode_result};
            let ty = schema.config($crate::ConfigKind::EphemeralResource, type_name)?;
            let mut reported = $diagnostics(answer.diagnostics);
            let result = decode_result("what was opened", &answer.result, ty, &reported);
            let result = decode_field(call, &mut reported, result);
            let renew_at = decode_field(call, &mut reported, renew_at(answer.renew_at));
            Ok($crate::OpenEphemeralResponse {
                result,
                renew_at,
                private: answer.private.into(),
                deferred: deferred(answer.deferred),
                diagnostics: reported,
            })
        }

        pub(crate) fn renew_response(
            call: &$crate::PluginCall,
            answer: records::RenewEphemeralResourceResponse,
        ) -> $crate::RenewEphemeralResponse {
            let mut reported = $diagnostics(answer.diagnostics);
            let renew_at =
                $crate::transport::decode_field(call, &mut reported, renew_at(answer.renew_at));
            $crate::RenewEphemeralResponse {
                renew_at,
                private: answer.private.into(),
                diagnostics: reported,
            }
        }

        pub(crate) fn validate_list_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ValidateListRequest,
        ) -> Result<records::ValidateListResourceConfigRequest, $crate::transport::PluginFailure> {
            use $crate::transport::encode_value;
            use ::wardian_value::Type;
            let ty = schema.list_resource(&request.type_name)?;
            Ok(records::ValidateListResourceConfigRequest {
                type_name: request.type_name.as_str().to_owned(),
                config: encode_value("the configuration", &request.config, ty)?,
                include_resource_object: encode_value(
                    "include_resource",
                    &request.include_resource_object,
                    &Type::Bool,
                )?,
                limit: encode_value("the limit", &request.limit, &Type::Number)?,
            })
        }

        pub(crate) fn list_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ListRequest,
        ) -> Result<records::ListResourceRequest, $crate::transport::PluginFailure> {
            let ty = schema.list_resource(&request.type_name)?;
            Ok(records::ListResourceRequest {
                type_name: request.type_name.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                include_resource_object: request.include_resource_object,
                limit: request.limit,
            })
        }

        pub(crate) fn list_event(
            call: &$crate::PluginCall,
            schema: &$crate::transport::DecodedSchema,
            type_name: &::wardian_value::Str,
            event: records::ListEvent,
        ) -> $crate::ListEvent {
            use $crate::transport::{decode_field, decode_optional};
            let mut reported = $diagnostics(event.diagnostics);
            let ty = schema.identity(type_name);
            let identity = decode_optional("the identity", event.identity.as_deref(), ty);
            let identity = decode_field(call, &mut reported, identity);
            let ty = schema.resource(type_name).ok();
            let object = decode_optional("the object", event.resource_object.as_deref(), ty);
            let resource_object = decode_field(call, &mut reported, object);
            $crate::ListEvent {
                identity,
                display_name: $crate::printable(&event.display_name),
                resource_object,
                diagnostics: reported,
            }
        }

        pub(crate) fn action_request(
            schema: &$crate::transport::DecodedSchema,
            request: &$crate::ActionRequest,
        ) -> Result<records::ActionRequest, $crate::transport::PluginFailure> {
            let ty = schema.config($crate::ConfigKind::Action, &request.action_type)?;
            Ok(records::ActionRequest {
                action_type: request.action_type.as_str().to_owned(),
                config: $crate::transport::encode_value("the configuration", &request.config, ty)?,
                client_capabilities: capabilities(request.capabilities),
            })
        }

        pub(crate) fn plan_action_response(
            answer: records::PlanActionResponse,
        ) -> $crate::PlanActionResponse {
            $crate::PlanActionResponse {
                deferred: deferred(answer.deferred),
                diagnostics: $diagnostics(answer.diagnostics),
            }
        }

        /// Interprets an event of an action: a progress message, or the diagnostics with which the action ends.
        ///
        /// # Errors
        /// Returns an error if the action ended without such an event.
        pub(crate) fn action_event(
            event: Option<records::ActionEvent>,
        ) -> Result<
            ::std::ops::ControlFlow<$crate::PluginDiagnostics, String>,
            $crate::transport::PluginFailure,
        > {
            use ::std::ops::ControlFlow;
            match event {
                Some(records::ActionEvent::Progress(text)) => {
                    Ok(ControlFlow::Continue($crate::printable(&text)))
                }
                Some(records::ActionEvent::Completed(reported)) => {
                    Ok(ControlFlow::Break($diagnostics(reported)))
                }
                None => Err($crate::transport::PluginFailure::InvalidResponse(
                    "the action ended without reporting whether it succeeded".into(),
                )),
            }
        }
    };
}
