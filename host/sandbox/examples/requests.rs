//! Compares the time of an HTTP request through the sandbox with the time of a native request. Both
//! use a persistent connection on loopback.
//!
//! `requests COMPONENT.wasm`, with the test component `hostile-network`, prints
//! `name<TAB>value<TAB>unit`; each value is the median of many measurements.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wardian_address::ProviderAddress;
use wardian_diagnostic::SourceFile;
use wardian_monitor::{AuditLog, Monitor, PluginIdentity};
use wardian_plugin::{CallContext, ClientCapabilities, Provider, ReadDataSourceRequest};
use wardian_policy::{Level, Policy, PolicyFile};
use wardian_sandbox::{Grants, Sandbox, SandboxOptions};
use wardian_value::{Type, Value};

type Failed = Box<dyn std::error::Error>;

const TIMES: usize = 4_000;

fn main() -> Result<(), Failed> {
    let path = std::env::args().nth(1).ok_or("usage: requests COMPONENT.wasm")?;
    let bytes = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&bytes))
}

async fn measure(bytes: &[u8]) -> Result<(), Failed> {
    let port = server().await?;
    let plugin = Sandbox::new(SandboxOptions::default())?.load("bench", bytes, None, None, &|_| {})?;
    let quiet = plugin.provider(grants(port, AuditLog::disabled())?);
    let log = std::env::temp_dir().join(format!("wardian-requests-{}.jsonl", std::process::id()));
    let recorded = plugin.provider(grants(port, AuditLog::open(&log)?)?);

    let native = native(port).await?;
    let call = probes(&quiet, "calls").await?;
    let request = format!("http:GET|http://127.0.0.1:{port}/");
    let sandboxed = probes(&quiet, &request).await?;
    let with_log = probes(&recorded, &request).await?;
    std::fs::remove_file(&log)?;
    print("request, native", native);
    print("call without a request", call);
    print("call with a request", sandboxed);
    print("call with a request, recorded", with_log);
    print("request beyond native", sandboxed.saturating_sub(call).saturating_sub(native));
    Ok(())
}

/// Responds to every request without parsing it.
async fn server() -> Result<u16, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.set_nodelay(true);
                let mut seen = [0; 4096];
                while stream.read(&mut seen).await.is_ok_and(|read| read > 0) {
                    if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    Ok(port)
}

async fn native(port: u16) -> Result<Duration, Failed> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let started = Instant::now();
        sender.ready().await?;
        let request = http::Request::get("/").header("host", "127.0.0.1").body(Empty::<Bytes>::new())?;
        let answer = sender.send_request(request).await?;
        answer.into_body().collect().await?;
        times.push(started.elapsed());
    }
    Ok(middle(times))
}

async fn probes(provider: &Arc<dyn Provider>, input: &str) -> Result<Duration, Failed> {
    let config = Value::object([("input", Value::from(input)), ("result", Value::null(Type::String))]);
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let request = ReadDataSourceRequest {
            type_name: "hostile_probe".into(),
            config: config.clone(),
            provider_meta: None,
            capabilities: ClientCapabilities::default(),
        };
        let started = Instant::now();
        let answer = provider.read_data_source(&CallContext::default(), request).await;
        times.push(started.elapsed());
        let state = format!("{:?}", answer.state.ok_or_else(|| format!("{:?}", answer.diagnostics))?);
        if input.starts_with("http") && !state.contains("200 ok") {
            return Err(state.into());
        }
    }
    Ok(middle(times))
}

fn grants(port: u16, log: AuditLog) -> Result<Grants, Failed> {
    let address = ProviderAddress::parse("acme/bench").map_err(|error| error.to_string())?;
    let text = format!(
        "plugin \"acme/bench\" {{\n allow network {{\n hosts = [\"127.0.0.1\"]\n schemes = [\"http\"]\n \
         ports = [{port}]\n }}\n}}\n"
    );
    let root = Path::new("/srv/project");
    let file = PolicyFile::parse(Level::User, &SourceFile::new("bench", text.as_str()), root)
        .map_err(|problems| problems.to_string())?;
    let identity =
        PluginIdentity { address: address.clone(), version: None, sha256: None, confinement: None };
    let policy = Policy::new(root, [file], []).for_plugin(&address);
    Ok(Grants::by_policy(Monitor::new(policy, identity, Arc::new(log)), root, []))
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn print(name: &str, time: Duration) {
    println!("{name}\t{:.2}\tµs", time.as_secs_f64() * 1e6);
}
