use proptest::prelude::*;
use wardian_address::ProviderAddress;

use super::*;
use crate::network_source::NetworkMethod;
use crate::sources::InstallationMethodKind;

fn variables(name: &str) -> Option<String> {
    (name == "HOME").then(|| "/home/someone".to_owned())
}

fn parse(text: &str) -> Result<LoadedCliConfig, CliConfigError> {
    CliConfig::parse(text, Path::new("cli.tfrc"), &variables)
}

const EXAMPLE: &str = r#"
# comment
plugin_cache_dir   = "$HOME/.terraform.d/${NONE}plugin-cache"
disable_checkpoint = true
experiment         = "x" // unknown

credentials "app.terraform.io" {
  token = "sesame"
}
credentials_helper "vault" {
  args = ["--verbose", "a\"b"]
}
host "example.com" {
  services = {
    "providers.v1" = "https://example.com/v1/"
    "login.v1"     = { client = "x" }
  }
}
provider_installation {
  dev_overrides {
    "acme/dns" = "/home/someone/dns"
    "example.com/a/b" = "b.wasm",
  }
  filesystem_mirror {
    path    = "/usr/share/terraform/providers"
    include = ["example.com/*/*"]
  }
  /* and
     the rest */
  direct {
    exclude = ["example.com/*/*"]
  }
}
"#;

const EXAMPLE_JSON: &str = r#"{
  "plugin_cache_dir": "/home/someone/.terraform.d/plugin-cache",
  "disable_checkpoint": true,
  "credentials": { "app.terraform.io": { "token": "sesame" } },
  "credentials_helper": [ { "vault": { "args": ["--verbose", "a\u0022b"] } } ],
  "host": { "example.com": { "services": { "providers.v1": "https:\/\/example.com/v1/", "login.v1": { "client": "x" } } } },
  "provider_installation": {
    "dev_overrides": { "acme/dns": "/home/someone/dns", "example.com/a/b": "b.wasm" },
    "filesystem_mirror": [ { "path": "/usr/share/terraform/providers", "include": ["example.com/*/*"] } ],
    "direct": { "exclude": ["example.com/*/*"] }
  }
}
"#;

#[test]
fn hcl_and_json_are_equivalent() {
    let loaded = parse(EXAMPLE).unwrap();
    let config = &loaded.config;
    assert_eq!(
        config.plugin_cache_dir.as_deref(),
        Some(Path::new("/home/someone/.terraform.d/plugin-cache"))
    );
    assert!(config.disable_checkpoint && !config.disable_checkpoint_signature);
    assert_eq!(config.credentials["app.terraform.io"].reveal(), "sesame");
    assert_eq!(config.credentials_helper.as_ref().unwrap().arguments, ["--verbose", "a\"b"]);
    assert_eq!(config.hosts["example.com"]["providers.v1"], "https://example.com/v1/");
    assert_eq!(config.hosts["example.com"]["login.v1"]["client"], "x");
    let installation = config.provider_installation.as_ref().unwrap();
    assert_eq!(installation.overrides.len(), 2);
    assert_eq!(
        installation.overrides[&ProviderAddress::parse("acme/dns").unwrap()],
        Path::new("/home/someone/dns")
    );
    assert!(matches!(installation.methods[0].kind, InstallationMethodKind::Filesystem(_)));
    assert_eq!(installation.methods[1].kind, InstallationMethodKind::Network(NetworkMethod::Registry));
    assert!(!installation.methods[1].scope.covers(&ProviderAddress::parse("example.com/a/b").unwrap()));
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["cli.tfrc:5: the CLI configuration setting \"experiment\" is unknown and has no effect"]
    );
    assert_eq!(parse(EXAMPLE_JSON).unwrap().config, loaded.config);
}

#[test]
fn debug_output_hides_tokens() {
    assert!(!format!("{:?}", parse(EXAMPLE).unwrap()).contains("sesame"));
}

