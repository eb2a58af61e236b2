//! A native provider and provisioner for tests, `fake`, which does as it is told by the variable
//! `NATIVE_PLUGIN`: a comma list of the words below. Without it, it behaves.
//!
//! | word | what it does |
//! |---|---|
//! | `5` | speaks protocol 5, whatever else the host knows |
//! | `tcp` | listens on TCP |
//! | `plain` | has no certificate |
//! | `other-certificate` | shows another certificate than it has |
//! | `no-certificate` | shows something that is no certificate |
//! | `deaf` | does not listen where it says |
//! | `unlinked` | removes its socket before it says where it is |
//! | `stays` | does not end when it is asked to |
//! | `noisy` | writes a gigabyte to its standard error at its start |
//! | `die@RPC` | panics, as Go does, in a call |
//! | `kill@RPC` | is killed in a call |
//! | `hang@RPC` | never answers a call |
//! | `drop@RPC` | closes the connection in a call, and stays |
//! | `flood@RPC` | writes a gigabyte to its standard error before it answers a call |
//! | `garbage@RPC` | answers bytes that are no message |
//! | `half@RPC` | answers the beginning of a message and is gone |
//! | `http@RPC` | answers with a page for people |
//! | `type@RPC` | answers a value of another type |
//! | `status@RPC` | answers an error of gRPC |
//! | `serves` | starts another `fake` without this word, and serves what the bridge makes of it |
//! | `serves-5` | the same, and only in protocol 5 |
//! | `serves-both` | serves two of them as one, of which one is `renamed` |
//! | `serves-twice` | serves two of them as one, which have the same names |
//! | `renamed` | has `other_thing` where it would have `fake_thing`, and so on (protocol 6) |
//! | `nested` | has a nested attribute (protocol 6) |
//! | `large-schema` | has 64 MB of schemas |
//! | `unasked` | works without being asked for its schema first |
//! | `repeats` | says what it is told: in log lines, in other lines, and in warnings |
//! | `old` | lacks all calls that are newer than the first of its protocol |

mod calls;
mod provisioner;
mod repeating;
mod serve;
mod tls;

use std::error::Error;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use wardian_legacy_grpc_bridge::server::{self, Host, Multiplexed};
use wardian_legacy_grpc_bridge::{Bridge, Limits, NativePackage, NativePlugin, ProtocolVersion, Security};

/// What a test asked for.
pub(crate) struct Words(Vec<String>);

impl Words {
    fn of_environment() -> Self {
        let words = std::env::var("NATIVE_PLUGIN").unwrap_or_default();
        Self(words.split(',').map(str::to_owned).collect())
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|one| one == word)
    }

    /// What is to happen in a call.
    pub(crate) fn fault(&self, rpc: &str) -> Option<&str> {
        self.0
            .iter()
            .find_map(|word| word.split_once('@').filter(|(_, at)| *at == rpc))
            .map(|(fault, _)| fault)
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words = Words::of_environment();
    if std::env::var("TF_PLUGIN_MAGIC_COOKIE").is_err() {
        return Err("this is a plugin, and not meant to be run by a person".into());
    }
    if words.0.iter().any(|word| word.starts_with("serves")) {
        // Its text is what its host shows.
        return pass_on(&words).await.map_err(|error| error.to_string().into());
    }
    if words.has("noisy") {
        serve::flood()?;
    }
    eprintln!("{{\"@level\":\"info\",\"@message\":\"fake begins\",\"@module\":\"provider\"}}");
    let (listener, network, address) = listen(&words).await?;
    let client = std::env::var("PLUGIN_CLIENT_CERT").ok().filter(|_| !words.has("plain"));
    let acceptor = client.map(|pem| tls::Acceptor::new(&pem)).transpose()?;
    let shown = match &acceptor {
        None => String::new(),
        Some(_) if words.has("other-certificate") => STANDARD_NO_PAD.encode(tls::another()?),
        Some(_) if words.has("no-certificate") => "?".repeat(600),
        Some(acceptor) => STANDARD_NO_PAD.encode(&acceptor.certificate),
    };
    let version = if words.has("5") { 5 } else { 6 };
    if words.has("unlinked") {
        std::fs::remove_file(&address)?;
    }
    let handshake = format!("1|{version}|{network}|{address}|grpc|{shown}");
    if words.has("deaf") {
        // However quick the host is, it finds nobody.
        drop(listener);
        println!("{handshake}");
        std::future::pending::<()>().await;
        return Ok(());
    }
    println!("{handshake}");
    let words = Arc::new(words);
    loop {
        let stream: Box<dyn Stream> = match &listener {
            Listener::Unix(listener) => Box::new(listener.accept().await?.0),
            Listener::Tcp(listener) => Box::new(listener.accept().await?.0),
        };
        let stream: Box<dyn Stream> = match &acceptor {
            None => stream,
            Some(acceptor) => match acceptor.accept(stream).await {
                Ok(stream) => Box::new(stream),
                // The host says what is wrong, at a time when it may hear of this or not yet.
                Err(_) => continue,
            },
        };
        tokio::spawn(serve::connection(stream, Arc::clone(&words)));
    }
}

