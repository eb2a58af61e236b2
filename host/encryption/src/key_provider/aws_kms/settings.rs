//! The arguments of `aws_kms` that select the service, the credentials and the connection.

use std::path::{Path, PathBuf};

use url::Url;
use wardian_aws::{AwsSettings, ProfileFiles, RoleSettings, SigningKey, WebIdentitySettings};
use wardian_diagnostic::Diagnostics;
use wardian_download::Downloader;
use wardian_files::read_regular;
use wardian_network::{TlsRoots, TlsSettings, Verification};
use wardian_plugin::Block;
use wardian_value::{ObjectType, Str, Type, Value};

use crate::arguments::{self, Arguments, strings};
use crate::host::EncryptionHost;

const MAX_FILE_BYTES: u64 = 4 << 20;
const METADATA_SERVICE: &str = "http://169.254.169.254/";
const CONTAINER_SERVICE: &str = "http://169.254.170.2";

pub(in crate::key_provider) fn schema() -> Block {
    let list = || Type::list(Type::String);
    let role = |names: &[&'static str]| {
        let texts = names.iter().map(|name| (Str::new(name), Type::String, true));
        let others = [
            (Str::new("policy_arns"), list(), true),
            (Str::new("tags"), Type::map(Type::String), true),
            (Str::new("transitive_tag_keys"), list(), true),
        ];
        Type::Object(ObjectType::with_optional(texts.chain(others)).into())
    };
    let schema = arguments::schema([
        ("access_key", Type::String),
        ("allowed_account_ids", list()),
        ("assume_role", role(&["duration", "external_id", "policy", "role_arn", "session_name"])),
        (
            "assume_role_with_web_identity",
            role(&[
                "duration",
                "policy",
                "role_arn",
                "session_name",
                "web_identity_token",
                "web_identity_token_file",
            ]),
        ),
        ("custom_ca_bundle", Type::String),
        ("ec2_metadata_service_endpoint", Type::String),
        ("ec2_metadata_service_endpoint_mode", Type::String),
        ("encryption_context", Type::map(Type::String)),
        ("forbidden_account_ids", list()),
        ("http_proxy", Type::String),
        ("https_proxy", Type::String),
        ("insecure", Type::Bool),
        ("key_spec", Type::String),
        ("kms_key_id", Type::String),
        ("max_retries", Type::Number),
        ("no_proxy", Type::String),
        ("profile", Type::String),
        ("region", Type::String),
        ("retry_mode", Type::String),
        ("secret_key", Type::String),
        ("shared_config_files", list()),
        ("shared_credentials_files", list()),
        ("skip_credentials_validation", Type::Bool),
        ("skip_metadata_api_check", Type::Bool),
        ("skip_requesting_account_id", Type::Bool),
        ("sts_region", Type::String),
        ("token", Type::String),
        ("use_dualstack_endpoint", Type::Bool),
        ("use_fips_endpoint", Type::Bool),
    ]);
    arguments::with_block(schema, "endpoints", [("iam", Type::String), ("sts", Type::String)])
}

pub(super) fn region(arguments: &Arguments, host: &EncryptionHost) -> Result<String, Diagnostics> {
    let given = arguments.text("region").map(str::to_owned);
    let given = given.or_else(|| host.first_variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
    let of_profile = || {
        let name = arguments.text("profile").map(str::to_owned).or_else(|| host.variable("AWS_PROFILE"));
        let profile = profile_files(arguments, host).profile(name.as_deref().unwrap_or("default")).ok()?;
        profile.get("region").map(str::to_owned)
    };
    let region = given.or_else(of_profile).ok_or_else(|| {
        arguments.invalid("\"region\" is required; AWS_REGION and AWS_DEFAULT_REGION are not set either")
    })?;
    if region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Ok(region);
    }
    Err(arguments.invalid(&format!("\"{region}\" is not the name of a region")))
}

pub(super) fn endpoint(
    arguments: &Arguments,
    host: &EncryptionHost,
    region: &str,
) -> Result<Url, Diagnostics> {
    if let Some(text) = host.first_variable(&["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL"]) {
        return url(arguments, &text);
    }
    let flag = |name: &str, variable: &str| {
        arguments.flag(name).unwrap_or_else(|| host.variable(variable).is_some_and(|text| text == "true"))
    };
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let is_fips = flag("use_fips_endpoint", "AWS_USE_FIPS_ENDPOINT");
    let is_dualstack = flag("use_dualstack_endpoint", "AWS_USE_DUALSTACK_ENDPOINT");
    let name = if is_fips { "kms-fips" } else { "kms" };
    let domain = if is_dualstack { "api.aws" } else { domain };
    url(arguments, &format!("https://{name}.{region}.{domain}/"))
}