#[test]
fn errors_include_the_position() {
    for (text, expected) in [
        ("plugin_cache_dir = 3", "cli.tfrc:1: \"plugin_cache_dir\" must be a quoted string"),
        ("\nprovider_installation {\n  oci {}\n}", "cli.tfrc:3: \"oci\" is not an installation method"),
        (
            "provider_installation {\n  filesystem_mirror {}\n}",
            "cli.tfrc:2: a filesystem_mirror block needs the argument \"path\"",
        ),
        (
            "provider_installation {\n direct {\n path = \"x\"\n}\n}",
            "cli.tfrc:3: a direct block has no argument \"path\"",
        ),
        (
            "provider_installation {\n direct {}\n dev_overrides {}\n}",
            "cli.tfrc:3: dev_overrides must come before",
        ),
        (
            "provider_installation {\n network_mirror { url = \"http://x/\" }\n}",
            "cli.tfrc:2: the url of a network_mirror must",
        ),
        (
            "provider_installation {\n direct { include = [\"a/b/c/d\"] }\n}",
            "cli.tfrc:2: invalid provider pattern \"a/b/c/d\"",
        ),
        (
            "provider_installation {}\nprovider_installation {}",
            "cli.tfrc:2: only one provider_installation block",
        ),
        (
            "provider_installation {\n dev_overrides = { \"a_b/c\" = \"x\" }\n}",
            "cli.tfrc:2: invalid provider source address",
        ),
        ("disable_checkpoint = \"maybe\"", "cli.tfrc:1: \"disable_checkpoint\" must be true or false"),
        ("a = \"x\nb = 1", "cli.tfrc:1: syntax error: a closing quote is missing"),
        ("a {\n", "cli.tfrc:2: syntax error: a closing brace is missing"),
        ("a = <<EOT\nEOT", "cli.tfrc:1: syntax error: expected a value"),
        ("/* x", "cli.tfrc:1: syntax error: this comment is not closed"),
        ("{} x", "cli.tfrc:1: syntax error: nothing may follow"),
        ("}", "cli.tfrc:1: syntax error: expected the name of a setting"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(parse(&deep).unwrap_err().to_string().contains("too deep"));
}

#[test]
fn later_files_are_merged_and_missing_files_cause_warnings() {
    let root = tempfile::tempdir().unwrap();
    let main = root.path().join("main");
    fs::write(root.path().join("b.tfrc"), "credentials \"x\" { token = \"2\" }").unwrap();
    fs::write(root.path().join("a.tfrc"), "credentials \"x\" { token = \"1\" }\nprovider_installation {}")
        .unwrap();
    fs::write(root.path().join("credentials.tfrc.json"), "{\"credentials\":{\"y\":{\"token\":\"3\"}}}")
        .unwrap();
    fs::write(root.path().join("ignored.txt"), "]").unwrap();
    let loaded = CliConfig::load(Some(&main), Some(root.path()), &variables).unwrap();
    assert_eq!(loaded.warnings, [CliConfigWarning::Missing(main.clone())]);
    assert_eq!(loaded.config.credentials["x"].reveal(), "2");
    assert_eq!(loaded.config.credentials["y"].reveal(), "3");
    fs::write(&main, "provider_installation {}").unwrap();
    let error = CliConfig::load(Some(&main), Some(root.path()), &variables).unwrap_err();
    assert!(matches!(error, CliConfigError::SecondInstallation { .. }));
    let nothing = CliConfig::load(None, Some(&root.path().join("none")), &variables).unwrap();
    assert_eq!(nothing, LoadedCliConfig::default());
}

proptest! {
    #[test]
    fn cli_config_parser_never_panics(
        text in "\\PC{0,80}",
        cut in 0usize..EXAMPLE.len(),
        noise in "[{}\"=\\[\\], \n#/*:a1\\\\u$]{0,24}",
    ) {
        let _ = parse(&text);
        let _ = parse(&noise);
        let _ = parse(&format!("{}{noise}", &EXAMPLE[..cut]));
        let _ = parse(&format!("plugin_cache_dir = \"{}\"", text.replace(['"', '\\'], "$")));
    }
}
