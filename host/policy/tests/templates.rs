//! Templates for well-known native providers.

#![allow(clippy::unwrap_used, reason = "a test whose template is wrong ends here")]

mod support;

use std::path::Path;

use support::{ROOT, parse, plugin, policy, request};
use wardian_address::ProviderAddress;
use wardian_policy::{
    CapabilityRequest, Level, NativePlugins, PluginPolicy, PolicyTemplate, TemplateError, TemplateValues,
    add_block,
};

/// Values of a user without a home directory.
fn nothing() -> TemplateValues<'static> {
    TemplateValues {
        hosts: &[],
        ports: &[],
        directories: &[],
        instance_credentials: false,
        home: None,
        variable: &|_| None,
        root_module: Path::new(ROOT),
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Values of a user with a home directory.
fn with_home() -> TemplateValues<'static> {
    TemplateValues { home: Some(Path::new("/home/ada")), ..nothing() }
}

/// Returns the block of a template, with values for everything that the template needs.
fn complete_block(address: &ProviderAddress) -> String {
    let template = PolicyTemplate::for_plugin(address).unwrap();
    let (hosts, directories) = (words(&["given.example.com"]), words(&["given"]));
    let variable = |name: &str| Some(format!("/files/{}", name.to_lowercase()));
    let mut values = TemplateValues { variable: &variable, ..with_home() };
    let needs = |values: &TemplateValues<'_>, name: &str| matches!(template.requests(values), Err(TemplateError::MissingValue { option, .. }) if option == name);
    if needs(&values, "hosts") {
        values.hosts = &hosts;
    }
    if needs(&values, "directories") {
        values.directories = &directories;
    }
    values.instance_credentials = true;
    if template.requests(&values).is_err() {
        values.instance_credentials = false;
    }
    block(&template, &template.requests(&values).unwrap())
}

fn block(template: &PolicyTemplate, requests: &[CapabilityRequest]) -> String {
    template.block(&requests.iter().collect::<Vec<_>>()).unwrap()
}

/// Returns the policy of a template's block.
#[track_caller]
fn from_template(address: &str, values: &TemplateValues<'_>) -> PluginPolicy {
    let address = plugin(address);
    let template = PolicyTemplate::for_plugin(&address).unwrap();
    let block = block(&template, &template.requests(values).unwrap());
    policy(&[(Level::RootModule, &block)]).for_plugin(&address)
}

#[track_caller]
fn check(policy: &PluginPolicy, allowed: &[&str], denied: &[&str]) {
    for text in allowed {
        assert!(policy.decide(&request(text)).is_allowed(), "{text}");
    }
    for text in denied {
        assert!(!policy.decide(&request(text)).is_allowed(), "{text}");
    }
}

#[test]
fn templates_are_valid_and_confine_the_plugin() {
    let mut all = String::new();
    for address in PolicyTemplate::plugins() {
        let block = complete_block(&address);
        let file = parse(Level::RootModule, &block).unwrap();
        assert!(file.contradictions().is_empty(), "{block}");
        let policy = policy(&[(Level::RootModule, &block)]).for_plugin(&address);
        assert_eq!(policy.native(), NativePlugins::Confine, "{address}");
        assert!(policy.unenforceable_for_native_code().is_empty(), "{address}");
        assert!(policy.native_confinement().is_ok(), "{address}");
        let explanation = policy.explain();
        assert_eq!(file.rule_count() == 0, explanation.allowed.is_empty(), "{address}");
        assert!(explanation.without_effect.is_empty(), "{address}");
        assert!(explanation.allowed.iter().all(|one| one.reason.is_some()), "{address}");
        all.push_str(&block);
        all.push('\n');
    }
    insta::assert_snapshot!(all);
}

#[test]
fn providers_have_templates() {
    let known: Vec<String> =
        PolicyTemplate::plugins().iter().map(|plugin| plugin.for_display().to_string()).collect();
    insta::assert_snapshot!(known.join("\n"));
    assert!(PolicyTemplate::for_plugin(&plugin("DataDog/DataDog")).is_some());
    assert!(PolicyTemplate::for_plugin(&plugin("acme/aws")).is_none());
    assert!(PolicyTemplate::for_plugin(&plugin("registry.example.com/hashicorp/aws")).is_none());
}

