//! Sends the requests of one instance.

use std::sync::Arc;

use http_body_util::BodyExt as _;
use wardian_monitor::Capability;
use wardian_network::{BoxedBody, Timeouts};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

use super::authority::RequestAuthority;
use super::errors::{error_for_guest, is_refusal, log_error};
use super::exchanges::{Exchanges, HeldBody};
use crate::current_call::CurrentCall;
use crate::network::ProviderNetwork;

/// Maximum number of bytes in one write to a request body, and in its queue. The number is small,
/// since a guest can have hundreds of open bodies.
const PORTION: usize = 64 << 10;
/// Maximum number of characters of an invalid destination in a record.
const SHOWN: usize = 200;

/// The data that is required to send an instance's requests.
pub(crate) struct Requests {
    pub(crate) context: WasiHttpCtx,
    pub(crate) sender: Sender,
}

pub(crate) struct Sender {
    network: Arc<ProviderNetwork>,
    current_call: CurrentCall,
    exchanges: Exchanges,
}

impl Requests {
    /// Aborts the instance's active requests.
    pub(super) fn end_exchanges(&self) {
        self.sender.exchanges.end();
    }

    pub(crate) fn new(network: Arc<ProviderNetwork>, current_call: CurrentCall) -> Self {
        let sender = Sender { network, current_call, exchanges: Exchanges::default() };
        Self { context: WasiHttpCtx::new(), sender }
    }
}

type Sending = dyn Future<Output = Result<(http::Response<WasiBody>, Finishing), Error>> + Send;
type Finishing = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Sender {
    /// Returns false, because the network client sets the `Host` header from the allowed
    /// destination.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        PORTION
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Finishing,
    ) -> Box<Sending> {
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        let sending = self.begin(request, timeouts(options.unwrap_or_default()));
        Box::new(async move {
            let response = sending.await?.map(HeldBody::boxed_unsync);
            let finishing: Finishing = Box::new(std::future::ready(Ok(())));
            Ok((response, finishing))
        })
    }
}

impl Sender {
    /// Begins a request on behalf of the current call. Requests are queued in the order in which they
    /// begin.
    pub(super) fn begin(
        &self,
        request: http::Request<BoxedBody>,
        timeouts: Timeouts,
    ) -> impl Future<Output = Result<http::Response<HeldBody>, Error>> + Send + use<> {
        let (network, call) = (Arc::clone(&self.network), self.current_call.get());
        let (current_call, exchange) = (self.current_call.clone(), self.exchanges.begin());
        let destination = destination(request.uri());
        let ready = self.network.client().map(|client| (client.clone(), client.ticket()));
        async move {
            let refused = |reason: &dyn std::fmt::Display| {
                current_call.monitor().reject(&call, Capability::Network, destination.clone(), reason);
            };
            network.check_declared().map_err(|reason| {
                refused(&reason);
                Error::HttpRequestDenied
            })?;
            let (client, ticket) = ready.map_err(|error| {
                refused(&error);
                Error::ConfigurationError
            })?;
            let authority = Arc::new(RequestAuthority::new(
                current_call.monitor().clone(),
                call.clone(),
                Arc::clone(&network),
            ));
            let sending = client.send(ticket, authority, request, timeouts);
            let answer = exchange.within(sending).await.ok_or(Error::ConnectionTerminated)?;
            let response = answer.map_err(|error| {
                if is_refusal(&error) {
                    refused(&error);
                }
                log_error(&call, &error);
                error_for_guest(error)
            })?;
            let (parts, body) = response.into_parts();
            let body = exchange.hold(body, call).ok_or(Error::ConnectionTerminated)?;
            Ok(http::Response::from_parts(parts, body))
        }
    }
}

fn timeouts(options: RequestOptions) -> Timeouts {
    let usual = Timeouts::default();
    Timeouts {
        connect: options.connect_timeout.unwrap_or(usual.connect),
        first_byte: options.first_byte_timeout.unwrap_or(usual.first_byte),
        between_bytes: options.between_bytes_timeout.unwrap_or(usual.between_bytes),
    }
}

/// Returns the destination of a request that could not be checked, without components that may
/// contain secrets.
fn destination(uri: &http::Uri) -> String {
    let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let shown: String = host.chars().take(SHOWN).collect();
    format!("{}://{shown}", uri.scheme_str().unwrap_or("https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_destination_contains_no_secret() {
        for (uri, shown) in [
            ("https://user:secret@api.example/path?token=secret", "https://api.example"),
            ("http://[::1]:80/", "http://[::1]:80"),
            ("/path", "https://"),
        ] {
            assert_eq!(destination(&uri.parse().unwrap()), shown);
        }
    }
}