fn url(arguments: &Arguments, text: &str) -> Result<Url, Diagnostics> {
    let text = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    Url::parse(&text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some())
        .ok_or_else(|| arguments.invalid(&format!("the endpoint \"{text}\" is not a URL")))
}

pub(super) fn client(arguments: &Arguments, host: &EncryptionHost) -> Result<Downloader, Diagnostics> {
    for name in ["http_proxy", "https_proxy", "no_proxy"] {
        if arguments.get(name).is_some() {
            let problem =
                format!("\"{name}\" is not supported; set the variable {}", name.to_ascii_uppercase());
            return Err(arguments.invalid(&problem));
        }
    }
    let bundle = arguments.text("custom_ca_bundle").map(str::to_owned);
    let bundle = bundle.or_else(|| host.variable("AWS_CA_BUNDLE"));
    let authorities = match bundle {
        None => None,
        Some(path) => {
            let bytes = read_regular(&expand(&path, host), MAX_FILE_BYTES);
            Some(bytes.map_err(|error| arguments.invalid(&format!("{path} cannot be read: {error}")))?)
        }
    };
    let is_insecure = arguments.flag("insecure").unwrap_or_default();
    let roots = if authorities.is_none() && !is_insecure {
        TlsRoots::from_system()
    } else {
        let verification = if is_insecure { Verification::None } else { Verification::Full };
        TlsRoots::from_settings(&TlsSettings { authorities, identity: None, verification })
            .map_err(|error| arguments.invalid(&format!("the TLS settings cannot be used: {error}")))?
    };
    host.http.client(roots).map_err(|problem| arguments.invalid(&problem))
}

pub(super) fn credentials(
    arguments: &Arguments,
    host: &EncryptionHost,
    region: &str,
) -> Result<AwsSettings, Diagnostics> {
    let optional_url = |text: Option<String>| text.map(|text| url(arguments, &text)).transpose();
    let in_block = arguments.get("endpoints").and_then(|block| block.get("sts")).and_then(Value::as_str);
    let token_service = in_block.filter(|text| !text.is_empty()).map(str::to_owned);
    let token_service =
        token_service.or_else(|| host.first_variable(&["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"]));
    let static_key = match (arguments.text("access_key"), arguments.text("secret_key")) {
        (Some(id), Some(secret)) => {
            Some(SigningKey::new(id, secret, arguments.text("token").map(str::to_owned)))
        }
        (None, None) => None,
        _ => return Err(arguments.invalid("\"access_key\" and \"secret_key\" must be set together")),
    };
    let environment_key = match (host.variable("AWS_ACCESS_KEY_ID"), host.variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => Some(SigningKey::new(id, secret, host.variable("AWS_SESSION_TOKEN"))),
        _ => None,
    };
    Ok(AwsSettings {
        static_key,
        profile: arguments.text("profile").map(str::to_owned),
        environment_key,
        environment_profile: host.variable("AWS_PROFILE"),
        environment_web_identity: environment_web_identity(host),
        files: profile_files(arguments, host),
        home: host.home.clone(),
        container: container(arguments, host)?,
        instance_metadata: instance_metadata(arguments, host)?,
        role: arguments.get("assume_role").map(|value| role(arguments, value)).transpose()?,
        web_identity: arguments
            .get("assume_role_with_web_identity")
            .map(|value| web_identity(arguments, host, value))
            .transpose()?,
        region: region.to_owned(),
        token_service: optional_url(token_service)?,
        token_service_region: arguments.text("sts_region").map(str::to_owned),
        sso: optional_url(host.first_variable(&["AWS_ENDPOINT_URL_SSO", "AWS_ENDPOINT_URL"]))?,
    })
}

fn expand(text: &str, host: &EncryptionHost) -> PathBuf {
    match (text.strip_prefix("~/"), &host.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => host.directory.join(text),
    }
}

