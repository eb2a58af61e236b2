use proptest::prelude::*;

use super::*;

fn instance(text: &str) -> String {
    match text.parse::<ResourceInstanceAddress>() {
        Ok(address) => address.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn displayed_address_parses_as_same_address() {
    for text in [
        "random_id.x",
        "random_id.x[0]",
        "data.aws_ami.x",
        "ephemeral.vault.x",
        "module.m[\"k\"].random_id.x[0]",
        "module.a.module.b[3].data.x.y[\"a.b[\\\"0\\\"]\"]",
        "module.module.x.y",
        "x.y[\"$${a} %%{b} \\n \\\\ é 😀 \\u0000\"]",
    ] {
        assert_eq!(instance(text), text);
    }
    assert_eq!(instance("resource.a.b"), "a.b");
    assert_eq!(instance("a.b[\"\\u00e9\"]"), "a.b[\"é\"]");
}

#[test]
fn rejects_invalid_addresses() {
    for (text, expected) in [
        ("", "error: \"\" is not a resource instance address: a resource type is missing at the end"),
        ("a", "error: \"a\" is not a resource instance address: the resource's name is missing at the end"),
        (
            "a.b[",
            "error: \"a.b[\" is not a resource instance address: an instance key must be a whole number or \
            a quoted string in brackets",
        ),
        ("a.b.c", "error: \"a.b.c\" is not a resource instance address: unexpected \".c\""),
        (
            "module.m",
            "error: \"module.m\" is not a resource instance address: a resource type is missing at the end",
        ),
        ("a.0", "error: \"a.0\" is not a resource instance address: a name is expected before \"0\""),
    ] {
        assert_eq!(instance(text), expected);
    }
    for text in
        ["a.b[-1]", "a.b[\"${x}\"]", "a.b[x]", "a.b[18446744073709551616]", "module..x.y", "a.b ", "a.b[0"]
    {
        assert!(text.parse::<ResourceInstanceAddress>().is_err(), "{text}");
    }
    assert!("module.m[0].a.b".parse::<ResourceAddress>().is_err());
    assert!("a.b[0]".parse::<ResourceAddress>().is_err());
    assert!("module.m[0].module.n".parse::<ModuleInstance>().is_ok());
    assert!("module.m.".parse::<ModuleInstance>().is_err());
}

#[test]
fn addresses_sort_as_in_terraform() {
    let sorted = [
        "data.z.z",
        "a.a",
        "a.a[2]",
        "a.a[10]",
        "a.a[\"10\"]",
        "a.b",
        "module.b.a.a",
        "module.b[0].a.a",
        "module.a.module.a.a.a",
    ];
    let mut addresses: Vec<ResourceInstanceAddress> =
        sorted.iter().rev().map(|text| text.parse().unwrap()).collect();
    addresses.sort();
    let texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    assert_eq!(texts, sorted);
}

#[test]
fn parses_provider_configuration_addresses() {
    for text in [
        "provider[\"registry.terraform.io/hashicorp/aws\"]",
        "module.a.module.b.provider[\"registry.terraform.io/hashicorp/aws\"].west",
        "provider[\"terraform.io/builtin/terraform\"]",
    ] {
        assert_eq!(text.parse::<ProviderConfigAddress>().unwrap().to_string(), text);
    }
    let legacy: ProviderConfigAddress = "module.a.provider.aws.west".parse().unwrap();
    assert!(legacy.provider.is_legacy());
    assert_eq!(legacy.alias.as_deref(), Some("west"));
    for text in [
        "provider",
        "provider[0]",
        "provider[\"aws\"]",
        "provider.aws.west.x",
        "aws.west",
        "module.a[0].provider.aws",
    ] {
        assert!(text.parse::<ProviderConfigAddress>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn address_with_any_key_round_trips(key in "\\PC{0,20}|[\\x00-\\x7f]{0,20}|([$%]{1,3}\\{?){0,4}") {
        let address = ModuleInstance::root()
            .child("m", InstanceKey::String(key.as_str().into()))
            .resource(ResourceMode::Managed, "a", "b")
            .instance(InstanceKey::String(key.as_str().into()));
        prop_assert_eq!(address.to_string().parse::<ResourceInstanceAddress>().unwrap(), address);
    }

    #[test]
    fn parses_any_text_without_panic(text in "\\PC{0,40}", wild in "[a-z.\\[\\]\"\\\\$%{u0-9]{0,30}") {
        for text in [&text, &wild] {
            let _ = text.parse::<ResourceInstanceAddress>();
            let _ = text.parse::<ModuleInstance>();
            let _ = text.parse::<ResourceAddress>();
            let _ = text.parse::<ProviderConfigAddress>();
        }
    }
}
