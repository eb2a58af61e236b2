//! The example `hashicups` of the SDK signs in once, whatever the number of its instances, and an interrupt
//! ends its requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use wardian_plugin::{
    CallContext, ClientCapabilities, ConfigureRequest, Provider, ReadDataSourceRequest,
    ReadDataSourceResponse,
};
use wardian_sandbox::{Sandbox, SandboxOptions};
use wardian_value::{Type, Value};

use crate::guest::{bytes, granted, sandbox_cache, short};
use crate::pool::futures_of_calls::all;

const INSTANCES: usize = 30;

/// A server that answers requests for the menu only when all instances have sent one.
#[derive(Default)]
struct Cafe {
    sign_ins: AtomicUsize,
    waiting: Mutex<usize>,
    all_wait: Condvar,
}

impl Cafe {
    fn open(self: &Arc<Self>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cafe = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let cafe = Arc::clone(&cafe);
                std::thread::spawn(move || cafe.serve(stream));
            }
        });
        port
    }

    /// Serves the requests of a connection.
    fn serve(&self, stream: TcpStream) {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        loop {
            let (mut first, mut length, mut token) = (String::new(), 0, String::new());
            if reader.read_line(&mut first).unwrap_or(0) == 0 {
                return;
            }
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let Some((name, value)) = line.trim().split_once(": ") else { break };
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().unwrap(),
                    "authorization" => value.clone_into(&mut token),
                    _ => {}
                }
            }
            reader.by_ref().take(length).read_to_end(&mut Vec::new()).unwrap();
            let body = if first.starts_with("POST /signin ") {
                let number = self.sign_ins.fetch_add(1, Ordering::SeqCst) + 1;
                format!("{{\"token\":\"token-{number}\"}}")
            } else {
                self.wait_for_all();
                format!("[{{\"name\":\"{token}\"}}]")
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            if writer.write_all((head + &body).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn wait_for_all(&self) {
        let mut waiting = self.waiting.lock().unwrap();
        *waiting += 1;
        self.all_wait.notify_all();
        let limit = Duration::from_mins(1);
        let result = self.all_wait.wait_timeout_while(waiting, limit, |waiting| *waiting < INSTANCES);
        assert!(!result.unwrap().1.timed_out(), "the calls do not run at the same time");
    }
}

fn provider(root: &Path, port: u16) -> Arc<dyn Provider> {
    let options = SandboxOptions {
        cache: Some(sandbox_cache()),
        limits: short(),
        parallelism: INSTANCES,
        ..SandboxOptions::default()
    };
    let sandbox = Sandbox::new(options).unwrap();
    let plugin = sandbox.load("acme/hashicups", &bytes("hashicups"), None, None, &|_| {}).unwrap();
    let rules = format!(
        "allow network {{\n hosts = [\"127.0.0.1\"]\n schemes = [\"http\"]\n ports = [{port}]\n \
         addresses = [\"loopback\"]\n}}\n"
    );
    plugin.provider(granted(root, &rules))
}

async fn read_menu(provider: &dyn Provider) -> ReadDataSourceResponse {
    let schema = provider.schema(&CallContext::default()).await.unwrap();
    let ty = schema.data_sources.get("hashicups_coffees").unwrap().implied_type().clone();
    let Type::Object(attributes) = &ty else { panic!("{ty:?}") };
    let nulls = attributes.iter().map(|(name, ty)| (name.clone(), Value::null(ty.clone())));
    let request = ReadDataSourceRequest {
        type_name: "hashicups_coffees".into(),
        config: Value::object(nulls),
        provider_meta: None,
        capabilities: ClientCapabilities::default(),
    };
    provider.read_data_source(&CallContext::default(), request).await
}

async fn menu(provider: &dyn Provider) -> String {
    let response = read_menu(provider).await;
    assert_eq!(response.diagnostics, []);
    format!("{:?}", response.state.unwrap())
}

async fn configure(provider: &dyn Provider, port: u16) {
    let request = ConfigureRequest {
        terraform_version: "1.11.4".into(),
        config: Value::object([
            ("host", Value::from(format!("http://127.0.0.1:{port}"))),
            ("username", Value::from("ada")),
            ("password", Value::from("secret")),
        ]),
        capabilities: ClientCapabilities::default(),
    };
    assert_eq!(provider.configure(&CallContext::default(), request).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_instances_of_a_rust_provider_sign_in_once() {
    let cafe = Arc::new(Cafe::default());
    let port = cafe.open();
    let root = tempfile::tempdir().unwrap();
    let provider = provider(root.path(), port);
    configure(&*provider, port).await;
    let menus = all((0..INSTANCES).map(|_| menu(&*provider))).await;
    assert!(menus.iter().all(|menu| menu.contains("token-1")), "{menus:?}");
    assert_eq!(cafe.sign_ins.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupt_ends_a_request_that_the_server_does_not_answer() {
    let cafe = Arc::new(Cafe::default());
    let port = cafe.open();
    let root = tempfile::tempdir().unwrap();
    let provider = provider(root.path(), port);
    configure(&*provider, port).await;
    let reading = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { read_menu(&*provider).await }
    });
    while *cafe.waiting.lock().unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = provider.stop().await;
    let response = reading.await.unwrap();
    let text = format!("{:?}", response.diagnostics);
    assert!(response.state.is_none() && text.contains("interrupted"), "{text}");
    // The server still waits, so only the interrupt can have ended the call. A later request is sent, so
    // that a provider can clean up.
    *cafe.waiting.lock().unwrap() = INSTANCES;
    cafe.all_wait.notify_all();
    assert!(menu(&*provider).await.contains("token-1"));
}