fn profile_files(arguments: &Arguments, host: &EncryptionHost) -> ProfileFiles {
    let files = |argument: &str, variable: &str, default: &str| {
        let given = arguments.strings(argument);
        if !given.is_empty() {
            return given.iter().map(|text| expand(text, host)).collect();
        }
        let named = host.variable(variable).map(|text| expand(&text, host));
        named.or_else(|| Some(host.home.as_deref()?.join(Path::new(default)))).into_iter().collect()
    };
    ProfileFiles {
        credentials: files("shared_credentials_files", "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
        config: files("shared_config_files", "AWS_CONFIG_FILE", ".aws/config"),
    }
}

fn environment_web_identity(host: &EncryptionHost) -> Option<WebIdentitySettings> {
    Some(WebIdentitySettings {
        role: RoleSettings {
            role_arn: host.variable("AWS_ROLE_ARN")?,
            session_name: host.variable("AWS_ROLE_SESSION_NAME"),
            ..RoleSettings::default()
        },
        token: None,
        token_file: Some(PathBuf::from(host.variable("AWS_WEB_IDENTITY_TOKEN_FILE")?)),
    })
}

fn container(
    arguments: &Arguments,
    host: &EncryptionHost,
) -> Result<Option<(Url, Option<String>)>, Diagnostics> {
    let relative = host.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let relative = relative.map(|path| format!("{CONTAINER_SERVICE}{path}"));
    let Some(text) = relative.or_else(|| host.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) else {
        return Ok(None);
    };
    let token_file = host.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    let from_file = token_file.and_then(|path| read_regular(Path::new(&path), MAX_FILE_BYTES).ok());
    let from_file = from_file.and_then(|bytes| String::from_utf8(bytes).ok());
    let token = from_file.or_else(|| host.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    Ok(Some((url(arguments, &text)?, token)))
}

fn instance_metadata(arguments: &Arguments, host: &EncryptionHost) -> Result<Option<Url>, Diagnostics> {
    let is_disabled = arguments.flag("skip_metadata_api_check").unwrap_or_default()
        || host.variable("AWS_EC2_METADATA_DISABLED").is_some_and(|text| text == "true");
    if is_disabled {
        return Ok(None);
    }
    let text = arguments.text("ec2_metadata_service_endpoint").map(str::to_owned);
    let text = text.or_else(|| host.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
    url(arguments, text.as_deref().unwrap_or(METADATA_SERVICE)).map(Some)
}

fn role(arguments: &Arguments, value: &Value) -> Result<RoleSettings, Diagnostics> {
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let role_arn = text("role_arn").ok_or_else(|| arguments.invalid("the role requires \"role_arn\""))?;
    let duration =
        match text("duration") {
            None => None,
            Some(text) => Some(parse_duration(&text).ok_or_else(|| {
                arguments.invalid(&format!("\"{text}\" is not a duration such as \"1h30m\""))
            })?),
        };
    let tags = value.get("tags").and_then(Value::as_mapping).into_iter().flatten();
    Ok(RoleSettings {
        role_arn,
        session_name: text("session_name"),
        duration,
        external_id: text("external_id"),
        policy: text("policy"),
        policy_arns: strings(value.get("policy_arns")),
        source_identity: None,
        tags: tags.filter_map(|(name, value)| Some((name.to_string(), value.as_str()?.to_owned()))).collect(),
        transitive_tag_keys: strings(value.get("transitive_tag_keys")),
    })
}

fn web_identity(
    arguments: &Arguments,
    host: &EncryptionHost,
    value: &Value,
) -> Result<WebIdentitySettings, Diagnostics> {
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let token_file = text("web_identity_token_file").or_else(|| host.variable("AWS_WEB_IDENTITY_TOKEN_FILE"));
    Ok(WebIdentitySettings {
        role: role(arguments, value)?,
        token: text("web_identity_token"),
        token_file: token_file.map(|path| expand(&path, host)),
    })
}

/// Parses a duration in hours, minutes and seconds, such as `1h30m`, and returns the seconds.
fn parse_duration(text: &str) -> Option<u64> {
    let (mut seconds, mut number): (u64, Option<u64>) = (0, None);
    for character in text.chars() {
        let factor = match character {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            digit => {
                let digit = u64::from(digit.to_digit(10)?);
                number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
                continue;
            }
        };
        seconds = seconds.checked_add(number.take()?.checked_mul(factor)?)?;
    }
    (number.is_none() && seconds > 0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn durations_have_units() {
        assert_eq!(parse_duration("1h30m"), Some(5400));
        assert_eq!(parse_duration("90s"), Some(90));
        for invalid in ["", "1", "h", "1x", "0s", "99999999999999999999h"] {
            assert_eq!(parse_duration(invalid), None, "{invalid}");
        }
    }
}
