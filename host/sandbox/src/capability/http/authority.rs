//! Submits a request to the plugin's monitor on behalf of the current call.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderName, HeaderValue};
use wardian_access::{AccessRequest, Denied, HttpAuthority, HttpCredential, HttpExchange, NetworkRequest};
use wardian_monitor::{Capability, Monitor, Use};
use wardian_plugin::PluginCall;
use wardian_policy::CredentialBinding;

use crate::network::ProviderNetwork;

pub(super) struct RequestAuthority {
    monitor: Monitor,
    call: PluginCall,
    network: Arc<ProviderNetwork>,
    begun: Mutex<Begun>,
}

/// The access and the credentials of an allowed request.
#[derive(Default)]
struct Begun {
    usage: Option<Use>,
    credentials: Vec<HttpCredential>,
}

impl RequestAuthority {
    pub(super) fn new(monitor: Monitor, call: PluginCall, network: Arc<ProviderNetwork>) -> Self {
        Self { monitor, call, network, begun: Mutex::default() }
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn credential(&self, binding: &CredentialBinding) -> Result<HttpCredential, String> {
        let secret = self.network.secrets().read(&binding.source).map_err(|missing| missing.to_string())?;
        let text = format!("{}{}", binding.prefix, secret.text());
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| "the secret contains characters that a header must not contain".to_owned())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(binding.header.as_bytes())
            .map_err(|_| "its name is not a valid header name".to_owned())?;
        Ok(HttpCredential { name, value })
    }

    /// Returns all credentials of a request. If one of them is missing, the request would be sent
    /// without it, so the request is denied.
    fn all_credentials(&self, request: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied> {
        let bindings = self.monitor.policy().credentials(request);
        let credentials = bindings.into_iter().map(|binding| {
            self.credential(binding).map_err(|problem| {
                let reason = format!(
                    "the header {} that {} binds to {} cannot be added: {problem}",
                    binding.header,
                    binding.location,
                    request.destination()
                );
                self.monitor.reject(&self.call, Capability::Network, request.destination(), reason)
            })
        });
        credentials.collect()
    }
}

impl HttpAuthority for RequestAuthority {
    fn reserved_headers(&self, request: &NetworkRequest) -> Vec<HeaderName> {
        let bindings = self.monitor.policy().credentials(request).into_iter();
        bindings.filter_map(|binding| HeaderName::from_bytes(binding.header.as_bytes()).ok()).collect()
    }

    fn may_send(&self, request: &NetworkRequest) -> Result<(), Denied> {
        let asked = AccessRequest::Network(request.clone());
        // Secrets are read only for allowed requests, and before the access begins.
        let is_allowed = self.monitor.policy().decide(&asked).is_allowed();
        let credentials = if is_allowed { self.all_credentials(request)? } else { Vec::new() };
        let usage = self.monitor.begin(&self.call, asked)?;
        *self.begun() = Begun { usage: Some(usage), credentials };
        Ok(())
    }

    fn may_connect(&self, request: &NetworkRequest, address: IpAddr) -> Result<(), Denied> {
        let asked = AccessRequest::Network(request.clone());
        self.monitor.check_at(&self.call, &asked, address)
    }

    fn credentials(&self, _: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied> {
        Ok(std::mem::take(&mut self.begun().credentials))
    }

    fn finished(&self, exchange: &HttpExchange) {
        let Some(mut usage) = self.begun().usage.take() else { return };
        if let Some(address) = exchange.address {
            usage.set_address(address);
        }
        if let Some(status) = exchange.status {
            usage.set_status(i64::from(status));
        }
        usage.add_sent(exchange.sent);
        usage.add_received(exchange.received);
    }
}
