//! A native provider and provisioner for tests, `fake`. The variable `NATIVE_PLUGIN`, a
//! comma-separated list of the words below, selects its behaviour. Without the variable, the plugin
//! behaves correctly.
//!
//! | word | behaviour | |---|---| | `5` | uses protocol 5, regardless of the host's versions | |
//! `tcp` | listens on TCP | | `plain` | uses no TLS | | `other-certificate` | announces a different
//! certificate than it uses | | `no-certificate` | announces an invalid certificate | | `deaf` |
//! does not listen at the address that it announces | | `unlinked` | removes its socket before it
//! announces the address | | `stays` | ignores the request to exit | | `noisy` | writes a gigabyte
//! to its standard error at its start | | `die@RPC` | panics, as Go does, in a call | | `kill@RPC`
//! | is killed in a call | | `hang@RPC` | never responds to a call | | `drop@RPC` | closes the
//! connection in a call, and keeps running | | `flood@RPC` | writes a gigabyte to its standard
//! error before it responds to a call | | `garbage@RPC` | returns bytes that are not a message | |
//! `half@RPC` | returns the beginning of a message and exits | | `http@RPC` | returns an HTML page
//! | | `type@RPC` | returns a value of the wrong type | | `status@RPC` | returns a gRPC error
//! status | | `serves` | starts another `fake` without this word, and serves it through the bridge
//! | | `serves-5` | the same, but only in protocol 5 | | `serves-both` | serves two `fake` plugins
//! as one plugin, one of which is `renamed` | | `serves-twice` | serves two `fake` plugins with the
//! same type names as one plugin | | `renamed` | has `other_thing` instead of `fake_thing`, and so
//! on (protocol 6) | | `nested` | has a nested attribute (protocol 6) | | `large-schema` | has 64
//! MB of schemas | | `unasked` | works without a schema call | | `repeats` | echoes its inputs in
//! log lines, in other output, and in warnings | | `old` | lacks all calls that were added after
//! the first version of its protocol |

mod calls;
mod provisioner;
mod repeating;
mod serve;
mod state_store;
mod tls;

use std::error::Error;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use wardian_legacy_grpc_bridge::server::{self, HostHandshake, Multiplexed};
use wardian_legacy_grpc_bridge::{
    Bridge, NativeLimits, NativePackage, NativePlugin, ProtocolVersion, Security,
};

/// The words of `NATIVE_PLUGIN`.
pub(crate) struct Words(Vec<String>);

impl Words {
    fn from_environment() -> Self {
        let words = std::env::var("NATIVE_PLUGIN").unwrap_or_default();
        Self(words.split(',').map(str::to_owned).collect())
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.0.iter().any(|one| one == word)
    }

    /// Returns the fault of a call.
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
    let words = Words::from_environment();
    if std::env::var("TF_PLUGIN_MAGIC_COOKIE").is_err() {
        return Err("this is a plugin and cannot be run by hand".into());
    }
    if words.0.iter().any(|word| word.starts_with("serves")) {
        // The host shows the error text.
        return serve_backends(&words).await.map_err(|error| error.to_string().into());
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
        // The listener is dropped before the handshake. Not even a fast host can connect.
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
                // The host reports the error, possibly before this process detects it.
                Err(_) => continue,
            },
        };
        tokio::spawn(serve::connection(stream, Arc::clone(&words)));
    }
}

/// Serves other instances of this plugin through the bridge.
async fn serve_backends(words: &Words) -> Result<(), Box<dyn Error>> {
    use ProtocolVersion::{Five, Six};
    let rest: Vec<&str> =
        words.0.iter().map(String::as_str).filter(|word| !word.starts_with("serves")).collect();
    let bridge = Bridge::new(NativeLimits::default());
    let first = backend(&bridge, "acme/fake", &rest.join(","))?;
    let mut all = vec![first];
    let mut provider = all[0].provider();
    if words.has("serves-both") || words.has("serves-twice") {
        let more = if words.has("serves-both") { "renamed" } else { "" };
        all.push(backend(&bridge, "acme/other", &[&rest[..], &[more]].concat().join(","))?);
        let names = ["acme/fake", "acme/other"].map(Into::into);
        let parts = names.into_iter().zip(all.iter().map(NativePlugin::provider)).collect();
        provider = Arc::new(Multiplexed::new(parts).await?);
    }
    let variable = |name| std::env::var(name).ok();
    let host = HostHandshake {
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

/// Returns another instance of this plugin with different words.
fn backend(bridge: &Bridge, name: &str, words: &str) -> std::io::Result<NativePlugin> {
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
    // Terraform does not set this variable, so there is a default.
    let path = match std::env::var_os("PLUGIN_UNIX_SOCKET_DIR") {
        Some(directory) => std::path::Path::new(&directory).join("plugin1"),
        None => std::env::temp_dir().join(format!("wardian-native-plugin-{}", std::process::id())),
    };
    let listener = UnixListener::bind(&path)?;
    Ok((Listener::Unix(listener), "unix", path.display().to_string()))
}
