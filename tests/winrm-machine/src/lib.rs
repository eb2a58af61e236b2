//! A fake WinRM server for tests: shells, commands, chunked output and faults, with basic
//! authentication or NTLM, over TCP or TLS. `commands` implements the commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

mod commands;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md4::{Digest as _, Md4};
use md5::Md5;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The user, in the domain `CORP` for NTLM.
pub const USER: &str = "Operator";
/// The user's password.
pub const PASSWORD: &str = "pässword & <more>";
const NONCE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// The authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Credentials with each request.
    Basic,
    /// A handshake for each connection.
    Ntlm,
}

/// A chunk of the response to a `Receive`.
#[derive(Debug)]
enum Part {
    Output { stdout: Vec<u8>, stderr: Vec<u8>, code: Option<u32> },
    TimedOut,
    Lost,
}

/// The state of the machine.
#[derive(Default)]
pub struct State {
    /// The shells that were created.
    pub shells: Vec<String>,
    /// The shells that were deleted.
    pub deleted: Vec<String>,
    /// The commands that were started.
    pub commands: Vec<String>,
    /// The commands that the client terminated.
    pub terminated: Vec<String>,
    /// The number of connections.
    pub connections: usize,
    /// Files by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Directories by path.
    pub directories: Vec<String>,
    temporary: HashMap<String, String>,
    running: HashMap<String, VecDeque<Part>>,
    /// Whether the machine has lost its shells, as after a restart.
    pub forgets: bool,
}

/// A running machine.
pub struct Server {
    /// The port on 127.0.0.1.
    pub port: u16,
    pub state: Arc<Mutex<State>>,
}

/// A self-signed certificate for 127.0.0.1.
pub struct Certified {
    /// The acceptor that presents the certificate.
    pub acceptor: TlsAcceptor,
    /// The certificate as PEM.
    pub certificate: String,
}

impl Certified {
    #[allow(clippy::new_without_default, reason = "each certificate is different")]
    pub fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate: cert.pem() }
    }
}

