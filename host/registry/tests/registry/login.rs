//! The login to a host.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;
use wardian_digest::Sha256Digest;
use wardian_registry::login::{LoginError, LoginMethod, PendingLogin};
use wardian_registry::{AccessToken, RegistryClient, ServiceHost};

use crate::server::{Answer, Server, Setting, run};

fn example() -> ServiceHost {
    ServiceHost::parse("example.com").unwrap()
}

fn client(server: &Server, changes: &Value) -> RegistryClient {
    let mut login =
        json!({"client": "cli", "authz": server.url("/authz?x=1"), "token": server.url("/token")});
    for (name, value) in changes.as_object().unwrap() {
        login[name] = value.clone();
    }
    let services = vec![("example.com", json!({"login.v1": login}))];
    Setting { services, ..Setting::default() }.client()
}

async fn start(client: &RegistryClient) -> PendingLogin {
    match client.login_method(&example()).await.unwrap() {
        LoginMethod::Browser(login) => login.start().await.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn query(url: &Url) -> BTreeMap<String, String> {
    url.query_pairs().into_owned().collect()
}

/// Sends a request to the temporary server, as a browser does.
async fn browse(redirect_uri: &str, parameters: &str) -> String {
    let url = Url::parse(redirect_uri).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    let request = format!("GET {}?{parameters} HTTP/1.1\r\nHost: localhost\r\n\r\n", url.path());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[test]
fn browser_login_obtains_a_token() {
    run(async {
        let server = Server::start().await;
        server.answer("/token", Answer::json(&json!({"access_token": "t0ken", "token_type": "Bearer"})));
        let client = client(&server, &json!({"ports": [20000, 40000], "scopes": ["a", "b"]}));
        let pending = start(&client).await;
        let parameters = query(pending.url());
        assert!(
            pending.url().as_str().starts_with(&server.url("/authz?x=1&client_id=cli&")),
            "{}",
            pending.url()
        );
        assert_eq!(parameters["response_type"], "code");
        assert_eq!(parameters["code_challenge_method"], "S256");
        assert_eq!(parameters["scope"], "a b");
        let redirect_uri = parameters["redirect_uri"].clone();
        let port = Url::parse(&redirect_uri).unwrap().port().unwrap();
        assert!((20_000..=40_000).contains(&port) && redirect_uri.starts_with("http://localhost:"));

        let token = tokio::spawn(pending.wait());
        // Requests that are not part of the login have no effect.
        for wrong in ["code=x&state=wrong", "code=x", ""] {
            assert!(browse(&redirect_uri, wrong).await.starts_with("HTTP/1.1 400 "));
        }
        let idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let response = browse(&redirect_uri, &format!("code=the+code&state={}", parameters["state"])).await;
        assert!(response.starts_with("HTTP/1.1 200 OK") && !response.contains("the code"), "{response}");
        assert_eq!(token.await.unwrap().unwrap().reveal(), "t0ken");
        drop(idle);

        let request = &server.received()[0];
        assert_eq!(request.line, "POST /token");
        assert_eq!(request.headers["content-type"], "application/x-www-form-urlencoded");
        let form: BTreeMap<String, String> =
            url::form_urlencoded::parse(request.body.as_bytes()).into_owned().collect();
        let verifier = &form["code_verifier"];
        assert!((43..=128).contains(&verifier.len()), "{verifier}");
        let challenge = Sha256Digest::hash(verifier.as_bytes());
        let challenge =
            base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, challenge.as_bytes());
        assert_eq!(parameters["code_challenge"], challenge);
        let expected = [
            ("client_id", "cli"),
            ("code", "the code"),
            ("code_verifier", verifier),
            ("grant_type", "authorization_code"),
            ("redirect_uri", &redirect_uri),
        ];
        assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    });
}

#[test]
fn rejected_login_is_reported() {
    run(async {
        let server = Server::start().await;
        let client = client(&server, &json!({}));
        let pending = start(&client).await;
        let parameters = query(pending.url());
        let token = tokio::spawn(pending.wait());
        let denied = format!("error=access_denied&error_description=no+way&state={}", parameters["state"]);
        browse(&parameters["redirect_uri"], &denied).await;
        let error = token.await.unwrap().unwrap_err();
        assert!(
            error.to_string().contains("example.com rejected the login: access_denied (no way)"),
            "{error}"
        );
        assert_eq!(error.summary(), "Failed to obtain auth token");
        assert!(server.lines().is_empty());
    });
}

#[test]
fn unusable_token_responses_are_errors() {
    run(async {
        let json = |status: u16, value: Value| Answer::json(&value).with_status(status);
        for (answer, expected) in [
            (json(400, json!({"error": "invalid_grant", "error_description": "s"})), "\"invalid_grant\" (s)"),
            (json(200, json!({"error": "invalid_grant"})), "\"invalid_grant\""),
            (json(500, json!({})), "500 Internal Server Error"),
            (Answer::status(404), "404 Not Found"),
            (json(200, json!({})), "the token is empty"),
            (json(200, json!({"access_token": "s3cret s3cret"})), "contains a space"),
            (json(200, json!({"access_token": ["s3cret"]})), "not the expected JSON"),
            (Answer::bytes("text/html", "access_token=s3cret"), "not the expected JSON"),
            (Answer::endless(), "larger than the limit"),
            (Answer::redirect("https://other.example/"), "redirect"),
        ] {
            let server = Server::start().await;
            server.answer("/token", answer);
            let client = client(&server, &json!({}));
            let pending = start(&client).await;
            let parameters = query(pending.url());
            let token = tokio::spawn(pending.wait());
            browse(&parameters["redirect_uri"], &format!("code=c0de&state={}", parameters["state"])).await;
            let error = token.await.unwrap().unwrap_err();
            let text = error.to_string();
            assert!(text.contains(expected) && text.contains("example.com"), "{text}");
            assert!(!text.contains("s3cret") && !text.contains("c0de"), "{text}");
            assert_eq!(error.summary(), "Failed to obtain auth token", "{text}");
            assert_eq!(server.lines().len(), 1, "{text}");
        }
    });
}

#[test]
fn password_login_obtains_a_token() {
    run(async {
        let server = Server::start().await;
        server.answer("/token", Answer::json(&json!({"access_token": "t0ken"})));
        let client = client(&server, &json!({"grant_types": ["password"], "scopes": ["a"]}));
        let LoginMethod::Password(login) = client.login_method(&example()).await.unwrap() else {
            panic!("a password login is expected")
        };
        let token = login.log_in("me", "p&ss").await.unwrap();
        assert_eq!(token.reveal(), "t0ken");
        let body = &server.received()[0].body;
        assert_eq!(body, "client_id=cli&grant_type=password&password=p%26ss&username=me&scope=a");
    });
}

#[test]
fn host_without_login_service_is_distinguished() {
    run(async {
        let method = |services: Value| async move {
            let setting = Setting { services: vec![("example.com", services)], ..Setting::default() };
            setting.client().login_method(&example()).await
        };
        let LoginMethod::TokenPage(page) = method(json!({"tfe.v2": "/api/v2/"})).await.unwrap() else {
            panic!("a page for tokens is expected")
        };
        assert_eq!(page.url.as_str(), "https://example.com/app/settings/tokens?source=terraform-login");
        for (services, summary) in [
            (json!({}), "Host does not support Terraform tokens API"),
            (json!({"login.v1": "https://a.example/"}), "Host does not support Terraform login"),
            (
                json!({"login.v1": {"client": "c", "token": "/t", "grant_types": ["x"]}}),
                "Host does not support Terraform login",
            ),
        ] {
            let error = method(services.clone()).await.unwrap_err();
            assert_eq!(error.summary(), summary, "{services}: {error}");
        }
    });
}

#[test]
fn occupied_ports_are_reported() {
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Server::start().await;
        let client = client(&server, &json!({"ports": [port, port]}));
        let LoginMethod::Browser(login) = client.login_method(&example()).await.unwrap() else {
            panic!("a browser login is expected")
        };
        let error = login.start().await.unwrap_err();
        assert!(matches!(error, LoginError::NoPort { .. }), "{error}");
        assert!(error.to_string().contains(&port.to_string()), "{error}");
    });
}

#[test]
fn token_owner_is_returned() {
    run(async {
        let server = Server::start().await;
        let services = vec![("example.com", json!({"tfe.v2": server.url("/api/v2/")}))];
        let client = Setting { services, ..Setting::default() }.client();
        let path = "/api/v2/account/details";
        let token = AccessToken::new("t0ken").unwrap();
        server.answer(path, Answer::json(&json!({"data": {"attributes": {"username": "me"}}})));
        assert_eq!(client.token_owner(&example(), &token).await.unwrap(), "me");
        assert_eq!(server.received()[0].authorization(), Some("Bearer t0ken"));
        server.answer(path, Answer::status(401));
        let error = client.token_owner(&example(), &token).await.unwrap_err();
        assert!(matches!(error, LoginError::RejectedToken { .. }), "{error}");
    });
}
