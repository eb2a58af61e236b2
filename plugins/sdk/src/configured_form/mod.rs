//! Passes the client of a configured instance on to the other instances.
//!
//! The host runs a provider in several instances, each with its own memory. Without this module, each of
//! them is configured: 30 objects that are planned at the same time can cause 30 logins. A provider with
//! [`Provider::configured_form`](crate::Provider::configured_form) is configured once, and every further
//! instance restores its client from the form of the first one. Only the host holds the form, until the end
//! of the run; it is never stored, and redacted like a secret.

pub mod bindings;

use std::any::Any;
use std::marker::PhantomData;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::bindings::exports::wardian::plugin::configured_form as protocol;
use crate::bindings::wardian::plugin::types;
use crate::export::{Exported, with};
use crate::service::Service;
use crate::{Diagnostics, Result};

/// The conversions between a client and its form, with the type of the client erased.
pub(crate) struct ConfiguredForm {
    hand_on: Box<HandOn>,
    restore: Box<Restore>,
}

type HandOn = dyn Fn(&dyn Any) -> Option<Vec<u8>>;
type Restore = dyn Fn(&[u8]) -> Result<Rc<dyn Any>>;

impl ConfiguredForm {
    pub(crate) fn new<Client: 'static, Form: Serialize + DeserializeOwned>(
        hand_on: impl Fn(&Client) -> Form + 'static,
        restore: impl Fn(Form) -> Result<Client> + 'static,
    ) -> Self {
        Self {
            hand_on: Box::new(move |client| {
                serde_json::to_vec(&hand_on(client.downcast_ref::<Client>()?)).ok()
            }),
            restore: Box::new(move |bytes| {
                let form: Form = serde_json::from_slice(bytes).map_err(|error| {
                    Diagnostics::error(
                        "Provider cannot be configured",
                        format!("The form of its client cannot be read: {error}."),
                    )
                })?;
                Ok(Rc::new(restore(form)?))
            }),
        }
    }

    /// Returns the form of a client; `None` if it cannot be serialized.
    pub(crate) fn hand_on(&self, client: &dyn Any) -> Option<Vec<u8>> {
        (self.hand_on)(client)
    }

    pub(crate) fn restore(&self, form: &[u8]) -> Result<Rc<dyn Any>> {
        (self.restore)(form)
    }
}

/// The type that implements the export of a component.
pub struct Component<E>(PhantomData<E>);

impl<E: Exported> protocol::Guest for Component<E> {
    fn get_configured_form() -> Option<Vec<u8>> {
        with::<E, _>(Service::configured_form)
    }

    fn restore_configured_form(form: Vec<u8>) -> Vec<types::Diagnostic> {
        with::<E, _>(|service| service.restore_configured_form(&form))
    }
}

/// Exports the configured form of a provider. Used by `export_provider!`.
#[doc(hidden)]
#[macro_export]
macro_rules! export_configured_form {
    ($exported:ident) => {
        type ConfiguredForm = $crate::configured_form::Component<$exported>;
        $crate::configured_form::bindings::export_configured_form_world!(
            ConfiguredForm with_types_in $crate::configured_form::bindings
        );
    };
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use wardian_value::{Type, Value, msgpack};

    use super::*;
    use crate::bindings::exports::wardian::plugin::provider::ConfigureProviderRequest;
    use crate::{Attribute, Provider, Schema};

    #[derive(Deserialize)]
    struct Config {
        user: String,
    }

    struct Client {
        token: String,
    }

    fn provider() -> Provider<Client> {
        let schema = Schema::new().attribute(Attribute::string("user").required());
        Provider::with_config("cloud", schema, |config: Config| {
            Ok(Client { token: format!("{}-1", config.user) })
        })
    }

    fn handing_on() -> Service {
        let restore = |token: String| match token.as_str() {
            "revoked-1" => Err(Diagnostics::error("Session ended", "Log in again.")),
            _ => Ok(Client { token }),
        };
        provider().configured_form(|client| client.token.clone(), restore).into()
    }

    fn configure(service: &Service, user: &str) {
        let ty = Type::object([("user", Type::String)]);
        let config = msgpack::encode(&Value::object([("user", Value::from(user))]), &ty).unwrap();
        let client_capabilities =
            types::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };
        let request =
            ConfigureProviderRequest { terraform_version: "1.14.0".to_owned(), config, client_capabilities };
        assert!(service.configure_provider(&request).is_empty());
    }

    fn token(service: &Service) -> String {
        let client = service.configured_client().unwrap();
        client.downcast_ref::<Client>().unwrap().token.clone()
    }

    #[test]
    fn another_instance_is_configured_with_the_form() {
        let (first, second) = (handing_on(), handing_on());
        assert!(first.configured_form().is_none(), "it is not configured");
        configure(&first, "ada");
        let form = first.configured_form().unwrap();
        assert!(second.restore_configured_form(&form).is_empty());
        assert_eq!(token(&second), "ada-1");
    }

    #[test]
    fn restoring_reports_errors_of_the_provider_and_of_the_form() {
        let service = handing_on();
        for (form, message) in
            [(&b"\"revoked-1\""[..], "Session ended"), (b"{", "Provider cannot be configured")]
        {
            let reported = service.restore_configured_form(form);
            assert_eq!(reported[0].summary, message);
            assert!(service.configured_client().is_err());
        }
    }

    #[test]
    fn provider_without_a_form_hands_nothing_on() {
        let service = Service::from(provider());
        configure(&service, "ada");
        assert!(service.configured_form().is_none());
        assert_eq!(service.restore_configured_form(b"\"x\"").len(), 1);
    }

    #[test]
    fn form_without_an_export_is_an_error_of_the_definition() {
        assert!(handing_on().exported(true).parts.problems.is_empty());
        assert!(Service::from(provider()).exported(false).parts.problems.is_empty());
        let problems = handing_on().exported(false).parts.problems;
        assert!(
            format!("{problems:?}").contains("export_provider!(provider, configured_form)"),
            "{problems:?}"
        );
    }
}
