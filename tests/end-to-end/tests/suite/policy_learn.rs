//! `policy learn`: the learnt policy allows the accesses that the command needs, except for writes,
//! secrets and denied accesses.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::BTreeSet;

use serde_json::Value;
use wardian_end_to_end::{Project, test_guest};

/// Returns the records of a run under the learnt policy.
fn records(project: &Project, line: &str, variables: &[(&str, &str)]) -> Vec<Value> {
    let _ = std::fs::remove_file(project.path("audit.log"));
    project.run_with(&format!("{line} -audit-log=audit.log"), "", variables).success();
    project.read("audit.log").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts that a command runs under the learnt policy with nothing denied, and that it uses every
/// rule with these capabilities.
fn assert_sufficient_and_minimal(
    project: &Project,
    line: &str,
    capabilities: &[&str],
    variables: &[(&str, &str)],
) {
    let records = records(project, line, variables);
    let policy = project.read("wardian.policy.hcl");
    for record in &records {
        assert_eq!(record["decision"], "allowed", "{record}\n{policy}");
    }
    let used: BTreeSet<&str> = records.iter().filter_map(|record| record["rule"].as_str()).collect();
    let rules = policy.lines().enumerate().filter(|(_, line)| {
        capabilities.iter().any(|capability| *line == format!("  allow {capability} {{"))
    });
    for (index, _) in rules {
        let rule = format!("wardian.policy.hcl:{}", index + 1);
        assert!(used.contains(&*rule), "{rule} was not used: {used:?}\n{policy}");
    }
}

/// Returns a configuration of a hostile component with a chain of operations.
fn probe(address: &str, steps: &[&str]) -> String {
    let chain: Vec<String> = steps.iter().map(|step| step.replace('¦', "\\u001f")).collect();
    format!(
        "terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{address}\"\n    }}\n  }}\n}}\n\
         data \"hostile_probe\" \"a\" {{\n  input = \"steps:{}\"\n}}\noutput \"a\" {{\n  value = \
         data.hostile_probe.a.result\n}}\n",
        chain.join("\\u001e")
    )
}

fn component_project(guest: &str, address: &str) -> Option<Project> {
    let guest = test_guest(guest)?;
    let project = Project::new(&[]);
    project.write(
        "home/.terraformrc",
        format!(
            "provider_installation {{\n  dev_overrides {{\n    \"{address}\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
            guest.display()
        ),
    );
    Some(project)
}

#[test]
fn component_learns_reading_but_not_writing_or_keys() {
    const ADDRESS: &str = "example.com/test/hostile";
    let Some(project) = component_project("hostile", ADDRESS) else { return };
    project.write("notes/one", "the note");
    project.write("outside/two", "the other note");
    project.write("home/.ssh/id_rsa", "the key");
    project.write("terraform.tfvars.json", "{}");
    let outside = project.path("outside/two").canonicalize().unwrap().display().to_string();
    let reading = [&*format!("read¦{outside}"), "read¦notes/one"];
    let forbidden = ["write¦notes/new¦text", "read¦home/.ssh/id_rsa", "read¦/proc/self/environ", "list¦/"];
    project.write("main.tf", probe(ADDRESS, &[&reading[..], &forbidden[..]].concat()));
    let learnt = project.run("policy learn -- plan").success();
    for text in
        ["read the note", "read the other note", "#2 refused", "#3 refused", "#4 refused", "#5 refused"]
    {
        assert!(learnt.out.contains(text), "{text}: {}", learnt.text());
    }
    assert!(!project.has("notes/new"));
    let policy = project.read("wardian.policy.hcl");
    assert!(policy.contains("\"notes/one\"") && policy.contains("outside/two\""), "{policy}");
    assert!(policy.contains("reason      = \"plan: data.hostile_probe.a\""), "{policy}");
    let granted: Vec<&str> = policy.lines().filter(|line| !line.starts_with('#')).collect();
    let granted = granted.join("\n");
    assert!(!granted.contains("id_rsa") && !granted.contains("write"), "{policy}");
    assert!(policy.contains("# - example.com/test/hostile is denied access"), "{policy}");

    project.write("main.tf", probe(ADDRESS, &reading));
    assert_sufficient_and_minimal(&project, "plan", &["filesystem"], &[]);
}

#[test]
fn learning_keeps_denials_and_is_refused_for_risky_commands() {
    const ADDRESS: &str = "example.com/test/hostile";
    let Some(project) = component_project("hostile", ADDRESS) else { return };
    project.write("notes/one", "the note");
    project.write("main.tf", probe(ADDRESS, &["read¦notes/one"]));
    for (line, text) in [
        ("policy learn -- apply", "-allow-changes"),
        ("policy learn -- destroy", "-allow-changes"),
        ("policy learn -- plan -untrusted", "untrusted configuration"),
        ("policy learn -- output", "plan, refresh or validate"),
        ("policy learn -- -chdir=x plan", "must precede the command"),
        ("policy learn -addresses=metadata -- plan", "the valid values are: private"),
        ("policy learn", "after `--`"),
        ("policy learn plan", "after `--`"),
        ("policy learn --", "COMMAND"),
        ("policy learn -- plann", "plan"),
    ] {
        let refused = project.run(line).ended_with(1);
        assert!(refused.errors.contains(text), "{line}: {}", refused.text());
    }
    for organisation in [
        "otherwise = \"defer\"\nplugin \"*\" {\n  deny filesystem {\n    directories = [\"notes\"]\n  }\n}\n",
        "plugin \"acme/other\" {\n}\n",
    ] {
        project.write("organisation.hcl", organisation);
        let seen = project.run_with(
            "policy learn -out=learnt.hcl -- plan",
            "",
            &[("WARDIAN_POLICY", "organisation.hcl")],
        );
        assert!(seen.success().out.contains("#0 refused"));
        assert!(!project.read("learnt.hcl").contains("    directories = [\"notes"));
        std::fs::remove_file(project.path("learnt.hcl")).unwrap();
    }
    project.run("policy learn -- plan").success();
    let first = project.read("wardian.policy.hcl");
    let refused = project.run("policy learn -- plan").ended_with(1);
    assert!(refused.errors.contains("Policy file exists"), "{}", refused.text());
    let same = project.run("policy learn -append -- plan").success();
    assert!(same.errors.contains("was not changed"), "{}", same.text());
    assert_eq!(project.read("wardian.policy.hcl"), first);
    project.write("notes/two", "the note");
    project.write("main.tf", probe(ADDRESS, &["read¦notes/one", "read¦notes/two"]));
    project.run("policy learn -append -- plan").success();
    assert!(project.read("wardian.policy.hcl").contains("notes/two"));
    assert_sufficient_and_minimal(&project, "plan", &["filesystem"], &[]);
}

#[test]
fn writes_that_wardian_grants_by_default_are_part_of_the_policy() {
    let configuration =
        "resource \"local_file\" \"a\" {\n  filename = \"made/a\"\n  content  = \"text\"\n}\n";
    let project = Project::new(&[("main.tf", configuration)]);
    project.run("init").success();
    project.run("policy learn -allow-changes -- apply -auto-approve").success();
    let policy = project.read("wardian.policy.hcl");
    assert!(policy.contains("reason      = \"apply: local_file.a\""), "{policy}");
    // Only a later command reads the file.
    project.run("policy learn -append -- plan").success();
    assert_sufficient_and_minimal(&project, "plan", &[], &[]);
    for made in ["made", "terraform.tfstate"] {
        let path = project.path(made);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }
    assert_sufficient_and_minimal(&project, "apply -auto-approve", &[], &[]);
    assert!(project.has("made/a"));
}

#[cfg(target_os = "linux")]
mod native {
    use std::fmt::Write as _;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::native_plugins::{CONFIGURATION, project_with_plugin};

    /// Starts a server that answers HTTP requests, and returns its port.
    fn server() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut bytes = [0; 1024];
                let _ = stream.read(&mut bytes);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        port
    }

    /// Creates a project with the native plugin, which makes these accesses; [`None`] if this machine
    /// cannot confine it.
    fn project(inputs: &[String]) -> Option<Project> {
        let project = project_with_plugin()?;
        let validated = project.run("policy learn -out=probe.hcl -- validate");
        if validated.errors.contains("this machine supports the level") {
            println!("skipped: {}", validated.errors);
            return None;
        }
        validated.success();
        access(&project, inputs);
        Some(project)
    }

    fn access(project: &Project, inputs: &[String]) {
        let mut text = CONFIGURATION.lines().take(7).collect::<Vec<_>>().join("\n");
        for (index, input) in inputs.iter().enumerate() {
            let _ = write!(
                text,
                "\ndata \"fake_echo\" \"e{index}\" {{\n  input = {input:?}\n}}\noutput \"o{index}\" {{\n  value = \
                 data.fake_echo.e{index}.output\n}}\n"
            );
        }
        project.write("main.tf", text);
    }

    #[test]
    fn native_plugin_learns_hosts_and_runs_confined_to_them() {
        let ports = [server(), server()];
        let [first, second] = ports.map(|port| format!("get:localhost:{port}"));
        let Some(project) = project(std::slice::from_ref(&first)) else { return };
        let learnt = project.run("policy learn -addresses=loopback -- plan -audit-log=one.log").success();
        assert!(learnt.out.contains("HTTP/1.1 200 OK"), "{}", learnt.text());
        let policy = project.read("wardian.policy.hcl");
        for text in [
            "plugin \"example.com/acme/fake\" {\n  native = \"confine\"\n".to_owned(),
            "hosts     = [\"localhost\"]\n    schemes   = [\"http\"]".to_owned(),
            format!("ports     = [{}]\n    addresses = [\"127.0.0.1\"]", ports[0]),
            "reason    = \"plan: data.fake_echo.e0\"".to_owned(),
        ] {
            assert!(policy.contains(&text), "{text}\n{policy}");
        }
        project.run("policy check").success();
        assert_sufficient_and_minimal(&project, "plan", &["network"], &[]);
        let same = project.run("policy learn -append -addresses=loopback -- plan").success();
        assert!(same.errors.contains("was not changed"), "{}", same.text());
        assert_eq!(project.read("wardian.policy.hcl"), policy);

        access(&project, &[first, second]);
        let denied = project.run("plan").success();
        assert!(denied.text().contains("Denied by policy"), "{}", denied.text());
        project.run("policy learn -append -addresses=loopback -- plan -audit-log=two.log").success();
        assert_sufficient_and_minimal(&project, "plan", &["network"], &[]);

        // The logs of several runs result in one policy.
        let joined = project.run("audit one.log two.log -suggest-policy").success();
        project.write("wardian.policy.hcl", &joined.out);
        assert!(joined.out.contains("native = \"confine\""), "{}", joined.text());
        assert_sufficient_and_minimal(&project, "plan", &["network"], &[]);
    }

    #[test]
    fn native_plugin_learns_no_local_addresses_secrets_writes_or_programs() {
        let port = server();
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join(".ssh/key");
        std::fs::create_dir(outside.path().join(".ssh")).unwrap();
        std::fs::write(&secret, "a secret").unwrap();
        let inputs = [
            format!("get:127.0.0.1:{port}"),
            format!("read:{}", secret.display()),
            format!("write:{}", outside.path().join("new").display()),
            "connect:169.254.169.254:80".to_owned(),
            "run:true".to_owned(),
        ];
        let Some(project) = project(&inputs) else { return };
        let learnt = project.run("policy learn -- plan").success();
        assert!(!learnt.text().contains("a secret") && !learnt.out.contains("200 OK"), "{}", learnt.text());
        assert!(!outside.path().join("new").exists());
        let policy = project.read("wardian.policy.hcl");
        assert!(!policy.contains("allow "), "{policy}");
        for denied in ["127.0.0.1", "169.254.169.254"] {
            let is_listed = |line: &str| line.starts_with("# - ") && line.contains(denied);
            assert!(policy.lines().any(is_listed), "{denied}\n{policy}");
        }
        let again =
            project.run("policy learn -append -addresses=loopback,private,link-local -- plan").success();
        assert!(again.out.contains("200 OK"), "{}", again.text());
        let policy = project.read("wardian.policy.hcl");
        assert!(policy.contains("hosts   = [\"127.0.0.1\"]"), "{policy}");
        let rules: Vec<&str> = policy.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(!rules.join("\n").contains("169.254"), "{policy}");
    }

    #[test]
    fn native_plugin_reads_learnt_files_in_the_next_run() {
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().canonicalize().unwrap().join("settings");
        std::fs::write(&file, "the settings").unwrap();
        let Some(project) = project(&[format!("read:{}", file.display())]) else { return };
        let learnt = project.run("policy learn -- plan").success();
        assert!(!learnt.out.contains("the settings"), "{}", learnt.text());
        assert!(learnt.errors.contains(&format!("- {}", file.display())), "{}", learnt.text());
        let policy = project.read("wardian.policy.hcl");
        assert!(policy.contains(&format!("directories = [\"{}\"]", file.display())), "{policy}");
        let again = project.run("policy learn -append -- plan").success();
        assert!(again.out.contains("the settings"), "{}", again.text());
        assert!(again.errors.contains("was not changed"), "{}", again.text());
        assert_sufficient_and_minimal(&project, "plan", &["filesystem"], &[]);
    }

    #[test]
    fn denied_native_plugin_is_not_run_to_learn() {
        let Some(project) = project(&[]) else { return };
        project.write("organisation.hcl", "otherwise = \"defer\"\nplugin \"*\" {\n  native = \"deny\"\n}\n");
        let variables = [("WARDIAN_POLICY", "organisation.hcl")];
        let denied = project.run_with("policy learn -- plan", "", &variables).ended_with(1);
        assert!(denied.errors.contains("Native plugin denied by policy"), "{}", denied.text());
    }
}
