//! Files that are not plugins, and plugins that misbehave.

use std::path::Path;

use wardian_end_to_end::{Project, assert_seen, test_guest};

use crate::capability_consent::declaring;

const ADDRESS: &str = "example.com/test/hostile";

fn configuration(resource_type: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{ADDRESS}\"\n    }}\n  \
         }}\n}}\n\nresource \"{resource_type}\" \"a\" {{\n  input = \"x\"\n}}\n"
    )
}

/// Creates a project whose provider is overridden by this file.
fn overridden(resource_type: &str, component: &Path) -> Project {
    let project = Project::new(&[("main.tf", &configuration(resource_type))]);
    let directory = component.display();
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"{ADDRESS}\" = \"{directory}\"\n  }}\n  direct {{}}\n}}\n"
    );
    project.write("home/.terraformrc", settings);
    project
}

#[test]
fn invalid_component_is_reported() {
    let module = [0, b'a', b's', b'm', 1, 0, 0, 0];
    let component_without_exports = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
    let junk: [(&str, &[u8]); 4] = [
        ("plugin_junk", b"this is no plugin at all"),
        ("plugin_empty", b""),
        ("plugin_core_module", &module),
        ("plugin_without_interface", &component_without_exports),
    ];
    for (name, bytes) in junk {
        let project = overridden("hostile_honest", Path::new("plugins"));
        project.write("plugins/terraform-provider-hostile.wasm", bytes);
        assert_seen!(name, project.run("plan").ended_with(1));
    }
}

#[test]
fn init_rejects_invalid_component_in_mirror() {
    let project = Project::new(&[("main.tf", &configuration("hostile_honest"))]);
    let mirrored = "terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm";
    project.write(mirrored, b"this is no plugin at all");
    assert_seen!("plugin_junk_in_mirror", project.run("init").ended_with(1));
    assert!(!project.has(".terraform.lock.hcl"));
}

/// A component from a mirror is recorded in the lock file, and a different file is not loaded.
#[test]
fn replaced_component_is_not_loaded() {
    let Some(hostile) = test_guest("hostile") else { return };
    let project = Project::new(&[("main.tf", &configuration("hostile_honest"))]);
    let mirrored = "terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm";
    let mut bytes = std::fs::read(hostile).unwrap();
    project.write(mirrored, &bytes);
    project.run("init").success();
    project.run("plan").success();
    // An empty custom section changes the component's bytes, but not its behaviour.
    bytes.extend([0, 2, 1, b'x']);
    project.write(mirrored, &bytes);
    assert_seen!("plugin_exchanged_init", project.run("init").ended_with(1));
    assert_seen!("plugin_exchanged_plan", project.run("plan").ended_with(1));
}

/// Checks that each error names the plugin, the call and the resource, and that the host continues.
#[test]
fn misbehaving_components_are_reported() {
    let Some(hostile) = test_guest("hostile") else { return };
    for behaviour in ["trap", "panic", "exit", "recursion", "memory", "garbage", "wrong_type", "length"] {
        let project = overridden(&format!("hostile_{behaviour}"), &hostile);
        let seen = project.run("plan").ended_with(1);
        let errors = &seen.errors;
        assert!(errors.contains("Error: "), "{behaviour}: {}", seen.text());
        assert!(errors.contains(&format!("hostile_{behaviour}.a")), "{behaviour}: {}", seen.text());
        assert!(!errors.contains("panicked at host/"), "{behaviour}: {}", seen.text());
        assert!(!project.has("terraform.tfstate"), "{behaviour}");
    }
}

#[test]
fn component_in_endless_loop_is_stopped() {
    let Some(hostile) = test_guest("hostile") else { return };
    let project = overridden("hostile_loop", &hostile);
    let limits = format!("plugin \"{ADDRESS}\" {{\n  limits {{\n    cpu_time = \"2s\"\n  }}\n}}\n");
    project.write("wardian.policy.hcl", limits);
    let seen = project.run("plan").ended_with(1);
    let text = seen.text();
    assert!(seen.errors.contains("hostile_loop.a") && seen.errors.contains("2 s"), "{text}");
}

/// Checks that the component runs, and that its requests are denied and reported.
#[test]
fn component_without_network_grant_is_denied() {
    let Some(hostile) = test_guest("hostile-network") else { return };
    // A component that does not declare `network` would not be loaded.
    let folder = tempfile::tempdir().unwrap();
    let declared = folder.path().join("terraform-provider-hostile.wasm");
    let needs = r#"{"version":1,"capabilities":[{"network":{"hosts":["**"],"reason":"harm"}}]}"#;
    let bytes = std::fs::read(&hostile).unwrap();
    std::fs::write(&declared, [bytes, declaring(needs.as_bytes())].concat()).unwrap();
    let project = overridden("hostile_honest", &declared);
    let probe = "data \"hostile_probe\" \"a\" {\n  input = \"http:GET|http://169.254.169.254/\"\n}\n";
    project.write("probe.tf", probe);
    let seen = project.run("plan");
    let text = seen.text();
    assert!(text.contains("Denied by policy") && text.contains("http://169.254.169.254"), "{text}");
}
