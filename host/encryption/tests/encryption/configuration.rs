//! Configurations that are not valid, and the combination of the block with the variable.

use std::collections::BTreeMap;
use std::path::Path;

use wardian_config::{EncryptionConfig, MemoryFiles, RootVariables, load_root_from};
use wardian_diagnostic::Diagnostics;
use wardian_encryption::{Encryption, EncryptionHost, EncryptionTrust, StaticValues};
use wardian_state::StateEncryption as _;
use wardian_value::{Str, Value};

use super::{METHODS, STATE, decrypted, host};

/// Returns the errors of a configuration's state encryption.
fn errors(configuration: &str) -> String {
    let evaluated = EncryptionConfig::from_variable(configuration)
        .and_then(|config| Encryption::new(config, StaticValues::default(), host()).state());
    shown(&evaluated.expect_err(configuration))
}

fn shown(problems: &Diagnostics) -> String {
    let lines = problems.iter().map(|problem| format!("{}: {}\n", problem.summary, problem.detail));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn invalid_configurations_are_reported() {
    let provider = |arguments: &str| {
        format!(
            "key_provider \"pbkdf2\" \"a\" {{\n{arguments}\n}}\nmethod \"aes_gcm\" \"a\" {{\nkeys = \
             key_provider.pbkdf2.a\n}}\nstate {{\nmethod = method.aes_gcm.a\n}}"
        )
    };
    let long = "passphrase = \"sixteen characters\"";
    for (configuration, expected) in [
        ("state {}".to_owned(), "Missing encryption method"),
        ("state { method = method.aes_gcm }".to_owned(), "Invalid encryption method identifier"),
        ("state { method = var.a }".to_owned(), "Invalid encryption method identifier"),
        ("state { method = method.aes_gcm.a }".to_owned(), "Reference to undeclared encryption method"),
        (
            "method \"rot13\" \"a\" {}\nstate { method = method.rot13.a }".to_owned(),
            "Unknown encryption method type",
        ),
        (
            format!("{METHODS}\nstate {{\nenforced = true\nmethod = method.unencrypted.none\n}}"),
            "Unencrypted method is forbidden",
        ),
        (
            "method \"aes_gcm\" \"a\" {\nkeys = key_provider.pbkdf2.b\n}\nstate { method = method.aes_gcm.a }"
                .to_owned(),
            "Reference to undeclared key provider",
        ),
        (
            "method \"aes_gcm\" \"a\" {\nkeys = \"key_provider.pbkdf2.b\"\n}\nstate { method = method.aes_gcm.a }"
                .to_owned(),
            "Reference to undeclared key provider",
        ),
        (
            "method \"aes_gcm\" \"a\" {}\nstate { method = method.aes_gcm.a }".to_owned(),
            "method.aes_gcm.a: \"keys\" is required",
        ),
        (provider(""), "either \"passphrase\" or \"chain\" is required"),
        (provider("passphrase = \"short\""), "shorter than 16 characters"),
        (provider(&format!("{long}\niterations = 199999")), "from 200000"),
        (provider(&format!("{long}\niterations = 1.5")), "from 200000"),
        (provider(&format!("{long}\niterations = 4000000000")), "evaluations of the hash function"),
        (provider(&format!("{long}\nkey_length = 0")), "from 1"),
        (provider(&format!("{long}\nsalt_length = 0")), "from 1"),
        (provider(&format!("{long}\nhash_function = \"sha1\"")), "must be \"sha256\" or \"sha512\""),
        (provider(&format!("{long}\nrounds = 3")), "Unsupported argument"),
        (provider("passphrase = data.a.b.c"), "Invalid reference"),
        (provider("passphrase = timestamp()"), "not known before the state is read"),
        (provider("chain = key_provider.pbkdf2.a"), "Circular reference detected"),
        (
            "key_provider \"gcp_kms\" \"a\" {}\nmethod \"aes_gcm\" \"a\" {\nkeys = key_provider.gcp_kms.a\n}\nstate { \
             method = method.aes_gcm.a }"
                .to_owned(),
            "The key providers are pbkdf2, external, openbao and aws_kms",
        ),
        (
            "key_provider \"magic\" \"a\" {}\nmethod \"aes_gcm\" \"a\" {\nkeys = key_provider.magic.a\n}\nstate { \
             method = method.aes_gcm.a }"
                .to_owned(),
            "Unknown key_provider type",
        ),
        (format!("{METHODS}{METHODS}"), "Duplicate key_provider"),
        ("key_provider \"a b\" \"c\" {}".to_owned(), "The provided key provider type is invalid"),
        ("method \"a\" {}".to_owned(), "Missing name for method"),
        ("state {}\nstate {}".to_owned(), "Duplicate state block"),
        ("states {}".to_owned(), "Unsupported block type"),
        ("{\"states\": {}}".to_owned(), "Extraneous JSON object property"),
        ("{".to_owned(), "Missing"),
    ] {
        let found = errors(&configuration);
        let is_syntax = configuration == "{";
        assert!(found.contains(expected) || is_syntax, "{configuration}\n{found}");
        assert!(!found.contains("sixteen characters"), "{found}");
    }
}

#[tokio::test]
async fn json_configuration_is_equivalent() {
    let native = super::with_state("method = method.aes_gcm.new\nfallback {\nmethod = method.aes_gcm.old\n}");
    let document = native.encrypt(STATE.as_bytes(), None).await.unwrap();
    for keys in ["key_provider.pbkdf2.new", "${key_provider.pbkdf2.new}"] {
        let json = format!(
            r#"{{
                "key_provider": {{"pbkdf2": {{"new": {{"passphrase": "the present passphrase", "iterations": 200000}}}}}},
                "method": {{"aes_gcm": {{"new": {{"keys": "{keys}"}}}}}},
                "state": {{"method": "method.aes_gcm.new"}}
            }}"#
        );
        let target = super::state_encryption(&json, host());
        assert_eq!(decrypted(&target, &document).await, Ok((STATE.to_owned(), false)), "{json}");
    }
}