#[test]
fn metadata_addresses_need_an_option() {
    for address in PolicyTemplate::plugins() {
        let template = PolicyTemplate::for_plugin(&address).unwrap();
        let (hosts, directories) = (words(&["given.example.com"]), words(&["given"]));
        let mut values = with_home();
        for _ in 0..2 {
            match template.requests(&values) {
                Err(TemplateError::MissingValue { option: "hosts", .. }) => values.hosts = &hosts,
                Err(TemplateError::MissingValue { .. }) => values.directories = &directories,
                _ => {}
            }
        }
        let block = block(&template, &template.requests(&values).unwrap());
        let policy = policy(&[(Level::RootModule, &block)]).for_plugin(&address);
        for metadata in ["169.254.169.254:80", "169.254.170.2:80", "169.254.170.23:80", "[fd00:ec2::254]:80"]
        {
            assert!(!policy.decide(&request(&format!("open http://{metadata}"))).is_allowed(), "{address}");
        }
        let address_of = |name: &str| name.parse().unwrap();
        let google = request("open https://storage.googleapis.com:443");
        assert!(!policy.decide_at(&google, address_of("169.254.169.254")).is_allowed());
    }
    let values = TemplateValues { instance_credentials: true, ..with_home() };
    let metadata = ["open http://169.254.169.254:80"];
    check(&from_template("hashicorp/aws", &values), &metadata, &["open https://169.254.169.254:443"]);
    check(&from_template("hashicorp/google", &values), &metadata, &[]);
    check(&from_template("hashicorp/azurerm", &values), &metadata, &[]);
    let template = PolicyTemplate::for_plugin(&plugin("cloudflare/cloudflare")).unwrap();
    assert_eq!(template.requests(&values), Err(TemplateError::NoInstanceCredentials));
}

#[test]
fn paths_are_absolute() {
    let variable = |name: &str| match name {
        "AWS_CA_BUNDLE" => Some("/etc/corp/ca.pem".to_owned()),
        "AWS_CONFIG_FILE" => Some("relative/config".to_owned()),
        _ => None,
    };
    let values = TemplateValues { variable: &variable, ..with_home() };
    check(
        &from_template("hashicorp/aws", &values),
        &[
            "read /home/ada/.aws/config",
            "read /etc/corp/ca.pem",
            "env AWS_REGION",
            "open https://sts.amazonaws.com:443",
        ],
        &["read /home/ada/.aws/cli", "write /home/ada/.aws/config", "read relative/config", "run aws"],
    );
    let template = PolicyTemplate::for_plugin(&plugin("hashicorp/aws")).unwrap();
    assert_eq!(template.requests(&nothing()), Err(TemplateError::UnknownHome));
}

#[test]
fn user_specifies_hosts() {
    let values = with_home();
    let requests = |address: &str, values: &TemplateValues<'_>| {
        PolicyTemplate::for_plugin(&plugin(address)).unwrap().requests(values)
    };
    let problem =
        |address: &str, values: &TemplateValues<'_>| requests(address, values).unwrap_err().to_string();
    let (hosts, ports) = (words(&["db.example.com"]), words(&["5433"]));
    let given = TemplateValues { hosts: &hosts, ports: &ports, ..values };
    insta::assert_snapshot!(
        [
            problem("cyrilgdn/postgresql", &values),
            problem("hashicorp/archive", &values),
            problem("hashicorp/aws", &given),
            problem("hashicorp/aws", &TemplateValues { hosts: &[], ..given }),
        ]
        .join("\n")
    );
    assert!(requests("cyrilgdn/postgresql", &TemplateValues { hosts: &words(&["a b"]), ..values }).is_err());
    check(
        &from_template("cyrilgdn/postgresql", &given),
        &["open tcp://db.example.com:5433"],
        &["open tcp://db.example.com:5432", "open https://db.example.com:5433"],
    );
    check(
        &from_template("gitlabhq/gitlab", &values),
        &["open https://gitlab.com:443"],
        &["open https://db.example.com:443"],
    );
    check(
        &from_template("gitlabhq/gitlab", &given),
        &["open https://db.example.com:5433"],
        &["open https://gitlab.com:443"],
    );
    check(
        &from_template("kreuzwerker/docker", &values),
        &["socket /var/run/docker.sock"],
        &["read /var/run/docker.sock"],
    );
    assert!(PolicyTemplate::for_plugin(&plugin("kreuzwerker/docker")).unwrap().warning().is_some());
}

#[test]
fn block_is_added_at_the_end() {
    let template = PolicyTemplate::for_plugin(&plugin("hashicorp/tls")).unwrap();
    let block = block(&template, &template.requests(&nothing()).unwrap());
    let old = "plugin \"hashicorp/tls\" {\n  native = \"warn\"\n}";
    let new = add_block(Some(old), &block, Path::new(ROOT)).unwrap();
    assert_eq!(new, format!("{old}\n\n{block}"));
    assert_eq!(
        policy(&[(Level::RootModule, &new)]).for_plugin(&plugin("hashicorp/tls")).native(),
        NativePlugins::Confine
    );
    let windows = add_block(Some("otherwise = \"defer\"\r\n"), &block, Path::new(ROOT)).unwrap();
    assert_eq!(windows.matches('\n').count(), windows.matches("\r\n").count());
    assert!(add_block(None, &block, Path::new(ROOT)).unwrap().contains("otherwise = \"defer\""));
    assert!(add_block(Some("plugin {"), &block, Path::new(ROOT)).is_err());
}
