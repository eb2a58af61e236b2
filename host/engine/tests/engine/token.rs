//! Ephemeral tokens and functions of the memory provider.
//!
//! A `memory_token` has `name`, `life` and `token` (computed). A token with a `short` life is
//! renewed repeatedly; renewing a token with a `bad` life fails. The function `same` returns its
//! argument, and `tally` returns the number of its calls so far.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wardian_plugin::*;
use wardian_value::{Str, Type, Value};

use crate::provider::{World, attribute, block};

const SHORT: Duration = Duration::from_millis(20);

pub fn ephemeral_resources() -> BTreeMap<Str, Arc<Schema>> {
    let token = block([
        ("name", attribute(Type::String, Setting::Required)),
        ("life", attribute(Type::String, Setting::Optional)),
        ("token", attribute(Type::String, Setting::Computed)),
    ]);
    BTreeMap::from([(Str::new("memory_token"), Arc::new(Schema::new(0, token)))])
}

pub fn functions() -> BTreeMap<Str, Function> {
    let text = || Parameter {
        name: "text".into(),
        ty: Type::String,
        allow_null: false,
        allow_unknown: false,
        description: Description::default(),
    };
    let function = || Function {
        parameters: vec![text()],
        variadic_parameter: None,
        return_type: Type::String,
        summary: String::new(),
        description: Description::default(),
        deprecation: Deprecation::None,
    };
    BTreeMap::from([(Str::new("same"), function()), (Str::new("tally"), function())])
}

pub fn call_function(world: &World, name: &str, arguments: &[Value]) -> Value {
    match name {
        "same" => arguments[0].clone(),
        _ => Value::string(world.calls().len().to_string()),
    }
}

pub fn open(world: &World, request: &OpenEphemeralRequest) -> OpenEphemeralResponse {
    world.call("open", &request.config);
    let text = |name: &str| request.config.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, life) = (text("name"), text("life"));
    let result = match life.as_str() {
        "none" => Value::null(request.config.ty().clone()),
        _ => request.config.with_attribute("token", Value::string(format!("token-{name}"))),
    };
    OpenEphemeralResponse {
        result: Some(result),
        renew_at: matches!(life.as_str(), "short" | "bad").then(|| SystemTime::now() + SHORT),
        private: format!("{life} {name}").into_bytes().into(),
        deferred: None,
        diagnostics: Vec::new(),
    }
}

pub fn renew(world: &World, private: &[u8]) -> RenewEphemeralResponse {
    let said = String::from_utf8_lossy(private).into_owned();
    world.calls.lock().unwrap().push(format!("renew {said}"));
    let bad = said.starts_with("bad");
    RenewEphemeralResponse {
        renew_at: Some(SystemTime::now() + SHORT),
        private: format!("renewed {said}").into_bytes().into(),
        diagnostics: if bad {
            vec![PluginDiagnostic::error("Not renewed", "The token is out of date.")]
        } else {
            Vec::new()
        },
    }
}

pub fn close(world: &World, private: &[u8]) -> PluginDiagnostics {
    world.calls.lock().unwrap().push(format!("close {}", String::from_utf8_lossy(private).trim()));
    Vec::new()
}
