//! Converts the records of the WIT interface to an operation, and the operation's result to
//! records. A component and a unit test use the same code.

mod action;
mod data_source;
mod ephemeral;
mod function;
mod identity;
mod list;
mod metadata;
mod resource;
mod resource_import;
mod wire;

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use wardian_value::{Type, Value};

use crate::bindings::exports::wardian::plugin::provider as protocol;
use crate::bindings::wardian::plugin::types;
use crate::check::{Allowed, check};
use crate::context::Call;
use crate::provider::{Parts, WithSchema};
use crate::{Diagnostic, Diagnostics, Object, Result, codec};

pub(crate) use list::ListCursor;
pub(crate) use wire::diagnostics_record;

/// The request path of a provider.
#[doc(hidden)]
pub struct Service {
    pub(crate) parts: Parts,
    client: RefCell<Option<Rc<dyn Any>>>,
}

impl Service {
    pub(crate) fn new(parts: Parts) -> Self {
        let client = RefCell::new(parts.client.clone());
        Self { parts, client }
    }

    /// Creates the call of an operation that needs the client.
    fn call(&self, state_type: &Type) -> Result<Call> {
        let client = self.client.borrow().clone().ok_or_else(|| {
            Diagnostics::error(
                "Provider not configured",
                format!("The provider {:?} received a request before it was configured.", self.parts.name),
            )
        })?;
        Ok(Call::new(client, state_type.clone()))
    }

    /// Creates the call of an operation that needs no configuration.
    fn call_unconfigured(&self, state_type: &Type) -> Call {
        let client = self.client.borrow().clone().unwrap_or_else(|| Rc::new(()));
        Call::new(client, state_type.clone())
    }

    /// Returns the client of a configured provider.
    pub(crate) fn configured_client(&self) -> Result<Rc<dyn Any>> {
        Ok(self.call(&Type::Dynamic)?.client)
    }

    fn meta(&self, bytes: &[u8]) -> Result<Option<Object>> {
        self.parts.meta.as_ref().map_or(Ok(None), |meta| object(bytes, meta.ty(), "provider_meta"))
    }

    /// Checks the provider's configuration.
    pub(crate) fn validate_provider_config(&self, config: &[u8]) -> Vec<types::Diagnostic> {
        let schema = &self.parts.schema;
        let validate = |config: &Object| self.parts.validate.as_ref().map_or(Ok(()), |check| check(config));
        let capabilities =
            types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };
        diagnostics_record(checked(schema, config, capabilities, validate))
    }

    /// Configures this instance.
    pub(crate) fn configure_provider(
        &self,
        request: &protocol::ConfigureProviderRequest,
    ) -> Vec<types::Diagnostic> {
        diagnostics_record(self.configured(&request.config).err().unwrap_or_default())
    }

    /// Returns the form of the configured client, if the provider hands it on.
    pub(crate) fn configured_form(&self) -> Option<Vec<u8>> {
        let client = self.client.borrow().clone()?;
        self.parts.configured_form.as_ref()?.hand_on(&*client)
    }

    /// Configures this instance with the form of another instance.
    pub(crate) fn restore_configured_form(&self, form: &[u8]) -> Vec<types::Diagnostic> {
        diagnostics_record(self.restored(form).err().unwrap_or_default())
    }

    fn restored(&self, form: &[u8]) -> Result<()> {
        let known = self.parts.configured_form.as_ref().ok_or_else(|| {
            Diagnostics::error(
                "Provider cannot be configured",
                "It received the form of a configured instance, but hands none on.",
            )
        })?;
        *self.client.borrow_mut() = Some(known.restore(form)?);
        Ok(())
    }

    /// Adds an error if the provider hands its client on, but the component does not export it.
    pub(crate) fn exported(mut self, has_configured_form: bool) -> Self {
        if self.parts.configured_form.is_some() && !has_configured_form {
            self.parts.problems.append(Diagnostics::error(
                "Configured form is not exported",
                "`Provider::configured_form` has no effect. Export the provider with \
                 `export_provider!(provider, configured_form)`.",
            ));
        }
        self
    }

    fn configured(&self, config: &[u8]) -> Result<()> {
        let ty = self.parts.schema.ty();
        let config = object(config, ty, "configuration")?.unwrap_or_else(|| Object::with_nulls(ty.clone()));
        let client = (self.parts.configure)(config)?;
        *self.client.borrow_mut() = Some(client);
        Ok(())
    }
}

/// Checks a configuration against the schema, and then with `validate`.
pub(crate) fn checked<T: ?Sized>(
    schemed: &WithSchema<T>,
    config: &[u8],
    capabilities: types::ClientCapabilities,
    validate: impl FnOnce(&Object) -> Result<()>,
) -> Diagnostics {
    let config = match object(config, schemed.ty(), "configuration") {
        Ok(Some(config)) => config,
        Ok(None) => return Diagnostics::new(),
        Err(errors) => return errors,
    };
    let allowed = Allowed { write_only: capabilities.write_only_attributes_allowed };
    let mut diagnostics = check(schemed.schema(), config.as_value(), allowed);
    diagnostics.append(validate(&config).err().unwrap_or_default());
    diagnostics
}

/// Returns the type or function with this name, or an error.
pub(crate) fn find<'a, T>(
    all: &'a std::collections::BTreeMap<String, T>,
    name: &str,
    kind: &str,
) -> Result<&'a T> {
    all.get(name).ok_or_else(|| {
        Diagnostics::error(format!("Unknown {kind}"), format!("The provider has no {kind} named {name:?}."))
    })
}

fn value(bytes: &[u8], ty: &Type, what: &str) -> Result<Value> {
    codec::decode(bytes, ty)
        .map_err(|error| Diagnostic::error(format!("Unable to read the {what}"), error).into())
}

/// Decodes a known object; `None` for null.
pub(crate) fn object(bytes: &[u8], ty: &Type, what: &str) -> Result<Option<Object>> {
    let value = value(bytes, ty, what)?;
    if value.is_null() {
        return Ok(None);
    }
    if !value.is_known() {
        return Err(Diagnostics::error(
            format!("Unable to read the {what}"),
            "The object itself is unknown.",
        ));
    }
    Ok(Some(Object::new(value, ty.clone())))
}

fn bytes(value: &Value, ty: &Type) -> Result<Vec<u8>> {
    codec::encode(value, ty)
        .map_err(|error| Diagnostics::error("Provider response does not match its schema", error))
}

fn null(ty: &Type) -> Vec<u8> {
    // A null of any type is encoded as one byte. The fallback, an empty encoding, also means null.
    codec::encode(&Value::null(ty.clone()), ty).unwrap_or_default()
}

fn deferred(call: &Call) -> Option<types::DeferredReason> {
    use crate::DeferredReason;
    call.deferred.map(|reason| match reason {
        DeferredReason::Unknown => types::DeferredReason::Unknown,
        DeferredReason::ResourceConfigUnknown => types::DeferredReason::ResourceConfigUnknown,
        DeferredReason::ProviderConfigUnknown => types::DeferredReason::ProviderConfigUnknown,
        DeferredReason::AbsentPrerequisite => types::DeferredReason::AbsentPrerequisite,
    })
}
