//! Implements the provider calls of `fake`; `provisioner` implements the provisioner calls.
//!
//! `fake_thing` has a name, a size and values computed from them; it exists only in the state.
//! `fake_echo` is a data source, `fake_token` an ephemeral resource, `shout` a function,
//! `fake_bell` an action.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;
use wardian_legacy_grpc_bridge::protocol::{plugin, tfplugin as m, tfplugin5 as five, tfplugin6 as six};
use wardian_value::{Type, Value, View, json, msgpack};

use crate::provisioner;
use crate::repeating::Repeats;
use crate::state_store;

/// The response to a call.
pub(crate) enum Reply {
    /// One message, or all messages of a stream.
    Messages(Vec<Vec<u8>>),
    /// One message immediately, and another after a stop request.
    UntilStopped(Vec<u8>, Vec<u8>),
    /// The call is not implemented.
    Unknown,
    /// The process exits.
    End,
}

/// Returns the notification of a stop request.
pub(crate) fn stopping() -> &'static tokio::sync::Notify {
    static STOPPING: tokio::sync::Notify = tokio::sync::Notify::const_new();
    &STOPPING
}

pub(crate) fn one(message: &impl Message) -> Reply {
    Reply::Messages(vec![message.encode_to_vec()])
}

/// Returns whether a call was added after the first version of both protocols.
pub(crate) fn is_newer(rpc: &str) -> bool {
    let newer = ["Identity", "Move", "Generate", "Ephemeral", "CallFunction", "List", "Action", "Stdio"];
    newer.iter().any(|part| rpc.contains(part))
}

fn thing() -> Type {
    Type::object([
        ("environment", Type::list(Type::String)),
        ("id", Type::String),
        ("name", Type::String),
        ("size", Type::Number),
    ])
}

fn echo() -> Type {
    Type::object([("input", Type::String), ("output", Type::String)])
}

fn token() -> Type {
    Type::object([("token", Type::String)])
}

fn identity() -> Type {
    Type::object([("id", Type::String)])
}

fn greeting() -> Type {
    Type::object([("greeting", Type::String)])
}

/// The kind of values in responses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    AsTheSchemaSays,
    OfAnotherType,
}

impl Values {
    fn sent(self, value: &Value, ty: &Type) -> Option<m::DynamicValue> {
        let msgpack = match self {
            Self::AsTheSchemaSays => msgpack::encode(value, ty).ok()?.into(),
            // The value is `true`, although an object or string is expected.
            Self::OfAnotherType => Bytes::from_static(b"\xc3"),
        };
        Some(m::DynamicValue { msgpack, json: Bytes::new() })
    }

    fn identity(self, value: &Value) -> m::ResourceIdentityData {
        m::ResourceIdentityData { identity_data: self.sent(value, &identity()) }
    }
}

