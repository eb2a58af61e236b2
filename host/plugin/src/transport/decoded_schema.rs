//! A provider's schema in the form that transports use.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use wardian_value::{Str, Type};

use super::failure::PluginFailure;
use crate::provider::ConfigKind;
use crate::schema::{Function, ProviderSchema, Schema};
use crate::schema_table::SchemaTable;

/// A provider's schema with the types of its identities. If a request contains a name that the
/// provider does not have, the error is reported for the caller, not for the plugin.
pub struct DecodedSchema {
    /// The schema that callers receive.
    pub schema: Arc<ProviderSchema>,
    /// State stores by type. A component returns them with a separate call.
    pub state_stores: SchemaTable,
    identity_types: BTreeMap<Str, Type>,
}

impl DecodedSchema {
    /// Creates the schema, and derives the types of identities.
    pub fn new(schema: ProviderSchema) -> Self {
        let identity_types =
            schema.identities.iter().map(|(name, schema)| (name.clone(), schema.implied_type())).collect();
        Self { schema: Arc::new(schema), state_stores: SchemaTable::default(), identity_types }
    }

    /// Adds the schemas of state stores.
    #[must_use]
    pub fn with_state_stores(self, state_stores: SchemaTable) -> Self {
        Self { state_stores, ..self }
    }

    /// Returns the type of a state store's configuration.
    ///
    /// # Errors
    /// Returns an error if the provider has no such state store.
    pub fn state_store(&self, name: &Str) -> Result<&Type, PluginFailure> {
        implied_type(&self.state_stores, name, "state store")
    }

    /// Returns the type of the provider's configuration.
    pub fn provider(&self) -> &Type {
        self.schema.provider.implied_type()
    }

    /// Returns the type of a resource's objects.
    ///
    /// # Errors
    /// Returns an error if the provider has no such resource type.
    pub fn resource(&self, name: &Str) -> Result<&Type, PluginFailure> {
        implied_type(&self.schema.resources, name, "resource type")
    }

    /// Returns the type of a configuration of this kind.
    ///
    /// # Errors
    /// Returns an error if the provider does not have this name.
    pub fn config(&self, kind: ConfigKind, name: &Str) -> Result<&Type, PluginFailure> {
        match kind {
            ConfigKind::Resource => self.resource(name),
            ConfigKind::DataSource => implied_type(&self.schema.data_sources, name, "data source"),
            ConfigKind::EphemeralResource => {
                implied_type(&self.schema.ephemeral_resources, name, "ephemeral resource type")
            }
            ConfigKind::Action => implied_type(&self.schema.actions, name, "action"),
        }
    }

    /// Returns the type of a list block's configuration.
    ///
    /// # Errors
    /// Returns an error if the provider cannot list resources of this type.
    pub fn list_resource(&self, name: &Str) -> Result<&Type, PluginFailure> {
        implied_type(&self.schema.list_resources, name, "resource type that can be listed")
    }

    /// Returns the signature of a function.
    ///
    /// # Errors
    /// Returns an error if the provider has no such function.
    pub fn function(&self, name: &Str) -> Result<&Function, PluginFailure> {
        self.schema.functions.get(name).ok_or_else(|| unknown("function", name))
    }

    /// Returns the type of a resource type's identity, if it has one.
    pub fn identity(&self, name: &Str) -> Option<&Type> {
        self.identity_types.get(name)
    }

    /// Returns the type of a resource type's identity.
    ///
    /// # Errors
    /// Returns an error if the resource type has no identity.
    pub fn required_identity(&self, name: &Str) -> Result<&Type, PluginFailure> {
        self.identity(name).ok_or_else(|| {
            PluginFailure::InvalidRequest(format!(
                "the plugin has no identity schema for {:?}",
                name.as_str()
            ))
        })
    }

    /// Returns the type of `provider_meta`, if the provider has one.
    pub fn provider_meta(&self) -> Option<&Type> {
        self.schema.provider_meta.as_ref().map(Schema::implied_type)
    }
}

impl fmt::Debug for DecodedSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schema.fmt(formatter)
    }
}

fn implied_type<'a>(schemas: &'a SchemaTable, name: &Str, kind: &str) -> Result<&'a Type, PluginFailure> {
    schemas.get(name).map(|schema| schema.implied_type()).ok_or_else(|| unknown(kind, name))
}

fn unknown(kind: &str, name: &Str) -> PluginFailure {
    PluginFailure::InvalidRequest(format!("the plugin has no {kind} {:?}", name.as_str()))
}