impl Server {
    /// Starts the machine in a separate thread, for synchronous tests.
    pub fn start_in_thread(proof: Proof, tls: Option<TlsAcceptor>) -> Self {
        let (sender, started) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                sender.send(Self::start(proof, tls).await).unwrap();
                std::future::pending::<()>().await;
            });
        });
        started.recv().unwrap()
    }

    /// Starts the machine, which runs as long as the runtime.
    pub async fn start(proof: Proof, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let served = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, tls) = (Arc::clone(&served), tls.clone());
                state.lock().unwrap().connections += 1;
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, proof, &state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, proof, &state).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, state }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, proof: Proof, state: &Mutex<State>) {
    let mut stream = BufReader::new(stream);
    let mut is_proven = false;
    loop {
        let (mut length, mut authorization, mut line) = (0, String::new(), String::new());
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        assert_eq!(line, "POST /wsman HTTP/1.1\r\n");
        loop {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => authorization = value.to_owned(),
                "content-type" => assert_eq!(value, "application/soap+xml;charset=UTF-8"),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let body = String::from_utf8(body).unwrap();
        let answer = match admit(proof, &authorization, &mut is_proven) {
            Some(challenge) => {
                format!(
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n"
                )
            }
            None => match answer(&body, state) {
                None => return,
                Some((status, text)) => {
                    format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: application/soap+xml\r\nContent-Length: {}\r\n\r\n{text}",
                        text.len()
                    )
                }
            },
        };
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
}

/// Returns the challenge for a request without valid authentication.
fn admit(proof: Proof, authorization: &str, is_proven: &mut bool) -> Option<String> {
    match proof {
        Proof::Basic => {
            let right = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
            (authorization != right).then(|| "Basic realm=\"WSMAN\"".to_owned())
        }
        Proof::Ntlm => {
            let Some(message) = authorization.strip_prefix("Negotiate ") else {
                return (!*is_proven).then(|| "Negotiate".to_owned());
            };
            let message = STANDARD.decode(message).unwrap();
            assert_eq!(message[..8], *b"NTLMSSP\0");
            if message[8] == 1 {
                return Some(format!("Negotiate {}", STANDARD.encode(challenge())));
            }
            *is_proven = is_right(&message);
            (!*is_proven).then(|| "Negotiate".to_owned())
        }
    }
}

fn facts() -> Vec<u8> {
    let mut facts = vec![2, 0, 8, 0];
    facts.extend("TEST".encode_utf16().flat_map(u16::to_le_bytes));
    facts.extend([7, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
    facts
}

fn challenge() -> Vec<u8> {
    let facts = facts();
    let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
    message.extend([0, 0, 0, 0, 48, 0, 0, 0]);
    message.extend(0xa288_8205_u32.to_le_bytes());
    message.extend(NONCE);
    message.extend([0; 8]);
    let length = u16::try_from(facts.len()).unwrap().to_le_bytes();
    message.extend([length[0], length[1], length[0], length[1], 48, 0, 0, 0]);
    message.extend(facts);
    message
}

/// Returns whether the NTLM authenticate message conforms to the specification.
fn is_right(message: &[u8]) -> bool {
    let field = |at: usize| {
        let length = usize::from(u16::from_le_bytes([message[at], message[at + 1]]));
        let offset = usize::from(u16::from_le_bytes([message[at + 4], message[at + 5]]));
        &message[offset..offset + length]
    };
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    assert_eq!((field(28), field(36)), (&wide("CORP")[..], &wide(USER)[..]));
    let response = field(20);
    let digest = |key: &[u8], data: &[u8]| {
        let mut digest = Hmac::<Md5>::new_from_slice(key).unwrap();
        digest.update(data);
        digest.finalize().into_bytes().to_vec()
    };
    let key = digest(&Md4::digest(wide(PASSWORD)), &wide(&(USER.to_uppercase() + "CORP")));
    let (proof, told) = response.split_at(16);
    assert_eq!(told[8..16], [1, 2, 3, 4, 5, 6, 7, 8], "the machine's own time");
    assert_eq!(told[28..28 + facts().len()], facts());
    digest(&key, &[&NONCE, told].concat()) == proof
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split_once(after).unwrap().0
}

fn envelope(body: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\" \
         xmlns:rsp=\"http://schemas.microsoft.com/wbem/wsman/1/windows/shell\" \
         xmlns:f=\"http://schemas.microsoft.com/wbem/wsman/1/wsmanfault\"><s:Body>{body}</s:Body></s:Envelope>"
    )
}

fn fault(code: u32, words: &str) -> (u16, String) {
    let body = format!(
        "<s:Fault><s:Reason><s:Text xml:lang=\"en-US\">{words}</s:Text></s:Reason><s:Detail>\
         <f:WSManFault Code=\"{code}\"><f:Message>{words}</f:Message></f:WSManFault></s:Detail></s:Fault>"
    );
    (500, envelope(&body))
}

fn answer(body: &str, state: &Mutex<State>) -> Option<(u16, String)> {
    let mut state = state.lock().unwrap();
    let action = between(body, "<a:Action env:mustUnderstand=\"true\">", "</a:Action>");
    let action = action.rsplit('/').next().unwrap();
    if action == "Create" {
        assert!(body.contains("<w:Option Name=\"WINRS_CODEPAGE\">65001</w:Option>"));
        let shell = format!("SHELL-{}", state.shells.len());
        state.shells.push(shell.clone());
        return Some((200, envelope(&format!("<rsp:Shell><rsp:ShellId>{shell}</rsp:ShellId></rsp:Shell>"))));
    }
    let shell = between(body, "<w:Selector Name=\"ShellId\">", "</w:Selector>").to_owned();
    if std::mem::take(&mut state.forgets) {
        return Some(fault(2_150_858_843, "no such shell"));
    }
    match action {
        "Command" => {
            let command = between(body, "<rsp:Command>", "</rsp:Command>");
            let command = command.replace("&quot;", "\"").replace("&gt;", ">").replace("&amp;", "&");
            let id = format!("COMMAND-{}", state.commands.len());
            if command == "forbidden" {
                return Some(fault(5, "Access is denied."));
            }
            let parts = state.perform(&command);
            state.commands.push(command);
            state.running.insert(id.clone(), parts.into());
            let body =
                format!("<rsp:CommandResponse><rsp:CommandId>{id}</rsp:CommandId></rsp:CommandResponse>");
            Some((200, envelope(&body)))
        }
        "Receive" => {
            let id = between(body, "CommandId=\"", "\"").to_owned();
            let parts = state.running.get_mut(&id).unwrap();
            match parts.pop_front() {
                Some(Part::TimedOut) => Some(fault(2_150_858_793, "nothing yet")),
                Some(Part::Lost) => None,
                Some(Part::Output { stdout, stderr, code }) => {
                    Some((200, output(&id, &stdout, &stderr, code)))
                }
                None => Some((200, output(&id, b"again\n", b"", None))),
            }
        }
        "Signal" => {
            assert!(body.contains("/signal/terminate"));
            state.terminated.push(between(body, "CommandId=\"", "\"").to_owned());
            Some((200, envelope("<rsp:SignalResponse/>")))
        }
        "Delete" => {
            state.deleted.push(shell);
            Some((200, envelope("")))
        }
        other => panic!("{other}"),
    }
}

fn output(id: &str, stdout: &[u8], stderr: &[u8], code: Option<u32>) -> String {
    let stream = |name: &str, bytes: &[u8]| {
        format!("<rsp:Stream Name=\"{name}\" CommandId=\"{id}\">{}</rsp:Stream>", STANDARD.encode(bytes))
    };
    let state = match code {
        None => "<rsp:CommandState State=\"http://x/shell/CommandState/Running\"/>".to_owned(),
        Some(code) => format!(
            "<rsp:CommandState State=\"http://x/shell/CommandState/Done\"><rsp:ExitCode>{code}</rsp:ExitCode></rsp:CommandState>"
        ),
    };
    let body = stream("stdout", stdout) + &stream("stderr", stderr) + &state;
    envelope(&format!("<rsp:ReceiveResponse>{body}</rsp:ReceiveResponse>"))
}