/// Returns the response to a call.
pub(crate) fn answer(service: &str, rpc: &str, request: Bytes, values: Values, repeats: Repeats) -> Reply {
    // Fields that the request does not set are empty.
    macro_rules! read {
        ($module:ident) => {
            m::$module::Request::decode(request).unwrap_or_default()
        };
    }
    match (service, rpc) {
        ("tfplugin5.Provisioner", rpc) => provisioner::answer(rpc, request),
        ("tfplugin6.Provider", rpc) if state_store::is_call(rpc) => state_store::answer(rpc, request),
        ("plugin.GRPCController", "Shutdown") => Reply::End,
        ("plugin.GRPCStdio", "StreamStdio") => one(&plugin::StdioData {
            channel: plugin::stdio_data::Channel::Stdout.into(),
            data: Bytes::from_static(b"printed while it served\n"),
        }),
        (_, "GetSchema") => one(&schema_of_protocol_5()),
        (_, "GetProviderSchema") => one(&schema_of_protocol_6()),
        (_, "GetResourceIdentitySchemas") => {
            let id = m::resource_identity_schema::IdentityAttribute {
                name: "id".into(),
                r#type: Bytes::from_static(b"\"string\""),
                required_for_import: true,
                ..Default::default()
            };
            let schema = m::ResourceIdentitySchema { version: 0, identity_attributes: vec![id] };
            one(&m::get_resource_identity_schemas::Response {
                identity_schemas: HashMap::from([("fake_thing".into(), schema)]),
                diagnostics: Vec::new(),
            })
        }
        (_, "PrepareProviderConfig" | "ValidateProviderConfig") => {
            let config = value(read!(validate_provider_config).config.as_ref(), &greeting());
            let refused = text(&config, "greeting").as_deref() == Some("wrong");
            one(&m::validate_provider_config::Response {
                prepared_config: None,
                diagnostics: if refused { vec![error_diagnostic("greeting")] } else { Vec::new() },
            })
        }
        (_, "Configure" | "ConfigureProvider") => one(&m::configure_provider::Response::default()),
        (_, "Stop" | "StopProvider") => one(&m::stop_provider::Response { error: String::new() }),
        (_, "ValidateResourceTypeConfig" | "ValidateResourceConfig") => {
            let config = value(read!(validate_resource_config).config.as_ref(), &thing());
            let refused = text(&config, "name").as_deref() == Some("wrong");
            one(&m::validate_resource_config::Response {
                diagnostics: if refused {
                    vec![error_diagnostic("name")]
                } else {
                    repeats.warnings(text(&config, "name"))
                },
            })
        }
        (
            _,
            "ValidateDataSourceConfig" | "ValidateDataResourceConfig" | "ValidateEphemeralResourceConfig",
        ) => one(&m::validate_resource_config::Response::default()),
        (_, "ValidateListResourceConfig") => one(&m::validate_list_resource_config::Response::default()),
        (_, "ValidateActionConfig") => one(&m::validate_action_config::Response::default()),
        (_, "UpgradeResourceState") => {
            let raw = read!(upgrade_resource_state).raw_state.unwrap_or_default();
            one(&m::upgrade_resource_state::Response {
                upgraded_state: json::decode(&raw.json, &thing())
                    .ok()
                    .and_then(|v| values.sent(&v, &thing())),
                diagnostics: Vec::new(),
            })
        }
        (_, "UpgradeResourceIdentity") => {
            let raw = read!(upgrade_resource_identity).raw_identity.unwrap_or_default();
            one(&m::upgrade_resource_identity::Response {
                upgraded_identity: json::decode(&raw.json, &identity())
                    .ok()
                    .map(|value| values.identity(&value)),
                diagnostics: Vec::new(),
            })
        }
        (_, "ReadResource") => {
            let request = read!(read_resource);
            one(&m::read_resource::Response {
                new_state: match values {
                    Values::AsTheSchemaSays => request.current_state,
                    Values::OfAnotherType => values.sent(&Value::bool(true), &Type::Bool),
                },
                private: request.private,
                new_identity: request.current_identity,
                ..Default::default()
            })
        }
        (_, "PlanResourceChange") => one(&plan(read!(plan_resource_change), values)),
        (_, "ApplyResourceChange") => one(&apply(read!(apply_resource_change), values)),
        (_, "ImportResourceState") => one(&import(read!(import_resource_state), values)),
        (_, "MoveResourceState") => {
            let raw = read!(move_resource_state).source_state.unwrap_or_default();
            one(&m::move_resource_state::Response {
                target_state: json::decode(&raw.json, &thing()).ok().and_then(|v| values.sent(&v, &thing())),
                ..Default::default()
            })
        }
        (_, "GenerateResourceConfig") => one(&m::generate_resource_config::Response {
            config: match values {
                Values::AsTheSchemaSays => read!(generate_resource_config).state,
                Values::OfAnotherType => values.sent(&Value::bool(true), &Type::Bool),
            },
            diagnostics: Vec::new(),
        }),
        (_, "ReadDataSource") => {
            let config = value(read!(read_data_source).config.as_ref(), &echo());
            let input = attribute(&config, "input");
            let output = echo_result(&input);
            // The response to a large request is small, to test each direction separately.
            let input = if text(&config, "input").is_some_and(|text| text.starts_with(COUNT)) {
                Value::string("counted")
            } else {
                input
            };
            let state = Value::object([("input", input), ("output", output)]);
            one(&m::read_data_source::Response {
                state: values.sent(&state, &echo()),
                diagnostics: repeats.warnings(text(&config, "input")),
                ..Default::default()
            })
        }
        (_, "OpenEphemeralResource") => one(&m::open_ephemeral_resource::Response {
            result: values.sent(&Value::object([("token", Value::string("t0ken"))]), &token()),
            private: Some(Bytes::from_static(b"opened")),
            ..Default::default()
        }),
        (_, "RenewEphemeralResource") => one(&m::renew_ephemeral_resource::Response {
            private: read!(renew_ephemeral_resource).private,
            ..Default::default()
        }),
        (_, "CloseEphemeralResource") => one(&m::close_ephemeral_resource::Response::default()),
        (_, "CallFunction") => one(&shout(read!(call_function), values)),
        (_, "ListResource") => {
            let limit = read!(list_resource).limit;
            let found = ["a", "b", "c"].into_iter().take(usize::try_from(limit).unwrap_or(0).min(3));
            let event = |name: &str| m::list_resource::Event {
                identity: Some(values.identity(&Value::object([("id", Value::string(name))]))),
                display_name: format!("thing {name}"),
                ..Default::default()
            };
            Reply::Messages(found.map(|name| event(name).encode_to_vec()).collect())
        }
        (_, "PlanAction") => one(&m::plan_action::Response::default()),
        (_, "InvokeAction") => {
            use m::invoke_action::Event;
            use m::invoke_action::event::{Completed, Progress, Type};
            let progress = Event { r#type: Some(Type::Progress(Progress { message: "ding".into() })) };
            let done = Event { r#type: Some(Type::Completed(Completed { diagnostics: Vec::new() })) };
            Reply::Messages(vec![progress.encode_to_vec(), done.encode_to_vec()])
        }
        _ => Reply::Unknown,
    }
}

/// The prefix of strings that are counted instead of echoed.
const COUNT: &str = "count:";

/// Returns the input; a string of the requested length (`bytes:1000`); the number of bytes after
/// `count:`; or the result of `read:FILE`, `write:FILE`, `compute:SECONDS`, `connect:ADDRESS`,
/// `get:ADDRESS` and `run:PROGRAM ARGUMENTS`.
fn echo_result(input: &Value) -> Value {
    let View::String(text) = input.view() else { return input.clone() };
    if let Some(counted) = text.strip_prefix(COUNT) {
        return Value::string(counted.len().to_string());
    }
    if let Some(outcome) = access_result(text) {
        return Value::string(outcome);
    }
    match text.strip_prefix("bytes:").and_then(|count| count.parse().ok()) {
        Some(count) => Value::string("x".repeat(count)),
        None => input.clone(),
    }
}

/// Accesses a file or the network, as the input requests.
fn access_result(text: &str) -> Option<String> {
    let (what, on) = text.split_once(':')?;
    let outcome = match what {
        "read" => std::fs::read_to_string(on),
        "write" => std::fs::write(on, "new").map(|()| "written".to_owned()),
        "compute" => Ok(compute(on)),
        "connect" => std::net::TcpStream::connect(on).map(|_| "connected".to_owned()),
        "get" => get(on),
        "run" => run(on),
        _ => return None,
    };
    Some(outcome.unwrap_or_else(|error| error.to_string()))
}

/// Computes for a number of seconds, or for one.
fn compute(seconds: &str) -> String {
    let limit = std::time::Duration::from_secs(seconds.parse().unwrap_or(1));
    let start = std::time::Instant::now();
    let mut state = 1_u64;
    while start.elapsed() < limit {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    state.to_string()
}

/// Sends an HTTP request to `HOST:PORT`, and returns the first line of the response.
fn get(server: &str) -> std::io::Result<String> {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut stream = std::net::TcpStream::connect(server)?;
    write!(stream, "GET / HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Runs a program with arguments, after variables (`NAME=VALUE`), and returns its output and exit
/// code.
fn run(line: &str) -> std::io::Result<String> {
    let mut words = line.split(' ').peekable();
    let mut variables = Vec::new();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        variables.push((name, value));
        words.next();
    }
    let mut command = std::process::Command::new(words.next().unwrap_or_default());
    let output = command.args(words).envs(variables).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Ok(format!("{} {} {:?}", text(&output.stdout), text(&output.stderr), output.status.code()))
}

/// Plans a change: a new name forces a replacement, and computed values of a new object are
/// unknown.
fn plan(request: m::plan_resource_change::Request, values: Values) -> m::plan_resource_change::Response {
    let prior = value(request.prior_state.as_ref(), &thing());
    let proposed = value(request.proposed_new_state.as_ref(), &thing());
    let mut answer = m::plan_resource_change::Response {
        planned_private: Bytes::from_static(b"planned"),
        ..Default::default()
    };
    if proposed.is_null() {
        answer.planned_state = values.sent(&proposed, &thing());
        return answer;
    }
    let changed = !prior.is_null() && attribute(&prior, "name") != attribute(&proposed, "name");
    if changed {
        let selector = m::attribute_path::step::Selector::AttributeName("name".into());
        let step = m::attribute_path::Step { selector: Some(selector) };
        answer.requires_replace = vec![m::AttributePath { steps: vec![step] }];
    }
    let known = !prior.is_null() && !changed;
    let computed = |name: &str, ty: Type| if known { attribute(&prior, name) } else { Value::unknown(ty) };
    let planned = Value::object([
        ("environment", computed("environment", Type::list(Type::String))),
        ("id", computed("id", Type::String)),
        ("name", attribute(&proposed, "name")),
        ("size", attribute(&proposed, "size")),
    ]);
    answer.planned_state = values.sent(&planned, &thing());
    answer
}

fn apply(request: m::apply_resource_change::Request, values: Values) -> m::apply_resource_change::Response {
    let planned = value(request.planned_state.as_ref(), &thing());
    let mut answer =
        m::apply_resource_change::Response { private: request.planned_private, ..Default::default() };
    if planned.is_null() {
        answer.new_state = values.sent(&planned, &thing());
        return answer;
    }
    let mut names: Vec<String> =
        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    let id = Value::string(format!("id-of-{}", text(&planned, "name").unwrap_or_default()));
    let made = Value::object([
        ("environment", Value::list(Type::String, names.into_iter().map(Value::string))),
        ("id", id.clone()),
        ("name", attribute(&planned, "name")),
        ("size", attribute(&planned, "size")),
    ]);
    answer.new_state = values.sent(&made, &thing());
    answer.new_identity = Some(values.identity(&Value::object([("id", id)])));
    answer
}

fn import(request: m::import_resource_state::Request, values: Values) -> m::import_resource_state::Response {
    let named = request.identity.and_then(|identity| identity.identity_data);
    let id = match named {
        Some(data) => text(&value(Some(&data), &identity()), "id").unwrap_or_default(),
        None => request.id,
    };
    let found = Value::object([
        ("environment", Value::null(Type::list(Type::String))),
        ("id", Value::string(id.clone())),
        ("name", Value::string(id.trim_start_matches("id-of-"))),
        ("size", Value::null(Type::Number)),
    ]);
    let imported = m::import_resource_state::ImportedResource {
        type_name: request.type_name,
        state: values.sent(&found, &thing()),
        private: Bytes::new(),
        identity: Some(values.identity(&Value::object([("id", Value::string(id))]))),
    };
    m::import_resource_state::Response { imported_resources: vec![imported], ..Default::default() }
}

fn shout(request: m::call_function::Request, values: Values) -> m::call_function::Response {
    let argument = value(request.arguments.first(), &Type::String);
    match argument.view() {
        View::String(text) if !text.is_empty() => m::call_function::Response {
            result: values.sent(&Value::string(text.to_uppercase()), &Type::String),
            error: None,
        },
        _ => m::call_function::Response {
            result: None,
            error: Some(m::FunctionError {
                text: "there is nothing to shout".into(),
                function_argument: Some(0),
            }),
        },
    }
}

pub(crate) fn value(answered: Option<&m::DynamicValue>, ty: &Type) -> Value {
    let bytes = answered.map(|value| value.msgpack.clone()).unwrap_or_default();
    msgpack::decode(&bytes, ty).unwrap_or_else(|_| Value::null(ty.clone()))
}

fn attribute(object: &Value, name: &str) -> Value {
    match object.view() {
        View::Object(attributes) => attributes.get(name).cloned(),
        _ => None,
    }
    .unwrap_or_else(|| Value::null(Type::Dynamic))
}

pub(crate) fn text(object: &Value, name: &str) -> Option<String> {
    match attribute(object, name).view() {
        View::String(text) => Some(text.to_string()),
        _ => None,
    }
}

pub(crate) fn error_diagnostic(attribute: &str) -> m::Diagnostic {
    let selector = m::attribute_path::step::Selector::AttributeName(attribute.into());
    m::Diagnostic {
        severity: m::diagnostic::Severity::Error.into(),
        summary: "Wrong value".into(),
        detail: "It is the one value that the fake does not take.".into(),
        attribute: Some(m::AttributePath {
            steps: vec![m::attribute_path::Step { selector: Some(selector) }],
        }),
    }
}

fn capabilities() -> m::ServerCapabilities {
    m::ServerCapabilities { move_resource_state: true, generate_resource_config: true, ..Default::default() }
}

fn functions() -> HashMap<String, m::Function> {
    let string = || Bytes::from_static(b"\"string\"");
    let shout = m::Function {
        parameters: vec![m::function::Parameter {
            name: "text".into(),
            r#type: string(),
            ..Default::default()
        }],
        r#return: Some(m::function::Return { r#type: string() }),
        summary: "Louder".into(),
        ..Default::default()
    };
    HashMap::from([("shout".into(), shout)])
}

/// The properties of an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Required,
    Optional,
    Computed,
}

/// All attributes of all schemas: owner, name, type and properties.
const ATTRIBUTES: &[(&str, &str, &str, Set)] = &[
    ("provider", "greeting", "\"string\"", Set::Optional),
    ("thing", "environment", "[\"list\",\"string\"]", Set::Computed),
    ("thing", "id", "\"string\"", Set::Computed),
    ("thing", "name", "\"string\"", Set::Required),
    ("thing", "size", "\"number\"", Set::Optional),
    ("echo", "input", "\"string\"", Set::Required),
    ("echo", "output", "\"string\"", Set::Computed),
    ("token", "token", "\"string\"", Set::Computed),
];

/// Builds the schemas of either protocol, which differ only in type names.
macro_rules! schemas {
    ($protocol:ident $(, $field:ident: $value:expr)?) => {{
        let schema = |of: &str| {
            let of_it = ATTRIBUTES.iter().filter(|(owner, ..)| *owner == of);
            let attributes = of_it.map(|(_, name, ty, set)| $protocol::schema::Attribute {
                name: (*name).into(),
                r#type: Bytes::from_static(ty.as_bytes()),
                required: *set == Set::Required,
                optional: *set == Set::Optional,
                computed: *set == Set::Computed,
                ..Default::default()
            });
            let block = $protocol::schema::Block { attributes: attributes.collect(), ..Default::default() };
            $protocol::Schema { version: 0, block: Some(block) }
        };
        $protocol::get_provider_schema::Response {
            provider: Some(schema("provider")),
            resource_schemas: HashMap::from([("fake_thing".into(), schema("thing"))]),
            data_source_schemas: HashMap::from([("fake_echo".into(), schema("echo"))]),
            ephemeral_resource_schemas: HashMap::from([("fake_token".into(), schema("token"))]),
            list_resource_schemas: HashMap::from([("fake_thing".into(), schema("nothing"))]),
            action_schemas: HashMap::from([(
                "fake_bell".into(),
                $protocol::ActionSchema { schema: Some(schema("nothing")) },
            )]),
            functions: functions(),
            server_capabilities: Some(capabilities()),
            diagnostics: Vec::new(),
            provider_meta: None,
            $($field: $value,)?
        }
    }};
}

/// Builds 2,000 resource types with 108 attributes each: 64 MB, mostly descriptions.
macro_rules! large {
    ($protocol:ident) => {{
        let attribute = |index: usize| $protocol::schema::Attribute {
            name: format!("attribute_{index:03}"),
            r#type: Bytes::from_static(b"\"string\""),
            optional: true,
            description: "What it is for, at some length. ".repeat(8),
            ..Default::default()
        };
        let resource = |index: usize| {
            let attributes = (0..108).map(attribute).collect();
            let block = $protocol::schema::Block { attributes, ..Default::default() };
            (format!("fake_large_{index}"), $protocol::Schema { version: 0, block: Some(block) })
        };
        $protocol::get_provider_schema::Response {
            resource_schemas: (0..2_000).map(resource).collect(),
            ..Default::default()
        }
    }};
}

/// Returns the resource types that make a schema large, as a separate message; `None` for other
/// calls.
pub(crate) fn more_schemas(rpc: &str) -> Option<Vec<u8>> {
    match rpc {
        "GetSchema" => Some(large!(five).encode_to_vec()),
        "GetProviderSchema" => Some(large!(six).encode_to_vec()),
        _ => None,
    }
}

/// Returns a resource type with a nested attribute, as a separate message.
pub(crate) fn nested_schema() -> Vec<u8> {
    let inner = six::schema::Attribute {
        name: "inner".into(),
        r#type: Bytes::from_static(b"\"string\""),
        optional: true,
        ..Default::default()
    };
    let object = six::schema::Object {
        attributes: vec![inner],
        nesting: six::schema::object::NestingMode::Single.into(),
    };
    let outer = six::schema::Attribute {
        name: "outer".into(),
        nested_type: Some(object),
        optional: true,
        ..Default::default()
    };
    let block = six::schema::Block { attributes: vec![outer], ..Default::default() };
    let schema = six::Schema { version: 0, block: Some(block) };
    let answer = six::get_provider_schema::Response {
        resource_schemas: HashMap::from([("fake_nest".into(), schema)]),
        ..Default::default()
    };
    answer.encode_to_vec()
}

/// Returns the capability to work without a schema call, as a separate message that is valid in
/// both protocols.
pub(crate) fn schema_optional() -> Vec<u8> {
    let capabilities = m::ServerCapabilities { get_provider_schema_optional: true, ..Default::default() };
    let answer =
        six::get_provider_schema::Response { server_capabilities: Some(capabilities), ..Default::default() };
    answer.encode_to_vec()
}

/// Replaces the prefix `fake_` with `other_` in a response with schemas.
pub(crate) fn renamed(rpc: &str, message: &[u8]) -> Vec<u8> {
    fn keys<T>(map: HashMap<String, T>) -> HashMap<String, T> {
        map.into_iter()
            .map(|(name, value)| (format!("other_{}", name.trim_start_matches("fake_")), value))
            .collect()
    }
    match rpc {
        "GetProviderSchema" => {
            let mut schema = six::get_provider_schema::Response::decode(message).unwrap_or_default();
            schema.resource_schemas = keys(schema.resource_schemas);
            schema.data_source_schemas = keys(schema.data_source_schemas);
            schema.ephemeral_resource_schemas = keys(schema.ephemeral_resource_schemas);
            schema.list_resource_schemas = keys(schema.list_resource_schemas);
            schema.action_schemas = keys(schema.action_schemas);
            schema.functions = keys(schema.functions);
            schema.encode_to_vec()
        }
        "GetResourceIdentitySchemas" => {
            let mut answer = m::get_resource_identity_schemas::Response::decode(message).unwrap_or_default();
            answer.identity_schemas = keys(answer.identity_schemas);
            answer.encode_to_vec()
        }
        _ => message.to_vec(),
    }
}

fn schema_of_protocol_5() -> five::get_provider_schema::Response {
    schemas!(five)
}

fn schema_of_protocol_6() -> six::get_provider_schema::Response {
    schemas!(six, state_store_schemas: HashMap::from([("fake_files".into(), state_store::schema())]))
}
