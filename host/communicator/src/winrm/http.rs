//! One connection of HTTP with the machine, and who we are on it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;

use super::ntlm::{Account, Challenge, negotiate};
use crate::settings::{WinRmAuthentication, WinRmSettings, place};
use crate::stream::Stream;

/// The largest answer that is read. A machine is told to send smaller ones.
const LARGEST_ANSWER: usize = 8 << 20;

/// Why there is no answer.
pub(super) enum NoAnswer {
    /// The connection was closed before anything was sent on it.
    NotSent,
    /// The connection broke off.
    Lost,
    /// The machine does not accept who we are.
    Refused(String),
    /// What it says is not to be understood.
    Protocol(String),
}

/// An answer's status and text.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

/// A connection.
pub(super) struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

impl HttpConnection {
    pub(super) async fn begin(settings: &WinRmSettings, stream: Stream) -> Result<Self, NoAnswer> {
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|_| NoAnswer::Lost)?;
        tokio::spawn(connection);
        Ok(Self { sender, host: place(&settings.host, settings.port) })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Sends a message, and proves who we are where that is asked for.
    pub(super) async fn send(
        &mut self,
        settings: &WinRmSettings,
        message: String,
    ) -> Result<Answer, NoAnswer> {
        let message = Bytes::from(message);
        let answer = match settings.authentication {
            WinRmAuthentication::Basic => {
                let proof = format!("{}:{}", settings.user, settings.password.reveal());
                let proof = format!("Basic {}", STANDARD.encode(proof));
                self.exchange(message, Some(&proof)).await?
            }
            WinRmAuthentication::Ntlm => {
                // Whoever has proven themselves has done so for the whole connection.
                let answer = self.exchange(message.clone(), None).await?;
                match answer.status() {
                    StatusCode::UNAUTHORIZED => self.prove(settings, answer.headers(), message).await?,
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
            return Err(NoAnswer::Refused(format!("tried the password by {tried}{offered}")));
        }
        let text = String::from_utf8(body.to_vec());
        let text = text.map_err(|_| NoAnswer::Protocol("its answer is no text".into()))?;
        Ok(Answer { status: head.status, text })
    }

    async fn prove(
        &mut self,
        settings: &WinRmSettings,
        headers: &HeaderMap,
        message: Bytes,
    ) -> Result<Response<Bytes>, NoAnswer> {
        let schemes = ["Negotiate", "NTLM"];
        let Some(scheme) = schemes.into_iter().find(|scheme| challenge(headers, scheme).is_some()) else {
            let offered = offered(headers);
            return Err(NoAnswer::Refused(format!("it does not offer NTLM{offered}")));
        };
        let first = format!("{scheme} {}", STANDARD.encode(negotiate()));
        let answer = self.exchange(Bytes::new(), Some(&first)).await?;
        let not_spoken = || NoAnswer::Protocol("it does not answer to NTLM".into());
        let challenge = challenge(answer.headers(), scheme).ok_or_else(not_spoken)?;
        let challenge = STANDARD.decode(challenge).ok().as_deref().and_then(Challenge::read);
        let account = Account::new(&settings.user, settings.password.reveal());
        let proof = account.authenticate(&challenge.ok_or_else(not_spoken)?).ok_or_else(not_spoken)?;
        self.exchange(message, Some(&format!("{scheme} {}", STANDARD.encode(proof)))).await
    }

    async fn exchange(&mut self, message: Bytes, proof: Option<&str>) -> Result<Response<Bytes>, NoAnswer> {
        let mut request = Request::post("/wsman")
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/soap+xml;charset=UTF-8")
            .header(header::USER_AGENT, "Wardian");
        if let Some(proof) = proof {
            request = request.header(header::AUTHORIZATION, proof);
        }
        let request = request.body(Full::new(message));
        let request = request.map_err(|_| NoAnswer::Protocol("it cannot be asked".into()))?;
        self.sender.ready().await.map_err(|_| NoAnswer::NotSent)?;
        let answer = self.sender.send_request(request).await.map_err(|error| {
            if error.is_canceled() {
                NoAnswer::NotSent
            } else if error.is_parse() {
                NoAnswer::Protocol("what answers there does not speak HTTP".into())
            } else {
                NoAnswer::Lost
            }
        })?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                NoAnswer::Protocol("its answer has no end".into())
            } else {
                NoAnswer::Lost
            }
        })?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// What stands behind a scheme in a challenge; empty where nothing does.
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
