//! The login service `login.v1`: an identity provider that redirects immediately, without user
//! interaction. It verifies the proof key of the code exchange (PKCE).

use std::collections::BTreeMap;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::answer::{Answer, Incoming};
use crate::server::Shared;

/// The token that the login service issues.
pub(crate) const TOKEN: &str = "token-of-the-login-service";

/// The codes that were issued, each with its challenge and its redirect address.
#[derive(Debug, Default)]
pub(crate) struct Codes(Mutex<BTreeMap<String, (String, String)>>);

pub(crate) fn answer(shared: &Shared, request: &Incoming, path: &str) -> Answer {
    match (path, &request.method) {
        ("authorize", &Method::GET) => authorize(shared, request),
        ("token", &Method::POST) => token(shared, request),
        _ => Answer::not_found(),
    }
}

fn authorize(shared: &Shared, request: &Incoming) -> Answer {
    let wanted =
        [("response_type", "code"), ("client_id", "client-of-tests"), ("code_challenge_method", "S256")];
    for (name, value) in wanted {
        if request.argument(name).as_deref() != Some(value) {
            return Answer::new(400, format!("{name} is not {value}"));
        }
    }
    let argument = |name| request.argument(name).unwrap_or_default();
    let (challenge, redirect, state) =
        (argument("code_challenge"), argument("redirect_uri"), argument("state"));
    if challenge.len() != 43 || state.is_empty() || !redirect.starts_with("http://localhost:") {
        return Answer::new(400, "a challenge, a state and a redirect address are needed");
    }
    let mut codes = shared.codes.0.lock().unwrap();
    let code = format!("code-{}", codes.len() + 1);
    codes.insert(code.clone(), (challenge, redirect.clone()));
    let arguments = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("code", &code)
        .append_pair("state", &state)
        .finish();
    Answer::redirect(&format!("{redirect}?{arguments}"))
}

fn token(shared: &Shared, request: &Incoming) -> Answer {
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&request.body).into_owned().collect();
    let field = |name: &str| form.get(name).map_or("", String::as_str);
    let code = shared.codes.0.lock().unwrap().remove(field("code"));
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    let is_valid = field("grant_type") == "authorization_code"
        && code.is_some_and(|(wanted, redirect)| wanted == challenge && redirect == field("redirect_uri"));
    if is_valid {
        Answer::json(&json!({ "access_token": TOKEN, "token_type": "bearer" }))
    } else {
        let problem = json!({ "error": "invalid_grant" });
        Answer { status: 400, ..Answer::json(&problem) }
    }
}
