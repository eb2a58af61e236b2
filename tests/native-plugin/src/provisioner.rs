//! The provisioner `fake`, which shows a message and the connection of the object.
//!
//! | message | behaviour | |---|---| | `wrong` | fails validation | | `fail` | fails after showing
//! the message | | `warn` | succeeds with a warning | | `wait` | continues until a stop request | |
//! `environment` | shows the names of the process's environment variables |

use bytes::Bytes;
use prost::Message as _;
use wardian_legacy_grpc_bridge::protocol::tfplugin as m;
use wardian_legacy_grpc_bridge::protocol::tfplugin5::{
    Schema, get_provisioner_schema, provision_resource, schema, validate_provisioner_config,
};
use wardian_value::Type;

use crate::calls::{Reply, error_diagnostic, one, stopping, text, value};

/// All attributes of a connection.
const CONNECTION: [(&str, Type); 29] = [
    ("agent", Type::Bool),
    ("agent_identity", Type::String),
    ("bastion_certificate", Type::String),
    ("bastion_host", Type::String),
    ("bastion_host_key", Type::String),
    ("bastion_password", Type::String),
    ("bastion_port", Type::Number),
    ("bastion_private_key", Type::String),
    ("bastion_user", Type::String),
    ("cacert", Type::String),
    ("certificate", Type::String),
    ("host", Type::String),
    ("host_key", Type::String),
    ("https", Type::Bool),
    ("insecure", Type::Bool),
    ("password", Type::String),
    ("port", Type::Number),
    ("private_key", Type::String),
    ("proxy_host", Type::String),
    ("proxy_port", Type::Number),
    ("proxy_scheme", Type::String),
    ("proxy_user_name", Type::String),
    ("proxy_user_password", Type::String),
    ("script_path", Type::String),
    ("target_platform", Type::String),
    ("timeout", Type::String),
    ("type", Type::String),
    ("use_ntlm", Type::Bool),
    ("user", Type::String),
];

fn config() -> Type {
    Type::object([("message", Type::String)])
}

/// Returns the response to a call.
pub(crate) fn answer(rpc: &str, request: Bytes) -> Reply {
    match rpc {
        "GetSchema" => {
            one(&get_provisioner_schema::Response { provisioner: Some(described()), diagnostics: Vec::new() })
        }
        "ValidateProvisionerConfig" => {
            let request = validate_provisioner_config::Request::decode(request).unwrap_or_default();
            let message = text(&value(request.config.as_ref(), &config()), "message");
            let is_refused = message.as_deref() == Some("wrong");
            one(&validate_provisioner_config::Response {
                diagnostics: if is_refused { vec![error_diagnostic("message")] } else { Vec::new() },
            })
        }
        "ProvisionResource" => work(&provision_resource::Request::decode(request).unwrap_or_default()),
        "Stop" => {
            stopping().notify_waiters();
            one(&m::stop_provider::Response { error: String::new() })
        }
        _ => Reply::Unknown,
    }
}

fn described() -> Schema {
    let message = schema::Attribute {
        name: "message".into(),
        r#type: Bytes::from_static(b"\"string\""),
        required: true,
        ..Default::default()
    };
    let block = schema::Block { attributes: vec![message], ..Default::default() };
    Schema { version: 0, block: Some(block) }
}

fn work(request: &provision_resource::Request) -> Reply {
    let message = text(&value(request.config.as_ref(), &config()), "message").unwrap_or_default();
    let connection = value(request.connection.as_ref(), &Type::object(CONNECTION));
    let mut responses = vec![shown(&format!("told: {message}\nand a second line"))];
    responses.extend(text(&connection, "host").map(|host| shown(&format!("reached at {host}"))));
    match &*message {
        "wait" => {
            let end = found(m::diagnostic::Severity::Error, "The fake was stopped");
            return Reply::UntilStopped(shown("it waits"), end);
        }
        "fail" => responses.push(found(m::diagnostic::Severity::Error, "The fake failed")),
        "warn" => responses.push(found(m::diagnostic::Severity::Warning, "The fake is not sure")),
        "environment" => {
            let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
            responses.push(shown(&names.collect::<Vec<_>>().join(" ")));
        }
        _ => {}
    }
    Reply::Messages(responses)
}

fn shown(output: &str) -> Vec<u8> {
    provision_resource::Response { output: output.into(), diagnostics: Vec::new() }.encode_to_vec()
}

fn found(severity: m::diagnostic::Severity, summary: &str) -> Vec<u8> {
    let diagnostic = m::Diagnostic {
        severity: severity.into(),
        summary: summary.into(),
        detail: "It was configured to.".into(),
        attribute: None,
    };
    provision_resource::Response { output: String::new(), diagnostics: vec![diagnostic] }.encode_to_vec()
}
