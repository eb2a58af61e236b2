//! The hash of a `backend` block, with which Terraform detects that the block has changed.

use wardian_value::{Value, View};

use crate::config::BackendConfig;

/// Returns the hash of a block's arguments. Arguments that `-backend-config` sets are not part of
/// the block.
pub fn block_hash(type_name: &str, block: &BackendConfig) -> u64 {
    let mut text = format!("<\"{type_name}\";");
    append(&mut text, block.value());
    text.push_str(";>");
    crc32fast::hash(text.as_bytes()).into()
}

fn append(text: &mut String, value: &Value) {
    let string = |text: &str| serde_json::Value::from(text).to_string();
    match value.view() {
        View::Null | View::Unknown => text.push('~'),
        View::Bool(value) => text.push(if value { 'T' } else { 'F' }),
        View::Number(number) => text.push_str(&number.to_string()),
        View::String(value) => text.push_str(&string(value)),
        View::List(elements) | View::Set(elements) | View::Tuple(elements) => {
            let (open, close) = if matches!(value.view(), View::Tuple(_)) { ('<', '>') } else { ('[', ']') };
            text.push(open);
            for element in elements {
                append(text, element);
                text.push(';');
            }
            text.push(close);
        }
        View::Object(attributes) => {
            text.push('<');
            for attribute in attributes.values() {
                append(text, attribute);
                text.push(';');
            }
            text.push('>');
        }
        View::Map(elements) => {
            text.push('{');
            for (name, element) in elements {
                text.push_str(&string(name));
                text.push(':');
                append(text, element);
                text.push(';');
            }
            text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::find;

    #[test]
    fn hashes_match_terraform() {
        let hash = |type_name: &str, arguments: &[(&str, Value)]| {
            let schema = find(type_name).unwrap().schema();
            let config = Value::object(arguments.iter().map(|(name, value)| (*name, value.clone())));
            block_hash(type_name, &BackendConfig::from_object(&config, schema).unwrap())
        };
        assert_eq!(hash("local", &[]), 666_019_178);
        assert_eq!(hash("local", &[("path", Value::string("x/y.tfstate"))]), 1_293_398_979);
        assert_eq!(hash("local", &[("workspace_dir", Value::string("ws"))]), 4_159_885_873);
        let consul = ["address", "scheme", "path"].map(|name| {
            let value = match name {
                "address" => "127.0.0.1:18500",
                "scheme" => "http",
                _ => "full/path",
            };
            (name, Value::string(value))
        });
        assert_eq!(hash("consul", &consul), 1_274_601_369);
        let text = |text: &str| Value::string(text);
        let enterprise = |workspaces: Value| {
            let origin = [("hostname", text("localhost:18600")), ("organization", text("org"))];
            [&origin[..], &[("workspaces", workspaces)]].concat()
        };
        let kubernetes = [("secret_suffix", text("state")), ("config_path", text("/tmp/svc/kubeconfig"))];
        assert_eq!(hash("kubernetes", &kubernetes), 354_109_242);
        assert_eq!(hash("remote", &enterprise(Value::object([("name", text("app"))]))), 3_808_833_248);
        let named = Value::object([("name", text("capp")), ("project", text("proj"))]);
        assert_eq!(hash("cloud", &enterprise(named)), 2_379_357_889);
        let tagged = Value::object([("tags", Value::tuple([text("a"), text("b")]))]);
        assert_eq!(hash("cloud", &enterprise(tagged)), 4_221_616_828);
        let endpoint = Value::object([("s3", Value::string("http://127.0.0.1:15001"))]);
        let text = |name: &'static str, text: &str| (name, Value::string(text));
        let flags = [
            "encrypt",
            "skip_credentials_validation",
            "skip_requesting_account_id",
            "use_lockfile",
            "use_path_style",
        ];
        let mut bucket = vec![
            text("bucket", "bucket"),
            text("key", "a/b.tfstate"),
            text("region", "us-east-1"),
            ("endpoints", endpoint),
        ];
        bucket.extend(flags.map(|name| (name, Value::bool(true))));
        assert_eq!(hash("s3", &bucket), 3_006_992_583);
        let conn_str = text("conn_str", "postgres://postgres@127.0.0.1:15432/postgres?sslmode=disable");
        assert_eq!(hash("pg", &[conn_str]), 2_554_411_956);
        let address = ("address", Value::string("http://127.0.0.1:18080/a"));
        assert_eq!(hash("http", std::slice::from_ref(&address)), 3_179_068_631);
        let others = [("retry_max", Value::number(3)), ("skip_cert_verification", Value::bool(true))];
        assert_eq!(hash("http", &[&[address], &others[..]].concat()), 1_316_941_075);
        let blob = [
            text("storage_account_name", "acct"),
            text("container_name", "cont"),
            text("key", "a/b c.tfstate"),
            text("access_key", "a2V5LWZvci10ZXN0cy0wMTIzNDU2Nzg5MDEyMzQ1"),
        ];
        assert_eq!(hash("azurerm", &blob), 504_405_459);
        assert_eq!(hash("gcs", &[text("bucket", "bkt"), text("prefix", "a/b c")]), 3_227_100_349);
    }
}