/// Returns the encryption of a configuration with a block and the variable.
fn merged(block: &str, variable: &str, host: EncryptionHost) -> Encryption {
    let text = format!(
        "variable \"passphrase\" {{\n sensitive = true\n}}\nvariable \"unset\" {{}}\nlocals {{\n whole = \
         \"${{var.passphrase}} and more\"\n loop = local.loop\n}}\nterraform {{\n encryption {{\n{block}\n}}\n}}\n"
    );
    let files = MemoryFiles::new([("main.tf", text)]);
    let configuration = load_root_from(&files, Path::new("."));
    let configuration = configuration.unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    let module = &configuration.root().module;
    let config = module.encryption.clone().unwrap();
    let config = match variable {
        "" => config,
        text => config.overridden_by(EncryptionConfig::from_variable(text).unwrap()),
    };
    let given = BTreeMap::from([(Str::new("passphrase"), Value::string("the present"))]);
    let values = StaticValues {
        variables: module.variables.clone(),
        locals: module.locals.clone(),
        given: RootVariables::from(given),
        ..StaticValues::default()
    };
    Encryption::new(config, values, host)
}

#[tokio::test]
async fn variables_and_locals_are_evaluated() {
    let block = |expression: &str| {
        format!(
            "key_provider \"pbkdf2\" \"a\" {{\npassphrase = {expression}\niterations = 200000\n}}\nmethod \"aes_gcm\" \
             \"a\" {{\nkeys = key_provider.pbkdf2.a\n}}\nstate {{\nmethod = method.aes_gcm.a\n}}"
        )
    };
    let first = merged(&block("local.whole"), "", host()).state().unwrap().unwrap();
    let document = first.encrypt(STATE.as_bytes(), None).await.unwrap();
    let second = merged(&block("\"the present and more\""), "", host()).state().unwrap().unwrap();
    assert_eq!(decrypted(&second, &document).await, Ok((STATE.to_owned(), false)));
    for (expression, expected) in [
        ("var.unset", "No value for required variable"),
        ("var.undeclared", "Reference to undeclared input variable"),
        ("local.loop", "Circular reference detected"),
        ("local.undeclared", "Reference to undeclared local value"),
    ] {
        let found = shown(&merged(&block(expression), "", host()).state().unwrap_err());
        assert!(found.contains(expected), "{found}");
    }
}

