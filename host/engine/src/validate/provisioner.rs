//! Provisioners and connections, which belong to the language rather than to a
//! provider.

use std::sync::LazyLock;

use wardian_config::{Provisioner, decode_body};
use wardian_lang::{Body, Diagnostic, Diagnostics, Scope, closest};
use wardian_plugin::{Attribute, AttributeType, Block, Deprecation, Description, Setting};
use wardian_value::{Str, Type};

struct Schemas {
    provisioners: [(&'static str, Block); 3],
    connection: Block,
}

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    use Setting::{Optional, Required};
    let texts = || Type::list(Type::String);
    Schemas {
        provisioners: [
            (
                "file",
                block([
                    ("content", Type::String, Optional),
                    ("destination", Type::String, Required),
                    ("source", Type::String, Optional),
                ]),
            ),
            (
                "local-exec",
                block([
                    ("command", Type::String, Required),
                    ("environment", Type::map(Type::String), Optional),
                    ("interpreter", texts(), Optional),
                    ("quiet", Type::Bool, Optional),
                    ("working_dir", Type::String, Optional),
                ]),
            ),
            (
                "remote-exec",
                block([
                    ("inline", texts(), Optional),
                    ("script", Type::String, Optional),
                    ("scripts", texts(), Optional),
                ]),
            ),
        ],
        connection: block([
            ("agent", Type::Bool, Optional),
            ("agent_identity", Type::String, Optional),
            ("bastion_certificate", Type::String, Optional),
            ("bastion_host", Type::String, Optional),
            ("bastion_host_key", Type::String, Optional),
            ("bastion_password", Type::String, Optional),
            ("bastion_port", Type::Number, Optional),
            ("bastion_private_key", Type::String, Optional),
            ("bastion_user", Type::String, Optional),
            ("cacert", Type::String, Optional),
            ("certificate", Type::String, Optional),
            ("host", Type::String, Required),
            ("host_key", Type::String, Optional),
            ("https", Type::Bool, Optional),
            ("insecure", Type::Bool, Optional),
            ("password", Type::String, Optional),
            ("port", Type::Number, Optional),
            ("private_key", Type::String, Optional),
            ("proxy_host", Type::String, Optional),
            ("proxy_port", Type::Number, Optional),
            ("proxy_scheme", Type::String, Optional),
            ("proxy_user_name", Type::String, Optional),
            ("proxy_user_password", Type::String, Optional),
            ("script_path", Type::String, Optional),
            ("target_platform", Type::String, Optional),
            ("timeout", Type::String, Optional),
            ("type", Type::String, Optional),
            ("use_ntlm", Type::Bool, Optional),
            ("user", Type::String, Optional),
        ]),
    }
});

fn block<const COUNT: usize>(attributes: [(&'static str, Type, Setting); COUNT]) -> Block {
    let attribute = |(name, ty, setting)| {
        let attribute = Attribute {
            ty: AttributeType::Value(ty),
            description: Description::default(),
            setting,
            sensitive: false,
            write_only: false,
            deprecation: Deprecation::None,
        };
        (Str::new(name), attribute)
    };
    Block { attributes: attributes.into_iter().map(attribute).collect(), ..Block::default() }
}

/// Validates a provisioner, where `self` is the object that it is for.
pub(super) fn validate(provisioner: &Provisioner, scope: &dyn Scope) -> Diagnostics {
    let schemas = &SCHEMAS.provisioners;
    let name = &*provisioner.type_name;
    let Some((_, schema)) = schemas.iter().find(|(known, _)| *known == name) else {
        let advice = match closest(name, schemas.iter().map(|(known, _)| *known)) {
            Some(near) => format!("Did you mean \"{near}\"?"),
            None => "There are file, local-exec and remote-exec.".to_owned(),
        };
        let detail = format!("There is no provisioner \"{name}\". {advice}");
        return Diagnostic::error("Invalid provisioner type", detail).at(provisioner.span.clone()).into();
    };
    let (_, mut diagnostics) = decode_body(&provisioner.body, schema, scope);
    if let Some(connection) = &provisioner.connection {
        diagnostics.extend(validate_connection(connection, scope));
    }
    diagnostics
}

/// Validates a connection.
pub(super) fn validate_connection(connection: &Body, scope: &dyn Scope) -> Diagnostics {
    decode_body(connection, &SCHEMAS.connection, scope).1
}
