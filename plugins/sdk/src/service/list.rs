//! Handles requests for lists of objects.

use wardian_value::Type;

use super::{Service, bytes, checked, diagnostics_record, find, object};
use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::list::{AnyListResults, ListRequest, ListResult, ListTypes};
use crate::{Diagnostics, Result};

/// A list request in progress. The host fetches its results in batches.
pub(crate) struct ListCursor {
    found: AnyListResults,
    left: Option<u64>,
    identity: Type,
    object: Type,
}

impl Service {
    pub(crate) fn validate_list(
        &self,
        request: &protocol::ValidateListResourceConfigRequest,
    ) -> Vec<types::Diagnostic> {
        let capabilities =
            types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: false };
        let found = find(&self.parts.list_resources, &request.type_name, "list resource");
        diagnostics_record(match found {
            Ok(list) => checked(list, &request.config, capabilities, |config| list.part.validate(config)),
            Err(errors) => errors,
        })
    }

    pub(crate) fn list(&self, request: &protocol::ListResourceRequest) -> ListCursor {
        self.listed(request).unwrap_or_else(|errors| ListCursor {
            found: Box::new(std::iter::once(Err(errors))),
            left: None,
            identity: Type::Dynamic,
            object: Type::Dynamic,
        })
    }

    fn listed(&self, request: &protocol::ListResourceRequest) -> Result<ListCursor> {
        let list = find(&self.parts.list_resources, &request.type_name, "list resource")?;
        let resource = find(&self.parts.resources, &request.type_name, "resource")?;
        let identity = resource.part.identity().ok_or_else(|| {
            Diagnostics::error("No identity", "Objects of a resource without an identity cannot be listed.")
        })?;
        let (identity, object_type) = (identity.ty(), resource.ty().clone());
        let mut call = self.call(list.ty())?;
        call.config = object(&request.config, list.ty(), "configuration")?;
        let Some(config) = call.config.clone() else {
            return Err(Diagnostics::error("Unable to read the configuration", "It is null."));
        };
        let asked = ListRequest {
            config: config.into_value(),
            include_objects: request.include_resource_object,
            limit: request.limit,
        };
        let types = ListTypes { identity: identity.clone(), object: object_type.clone() };
        let found = list.part.list(asked, types, &mut call)?;
        Ok(ListCursor { found, left: request.limit, identity, object: object_type })
    }
}

impl ListCursor {
    /// Returns at most `most` of the remaining objects.
    pub(crate) fn next(&mut self, most: u32) -> Vec<protocol::ListEvent> {
        let mut events = Vec::new();
        while events.len() < most as usize && self.left != Some(0) {
            let Some(item) = self.found.next() else { break };
            self.left = self.left.map(|left| left - 1);
            events.push(item.and_then(|item| self.event(item)).unwrap_or_else(|errors| {
                protocol::ListEvent {
                    identity: None,
                    display_name: String::new(),
                    resource_object: None,
                    diagnostics: diagnostics_record(errors),
                }
            }));
        }
        events
    }

    fn event(
        &self,
        item: ListResult<wardian_value::Value, wardian_value::Value>,
    ) -> Result<protocol::ListEvent> {
        Ok(protocol::ListEvent {
            identity: Some(bytes(&item.identity, &self.identity)?),
            display_name: item.display_name,
            resource_object: item.object.map(|object| bytes(&object, &self.object)).transpose()?,
            diagnostics: Vec::new(),
        })
    }
}
