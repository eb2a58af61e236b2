//! The authority over the host's own requests.

use std::net::IpAddr;

use http::HeaderName;
use wardian_access::{Denied, HttpAuthority, HttpCredential, HttpExchange, NetworkRequest};

/// Allows every request, because the operator determined its destination, and records nothing. Only
/// for requests that the host itself sends, never for requests of plugins.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorAuthority;

impl HttpAuthority for OperatorAuthority {
    fn reserved_headers(&self, _request: &NetworkRequest) -> Vec<HeaderName> {
        Vec::new()
    }

    fn may_send(&self, _request: &NetworkRequest) -> Result<(), Denied> {
        Ok(())
    }

    fn may_connect(&self, _request: &NetworkRequest, _address: IpAddr) -> Result<(), Denied> {
        Ok(())
    }

    fn credentials(&self, _request: &NetworkRequest) -> Result<Vec<HttpCredential>, Denied> {
        Ok(Vec::new())
    }

    fn finished(&self, _exchange: &HttpExchange) {}
}