#[tokio::test]
async fn variable_overrides_the_block() {
    let block = "key_provider \"pbkdf2\" \"a\" {\npassphrase = \"the former passphrase\"\niterations = 200000\n}\nmethod \
                 \"aes_gcm\" \"a\" {\nkeys = key_provider.pbkdf2.a\n}\nstate {\nenforced = true\nmethod = \
                 method.aes_gcm.a\n}";
    let plain = merged(block, "", host()).state().unwrap().unwrap();
    let document = plain.encrypt(STATE.as_bytes(), None).await.unwrap();
    let variable = "key_provider \"pbkdf2\" \"a\" {\npassphrase = \"the present passphrase\"\n}";
    let over = merged(block, variable, host()).state().unwrap().unwrap();
    let failure = decrypted(&over, &document).await.unwrap_err();
    assert!(failure.message.contains("the key is not the one"), "{failure}");
    let other = over.encrypt(STATE.as_bytes(), None).await.unwrap();
    let meta: serde_json::Value = serde_json::from_str(&other).unwrap();
    let meta = meta["meta"]["key_provider.pbkdf2.a"].as_str().unwrap().to_owned();
    let meta = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, meta).unwrap();
    assert!(String::from_utf8(meta).unwrap().contains("\"iterations\":200000"), "other arguments remain");
    // `enforced` of the block applies to the methods of the variable.
    let variable = "method \"unencrypted\" \"b\" {}\nstate {\nmethod = method.unencrypted.b\n}";
    let found = shown(&merged(block, variable, host()).state().unwrap_err());
    assert!(found.contains("Unencrypted method is forbidden"), "{found}");
}

#[test]
fn block_is_read_from_json_and_override_files() {
    let load = |files: &[(&str, &str)]| {
        let files = MemoryFiles::new(files.iter().map(|(name, text)| (*name, *text)));
        load_root_from(&files, Path::new("."))
            .map(|configuration| configuration.root().module.encryption.clone())
    };
    let json = r#"{"terraform": {"encryption": {"key_provider": {"pbkdf2": {"a": {"passphrase": "x", "encrypted_metadata_alias": "b"}}}, "method": {"aes_gcm": {"m": {"keys": "key_provider.pbkdf2.a"}}}, "state": {"method": "method.aes_gcm.m", "enforced": true}}}}"#;
    let over = "terraform {\n encryption {\n  key_provider \"pbkdf2\" \"a\" {\n   passphrase = \"y\"\n  }\n  plan {\n   method = \
                method.aes_gcm.m\n  }\n }\n}\n";
    let config = load(&[("main.tf.json", json), ("a_override.tf", over)]).unwrap().unwrap();
    assert_eq!((config.key_providers.len(), config.methods.len()), (1, 1));
    assert_eq!(config.key_providers[0].metadata_key(), "b");
    assert!(config.state.unwrap().is_enforced && config.plan.is_some());
    let twice = load(&[("a.tf", over), ("b.tf", over)]).unwrap_err();
    assert!(shown(&twice).contains("Duplicate encryption configuration"), "{}", shown(&twice));
    let invalid = "terraform {\n encryption {\n  state {\n   enforce = true\n  }\n }\n}\n";
    assert!(shown(&load(&[("a.tf", invalid)]).unwrap_err()).contains("Unsupported argument"));
    assert!(load(&[("a.tf", "")]).unwrap().is_none());
}