/// Serves another one of us.
async fn pass_on(words: &Words) -> Result<(), Box<dyn Error>> {
    use ProtocolVersion::{Five, Six};
    let rest: Vec<&str> =
        words.0.iter().map(String::as_str).filter(|word| !word.starts_with("serves")).collect();
    let bridge = Bridge::new(Limits::default());
    let first = behind(&bridge, "acme/fake", &rest.join(","))?;
    let mut all = vec![first];
    let mut provider = all[0].provider();
    if words.has("serves-both") || words.has("serves-twice") {
        let more = if words.has("serves-both") { "renamed" } else { "" };
        all.push(behind(&bridge, "acme/other", &[&rest[..], &[more]].concat().join(","))?);
        let names = ["acme/fake", "acme/other"].map(Into::into);
        let parts = names.into_iter().zip(all.iter().map(NativePlugin::provider)).collect();
        provider = Arc::new(Multiplexed::new(parts).await?);
    }
    let variable = |name| std::env::var(name).ok();
    let host = Host {
        cookie: variable("TF_PLUGIN_MAGIC_COOKIE"),
        versions: variable("PLUGIN_PROTOCOL_VERSIONS"),
        certificate: variable("PLUGIN_CLIENT_CERT"),
        socket_directory: variable("PLUGIN_UNIX_SOCKET_DIR")
            .ok_or("there is no directory for a socket")?
            .into(),
    };
    let versions: &[ProtocolVersion] = if words.has("serves-5") { &[Five] } else { &[Six, Five] };
    server::serve(provider, versions, &host, &mut std::io::stdout()).await?;
    for plugin in all {
        plugin.close().await;
    }
    Ok(())
}

/// Another one of us, told other words.
fn behind(bridge: &Bridge, name: &str, words: &str) -> std::io::Result<NativePlugin> {
    Ok(bridge.plugin(NativePackage {
        name: name.into(),
        executable: std::env::current_exe()?,
        environment: vec![("NATIVE_PLUGIN".into(), words.into())],
        working_directory: std::env::temp_dir(),
        socket_directory: std::env::temp_dir(),
        security: Security::MutualTls,
        confinement: None,
        content: None,
    }))
}

async fn listen(words: &Words) -> Result<(Listener, &'static str, String), Box<dyn Error>> {
    if words.has("tcp") {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        return Ok((Listener::Tcp(listener), "tcp", address));
    }
    // Terraform names none.
    let path = match std::env::var_os("PLUGIN_UNIX_SOCKET_DIR") {
        Some(directory) => std::path::Path::new(&directory).join("plugin1"),
        None => std::env::temp_dir().join(format!("wardian-native-plugin-{}", std::process::id())),
    };
    let listener = UnixListener::bind(&path)?;
    Ok((Listener::Unix(listener), "unix", path.display().to_string()))
}
