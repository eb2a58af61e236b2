//! An authenticated HTTP connection to a machine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::ntlm::{Account, Challenge, negotiate};
use crate::settings::{WinRmAuthentication, WinRmSettings, endpoint};
use crate::stream::Stream;

/// Maximum size of a response. Requests ask the machine for smaller responses.
const MAX_RESPONSE_SIZE: usize = 8 << 20;

/// The reason why no response was received.
pub(super) enum ExchangeError {
    /// The connection was closed before the request was sent.
    NotSent,
    /// The connection was lost.
    Lost,
    /// The machine rejected the credentials.
    Refused(String),
    /// The machine violates the protocol.
    Protocol(String),
}

pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl HttpConnection {
    pub(super) async fn begin(settings: &WinRmSettings, stream: Stream) -> Result<Self, ExchangeError> {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|_| ExchangeError::Lost)?;
        tokio::spawn(connection);
        Ok(Self { sender, host: endpoint(&settings.host, settings.port) })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a message, and authenticates if required.
    pub(super) async fn send(
        &mut self,
        settings: &WinRmSettings,
        message: String,
    ) -> Result<HttpResponse, ExchangeError> {
        let message = Bytes::from(message);
        let answer = match settings.authentication {
            WinRmAuthentication::Basic => {
                let proof = format!("{}:{}", settings.user, settings.password.reveal());
                let proof = format!("Basic {}", STANDARD.encode(proof));
                self.exchange(message, Some(&proof)).await?
            }
            WinRmAuthentication::Ntlm => {
                // NTLM authenticates the whole connection.
                let answer = self.exchange(message.clone(), None).await?;
                match answer.status() {
                    StatusCode::UNAUTHORIZED => {
                        self.authenticate_ntlm(settings, answer.headers(), message).await?
                    }
                    _ => answer,
                }
            }
        };
        let (head, body) = answer.into_parts();
        if head.status == StatusCode::UNAUTHORIZED {
            let offered = offered(&head.headers);
            let tried = match settings.authentication {
                WinRmAuthentication::Basic => "basic authentication",
                WinRmAuthentication::Ntlm => "NTLM",
            };
            return Err(ExchangeError::Refused(format!("tried the password with {tried}{offered}")));
        }
        let text = String::from_utf8(body.to_vec());
        let text = text.map_err(|_| ExchangeError::Protocol("the response is not valid UTF-8".into()))?;
        Ok(HttpResponse { status: head.status, text })
    }

    async fn authenticate_ntlm(
        &mut self,
        settings: &WinRmSettings,
        headers: &HeaderMap,
        message: Bytes,
    ) -> Result<Response<Bytes>, ExchangeError> {
        let schemes = ["Negotiate", "NTLM"];
        let Some(scheme) = schemes.into_iter().find(|scheme| challenge(headers, scheme).is_some()) else {
            let offered = offered(headers);
            return Err(ExchangeError::Refused(format!("it does not offer NTLM{offered}")));
        };
        let first = format!("{scheme} {}", STANDARD.encode(negotiate()));
        let answer = self.exchange(Bytes::new(), Some(&first)).await?;
        let protocol_error = || ExchangeError::Protocol("it did not respond to the NTLM message".into());
        let challenge = challenge(answer.headers(), scheme).ok_or_else(protocol_error)?;
        let challenge = STANDARD.decode(challenge).ok().as_deref().and_then(Challenge::read);
        let account = Account::new(&settings.user, settings.password.reveal());
        let proof =
            account.authenticate(&challenge.ok_or_else(protocol_error)?).ok_or_else(protocol_error)?;
        self.exchange(message, Some(&format!("{scheme} {}", STANDARD.encode(proof)))).await
    }

    async fn exchange(
        &mut self,
        message: Bytes,
        proof: Option<&str>,
    ) -> Result<Response<Bytes>, ExchangeError> {
        let mut request = Request::post("/wsman")
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/soap+xml;charset=UTF-8")
            .header(header::USER_AGENT, "Wardian");
        if let Some(proof) = proof {
            request = request.header(header::AUTHORIZATION, proof);
        }
        let request = request.body(Full::new(message));
        let request =
            request.map_err(|_| ExchangeError::Protocol("the request could not be built".into()))?;
        self.sender.ready().await.map_err(|_| ExchangeError::NotSent)?;
        let answer = self.sender.send_request(request).await.map_err(|error| {
            if error.is_canceled() {
                ExchangeError::NotSent
            } else if error.is_parse() {
                ExchangeError::Protocol("it is not an HTTP server".into())
            } else {
                ExchangeError::Lost
            }
        })?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_SIZE).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                ExchangeError::Protocol("the response is too large".into())
            } else {
                ExchangeError::Lost
            }
        })?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// Returns the data after the name of a scheme in a challenge; empty if the challenge contains no
/// data.
fn challenge<'a>(headers: &'a HeaderMap, scheme: &str) -> Option<&'a str> {
    headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).find_map(
        |value| {
            let (name, rest) = value.split_once(' ').unwrap_or((value, ""));
            name.eq_ignore_ascii_case(scheme).then(|| rest.trim())
        },
    )
}

fn offered(headers: &HeaderMap) -> String {
    let names: Vec<&str> = headers
        .get_all(header::WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok()?.split(' ').next())
        .collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("; it offers {}", names.join(", ")),
    }
}
