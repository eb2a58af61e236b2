//! Key providers that are services.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wardian_state::StateEncryption as _;
use wardian_state_server::Moto;

use super::{STATE, decrypted, host_with, state_encryption};

/// A server with the requests of OpenBao's transit engine that the key provider sends.
struct Transit {
    address: String,
    /// The requests: path, token and body.
    requests: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Transit {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<(String, String, Value)>>>::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            let mut keys: BTreeMap<String, String> = BTreeMap::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (path, token, body) = read_request(&mut stream);
                let (status, answer) = if token != "s.right" {
                    (403, json!({ "errors": ["permission denied"] }))
                } else if path.contains("/datakey/plaintext/") {
                    let bytes = usize::try_from(body["bits"].as_u64().unwrap() / 8).unwrap();
                    let plaintext = STANDARD.encode(vec![u8::try_from(keys.len()).unwrap() + 1; bytes]);
                    let ciphertext = format!("vault:v1:{}", keys.len());
                    let data = body["associated_data"].as_str().unwrap_or_default();
                    keys.insert(format!("{ciphertext} {data}"), plaintext.clone());
                    (200, json!({ "data": { "plaintext": plaintext, "ciphertext": ciphertext } }))
                } else {
                    let data = body["associated_data"].as_str().unwrap_or_default();
                    let ciphertext = body["ciphertext"].as_str().unwrap_or_default();
                    match keys.get(&format!("{ciphertext} {data}")) {
                        Some(plaintext) => (200, json!({ "data": { "plaintext": plaintext } })),
                        None => (400, json!({ "errors": ["cipher: message authentication failed"] })),
                    }
                };
                seen.lock().unwrap().push((path, token, body));
                let answer = answer.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    answer.len()
                );
                let _ = stream.write_all(format!("{head}{answer}").as_bytes());
            }
        });
        Self { address, requests }
    }
}

fn read_request(stream: &mut TcpStream) -> (String, String, Value) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |name: &str| {
                let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
                line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.to_owned())
            };
            let length: usize = header("content-length:").map_or(0, |text| text.parse().unwrap());
            if body.len() >= length {
                let path = head.split_whitespace().nth(1).unwrap().to_owned();
                let token = header("x-vault-token:").unwrap_or_default();
                return (path, token, serde_json::from_str(body).unwrap());
            }
        }
        let read = stream.read(&mut buffer).unwrap();
        assert_ne!(read, 0, "the request is incomplete");
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn with_openbao(arguments: &str) -> String {
    format!(
        "key_provider \"openbao\" \"a\" {{\nkey_name = \"a/b\"\n{arguments}\n}}\nmethod \"aes_gcm\" \"a\" {{\nkeys = \
         key_provider.openbao.a\n}}\nstate {{\nmethod = method.aes_gcm.a\n}}"
    )
}

#[tokio::test]
async fn openbao_returns_data_keys() {
    let server = Transit::start();
    let environment = [("BAO_ADDR", &*server.address), ("BAO_TOKEN", "s.right")];
    let host = || host_with(&environment, Path::new("/"));
    let configuration = with_openbao("transit_engine_path = \"/my-org/transit\"\nassociated_data = \"YQ==\"");
    let document = state_encryption(&configuration, host()).encrypt(STATE.as_bytes(), None).await.unwrap();
    let stored: Value = serde_json::from_str(&document).unwrap();
    let metadata = STANDARD.decode(stored["meta"]["key_provider.openbao.a"].as_str().unwrap()).unwrap();
    assert_eq!(
        String::from_utf8(metadata).unwrap(),
        format!(r#"{{"ciphertext":"{}","associated_data":"YQ=="}}"#, STANDARD.encode("vault:v1:0"))
    );
    let again = state_encryption(&configuration, host());
    assert_eq!(decrypted(&again, &document).await, Ok((STATE.to_owned(), false)));
    let requests = server.requests.lock().unwrap().clone();
    let paths: Vec<&str> = requests.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!(paths, ["/v1/my-org/transit/datakey/plaintext/a%2Fb", "/v1/my-org/transit/decrypt/a%2Fb"]);
    assert_eq!(requests[0].2, json!({ "bits": 256, "associated_data": "YQ==" }));
    assert_eq!(requests[1].2, json!({ "ciphertext": "vault:v1:0", "associated_data": "YQ==" }));
}

#[tokio::test]
async fn failures_of_openbao_are_reported_without_the_token() {
    let server = Transit::start();
    let configuration = with_openbao(&format!("address = \"{}\"\ntoken = \"s.wrong\"", server.address));
    let target = state_encryption(&configuration, host_with(&[("BAO_TOKEN", "s.right")], Path::new("/")));
    let failure = target.prepare().await.unwrap_err();
    assert!(failure.message.contains("403 Forbidden: permission denied"), "{failure}");
    assert!(failure.advice.as_deref().is_some_and(|advice| advice.contains("BAO_TOKEN")));
    assert!(!format!("{failure:?} {target:?}").contains("s.wrong"));
    let unreachable = with_openbao("address = \"http://127.0.0.1:1\"\ntoken = \"s.wrong\"");
    let target = state_encryption(&unreachable, host_with(&[], Path::new("/")));
    let failure = target.prepare().await.unwrap_err();
    assert!(failure.message.contains("key_provider.openbao.a") && !failure.message.contains("s.wrong"));
}

#[tokio::test]
async fn kms_returns_data_keys() {
    let Some(moto) = Moto::start() else { return };
    let url = moto.url();
    let environment = [
        ("AWS_ENDPOINT_URL_KMS", &*url),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    let host = || host_with(&environment, Path::new("/"));
    let key = moto.create_key();
    let with = |key: &str, context: &str| {
        format!(
            "key_provider \"aws_kms\" \"a\" {{\nkms_key_id = \"{key}\"\nkey_spec = \"AES_256\"\n{context}\n}}\nmethod \
             \"aes_gcm\" \"a\" {{\nkeys = key_provider.aws_kms.a\n}}\nstate {{\nmethod = method.aes_gcm.a\n}}"
        )
    };
    for context in ["", "encryption_context = {\nb = \"2\"\na = \"1\"\n}"] {
        let document =
            state_encryption(&with(&key, context), host()).encrypt(STATE.as_bytes(), None).await.unwrap();
        let again = state_encryption(&with(&key, context), host());
        assert_eq!(decrypted(&again, &document).await, Ok((STATE.to_owned(), false)));
        let stored: Value = serde_json::from_str(&document).unwrap();
        let metadata = STANDARD.decode(stored["meta"]["key_provider.aws_kms.a"].as_str().unwrap()).unwrap();
        let metadata = String::from_utf8(metadata).unwrap();
        assert!(metadata.starts_with("{\"ciphertext_blob\":\""), "{metadata}");
        assert_eq!(metadata.contains(r#","encryption_context":{"a":"1","b":"2"}}"#), !context.is_empty());
    }
    let target = state_encryption(&with("00000000-0000-0000-0000-000000000000", ""), host());
    let failure = target.prepare().await.unwrap_err();
    assert!(failure.message.contains("NotFoundException"), "{failure}");
    assert!(failure.advice.as_deref().is_some_and(|advice| advice.contains("kms_key_id")));
}