#[tokio::test]
async fn remote_states_have_their_own_targets() {
    let text = format!(
        "{METHODS}\nremote_state_data_sources {{\ndefault {{\nmethod = method.aes_gcm.old\n}}\nremote_state_data_source \
         \"m.network\" {{\nmethod = method.aes_gcm.new\n}}\n}}"
    );
    let encryption = super::encryption(&text, host());
    assert!(encryption.state().unwrap().is_none() && encryption.plan().unwrap().is_none());
    let new = super::with_state("method = method.aes_gcm.new");
    let document = new.encrypt(STATE.as_bytes(), None).await.unwrap();
    let named = encryption.remote_state("module.m.data.terraform_remote_state.network").unwrap().unwrap();
    assert!(decrypted(&named, &document).await.is_ok());
    let default = encryption.remote_state("data.terraform_remote_state.network").unwrap().unwrap();
    assert!(decrypted(&default, &document).await.is_err());
}

#[test]
fn untrusted_configuration_opens_no_key_provider() {
    let untrusted = || EncryptionHost { trust: EncryptionTrust::Untrusted, ..host() };
    let with = |providers: &str, keys: &str| {
        format!(
            "{providers}\nmethod \"aes_gcm\" \"a\" {{\nkeys = key_provider.{keys}\n}}\nstate {{\nmethod = \
             method.aes_gcm.a\n}}"
        )
    };
    let program = "key_provider \"external\" \"a\" {\ncommand = [\"touch\", \"/tmp/never\"]\n}";
    for block in [
        with(program, "external.a"),
        with(&format!("{program}\nkey_provider \"pbkdf2\" \"b\" {{\nchain = key_provider.external.a\n}}"), "pbkdf2.b"),
        with("key_provider \"openbao\" \"a\" {\nkey_name = \"k\"\n}", "openbao.a"),
        with("key_provider \"aws_kms\" \"a\" {\nkms_key_id = \"k\"\nkey_spec = \"AES_256\"\n}", "aws_kms.a"),
        "method \"external\" \"a\" {\nencrypt_command = [\"a\"]\ndecrypt_command = [\"a\"]\n}\nstate {\nmethod = \
         method.external.a\n}"
            .to_owned(),
    ] {
        let found = shown(&merged(&block, "", untrusted()).state().unwrap_err());
        assert!(found.contains("Key provider not permitted") && found.contains("-untrusted"), "{found}");
        // The variable cannot make a command of the configuration trusted.
        let over = "key_provider \"external\" \"a\" {\ncommand = [\"true\"]\n}";
        assert!(merged(&block, over, untrusted()).state().is_err());
    }
    let slow = with(
        "key_provider \"pbkdf2\" \"a\" {\npassphrase = local.whole\niterations = 2000001\n}",
        "pbkdf2.a",
    );
    assert!(shown(&merged(&slow, "", untrusted()).state().unwrap_err()).contains("more than 2000000"));
    assert!(merged(&slow, "", host()).state().is_ok());
    let many = (0..20)
        .map(|number| {
            let source = match number {
                0 => "passphrase = local.whole".to_owned(),
                _ => format!("chain = key_provider.pbkdf2.a{}", number - 1),
            };
            format!("key_provider \"pbkdf2\" \"a{number}\" {{\n{source}\n}}\n")
        })
        .collect::<Vec<_>>()
        .concat();
    let many = with(&many, "pbkdf2.a19");
    assert!(shown(&merged(&many, "", untrusted()).state().unwrap_err()).contains("at most 16"));
    let passphrase = with("key_provider \"pbkdf2\" \"a\" {\npassphrase = local.whole\n}", "pbkdf2.a");
    assert!(merged(&passphrase, "", untrusted()).state().is_ok());
    let own = with("key_provider \"external\" \"mine\" {\ncommand = [\"true\"]\n}", "external.mine");
    assert!(merged(&passphrase, &own, untrusted()).state().is_ok(), "the user's own key provider is opened");
}
