//! Plugin declarations: inspection, consent, upgrades, and false declarations.

use std::io::Write as _;
use std::time::{Duration, Instant};

use wardian_end_to_end::{Project, Seen, assert_seen, assert_seen_text, test_guest};

const MAIN: &str = "terraform {\n  required_providers {\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  \
                    }\n}\n\nresource \"hostile_honest\" \"a\" {\n  input = \"x\"\n}\n";
const ADDRESS: &str = "example.com/test/hostile";

const NETWORK: &str =
    r#"{"network":{"hosts":["api.example.com"],"methods":["GET"],"reason":"it reads what zones there are"}}"#;
const VARIABLE: &str = r#"{"environment":{"names":["HOSTILE_*"],"reason":"it takes its settings from there, where they are not configured"}}"#;

/// Returns a declaration in the format of the SDK.
fn line(capabilities: &[&str]) -> String {
    format!("{{\"version\":1,\"sdk\":\"wardian-sdk 0.1.0\",\"capabilities\":[{}]}}\n", capabilities.join(","))
}

fn number(mut number: usize) -> Vec<u8> {
    let low = |number: usize| u8::try_from(number & 0x7f).unwrap_or_default();
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(0x80 | low(number));
        number >>= 7;
    }
    bytes.push(low(number));
    bytes
}

fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &number(content.len()), content].concat()
}

/// Returns a custom section with declarations.
pub(crate) fn declaring(text: &[u8]) -> Vec<u8> {
    let name = b"wardian:capabilities";
    section(0, &[&number(name.len())[..], name, text].concat())
}

fn import(name: &str) -> Vec<u8> {
    section(10, &[&[1, 0][..], &number(name.len()), name.as_bytes(), &[5, 0]].concat())
}

const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// Creates a project with a mirror that contains these versions of the hostile provider, each with
/// an appended section; [`None`] if the provider is not built.
fn mirrored(guest: &str, versions: &[(&str, Vec<u8>)]) -> Option<Project> {
    let guest = std::fs::read(test_guest(guest)?).unwrap_or_default();
    let project = Project::new(&[("main.tf", MAIN)]);
    for (version, end) in versions {
        add(&project, version, &[guest.clone(), end.clone()].concat());
    }
    Some(project)
}

fn add(project: &Project, version: &str, component: &[u8]) {
    let path = format!(
        "terraform.d/plugins/example.com/test/hostile/{version}/wasm32_wasip2/terraform-provider-hostile_v{version}.wasm"
    );
    project.write(&path, component);
}

/// Removes hashes, which change whenever the components are built.
fn without_hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let shown = |line: &str| match line.split('"').nth(1) {
        Some(word) if is_hash(word) => line.replace(word, "[HASH]"),
        _ => line.to_owned(),
    };
    text.lines().map(|line| shown(line) + "\n").collect()
}

#[test]
fn plugin_inspect_does_not_run_the_plugin() {
    let project = Project::new(&[]);
    let inspected = [
        HEADER.to_vec(),
        import("wasi:cli/environment@0.2.6"),
        import("wasi:filesystem/types@0.2.6"),
        import("wardian:plugin/log@0.1.0"),
        declaring(line(&[NETWORK, VARIABLE]).as_bytes()),
    ];
    project.write("terraform-provider-x_v1.2.3.wasm", inspected.concat());
    let name = "terraform-provider-x_v1.2.3.wasm";
    assert_seen!("plugin_inspect", project.run(&format!("plugin inspect {name}")).success());
    assert_seen!("plugin_inspect_json", project.run(&format!("plugin inspect -json {name}")).success());
    let lying = [
        HEADER.to_vec(),
        import("acme:keys/vault@1.0.0"),
        import("wardian:plugin/process@0.1.0"),
        declaring(line(&[]).as_bytes()),
    ];
    project.write("lying.wasm", lying.concat());
    assert_seen!("plugin_inspect_lying", project.run("plugin inspect ./lying.wasm").ended_with(1));
    project.write("junk.wasm", "junk");
    assert_seen!("plugin_inspect_junk", project.run("plugin inspect junk.wasm").ended_with(1));
    let missing = project.run("plugin inspect acme/missing").ended_with(1);
    assert!(missing.errors.contains("neither in the lock file nor embedded"), "{}", missing.text());
}

/// Returns a package with one file.
#[allow(clippy::unwrap_used, reason = "a test ends there")]
fn package(name: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(content).unwrap();
    archive.finish().unwrap().into_inner()
}

#[test]
fn plugin_inspect_reads_package_contents() {
    let project = Project::new(&[]);
    let component = [HEADER.to_vec(), declaring(line(&[NETWORK]).as_bytes())].concat();
    project.write("x.wasm", &component);
    let name = "terraform-provider-x_1.2.3_wasm32_wasip2.zip";
    project.write(name, package("terraform-provider-x_v1.2.3.wasm", &component));
    let alone = project.run("plugin inspect ./x.wasm").success();
    let packed = project.run(&format!("plugin inspect {name}")).success();
    assert!(packed.out.contains("api.example.com"), "{}", packed.text());
    let line_of = |text: &str, word: &str| text.lines().find(|line| line.contains(word)).map(str::to_owned);
    assert!(line_of(&alone.out, "sha256").or(line_of(&alone.out, "SHA-256")).is_some(), "{}", alone.text());
    for word in ["sha256", "SHA-256"] {
        assert_eq!(line_of(&alone.out, word), line_of(&packed.out, word));
    }
    project.write(
        "terraform-provider-y_1.0.0_linux_amd64.zip",
        package("terraform-provider-y_v1.0.0", b"\x7fELF\x02\x01"),
    );
    let native = project.run("plugin inspect terraform-provider-y_1.0.0_linux_amd64.zip").ended_with(1);
    assert!(native.errors.contains("is a native program"), "{}", native.text());
    project.write("x.zip", "junk");
    assert!(project.run("plugin inspect x.zip").ended_with(1).errors.contains("Not a package name"));
    project.write("terraform-provider-z_1.0.0_any.zip", "junk");
    assert!(
        project
            .run("plugin inspect terraform-provider-z_1.0.0_any.zip")
            .ended_with(1)
            .errors
            .contains("Package cannot be read")
    );
}

/// Verifies that the declaration written by the SDK's macro is still in the component after
/// compiling and linking.
#[test]
fn embedded_plugins_declare_their_capabilities() {
    let project = Project::new(&[]);
    for (name, asks) in
        [("local", true), ("tfcoremock", true), ("random", false), ("null", false), ("time", false)]
    {
        let seen = project.run(&format!("plugin inspect hashicorp/{name}")).success();
        assert!(seen.out.contains("built by  wardian-sdk "), "{}", seen.text());
        assert!(seen.out.contains("wardian:plugin/provider@"), "{}", seen.text());
        assert_eq!(seen.out.contains("filesystem    read, write [FOLDER]"), asks, "{}", seen.text());
        assert_eq!(seen.out.contains("Requests:\n  nothing"), !asks, "{}", seen.text());
        assert!(!seen.out.contains("not known") && !seen.out.contains("Of note"), "{}", seen.text());
    }
}

/// Verifies that the default grants of embedded plugins require no consent, and that no file is
/// written.
#[test]
fn embedded_plugins_need_no_consent() {
    let project = Project::new(&[(
        "main.tf",
        "resource \"local_file\" \"a\" {\n  filename = \"a\"\n  content = \"x\"\n}\n",
    )]);
    let seen = project.run("init").success();
    assert!(!seen.out.contains("unused capability"), "{}", seen.text());
    assert!(!project.has(".wardian.lock.hcl") && !project.has("wardian.policy.hcl"));
    project.run("apply -auto-approve").success();
}

#[test]
fn init_without_input_rejects_plugins_without_consent() {
    let Some(project) = mirrored("hostile", &[("1.0.0", declaring(line(&[NETWORK, VARIABLE]).as_bytes()))])
    else {
        return;
    };
    let refused = project.run("init").ended_with(4);
    assert_seen!("declaration_refused", refused);
    for file in [".terraform.lock.hcl", ".wardian.lock.hcl", "wardian.policy.hcl", ".terraform/providers"] {
        assert!(!project.has(file), "{file}");
    }
    // The suggested rule grants exactly the denied access.
    let refused = project.run("init -input=false").ended_with(4);
    let rule: String = refused
        .errors
        .lines()
        .map(|line| line.trim_start_matches('│').strip_prefix(' ').unwrap_or_default())
        .skip_while(|line| !line.starts_with("plugin \""))
        .take_while(|line| !line.starts_with('╵'))
        .fold(String::new(), |all, line| all + line + "\n");
    project.write("wardian.policy.hcl", &rule);
    assert_seen!("declaration_agreed", project.run("init").success());
    let agreed = without_hashes(&project.read(".wardian.lock.hcl"));
    assert_seen_text!("declaration_agreements", agreed);
    assert!(!project.read(".terraform.lock.hcl").contains("network"));
    let again = project.run("init").success();
    assert!(!again.out.contains("requests:"), "{}", again.text());
    project.run("plan").success();
    assert!(project.run("init -lockfile=readonly").success().out.contains("successfully"));

    // The recorded consent determines the grants of a run.
    let agreements = project.read(".wardian.lock.hcl");
    std::fs::remove_file(project.path(".wardian.lock.hcl")).unwrap();
    assert_seen!("declaration_not_agreed", project.run("plan").ended_with(1));
    assert_seen!("declaration_readonly", project.run("init -lockfile=readonly").ended_with(1));
    project.write(".wardian.lock.hcl", agreements.replace("api.example.com", "evil.example.com"));
    let forged = project.run("plan").ended_with(1);
    assert!(forged.errors.contains("changed manually"), "{}", forged.text());
}

#[test]
fn upgrade_with_new_capability_requests_is_rejected() {
    let first = declaring(line(&[NETWORK]).as_bytes());
    let Some(project) = mirrored("hostile", &[("1.0.0", first)]) else { return };
    assert_seen!("declaration_granted", project.run(&format!("policy grant {ADDRESS} -yes")).success());
    project.run("init").success();
    let before =
        [".terraform.lock.hcl", ".wardian.lock.hcl", "wardian.policy.hcl"].map(|file| project.read(file));

    let guest = std::fs::read(test_guest("hostile").unwrap()).unwrap();
    let more = declaring(line(&[NETWORK, VARIABLE]).as_bytes());
    add(&project, "1.1.0", &[guest, more].concat());
    project.run("init").success();
    assert_seen!("declaration_upgrade_refused", project.run("init -upgrade").ended_with(4));
    let after =
        [".terraform.lock.hcl", ".wardian.lock.hcl", "wardian.policy.hcl"].map(|file| project.read(file));
    assert_eq!(before, after);
    project.run("plan").success();

    let nothing = project.run(&format!("policy grant {ADDRESS} -yes")).success();
    assert!(nothing.out.contains("already has these grants"), "{}", nothing.text());
    let refused = project.run(&format!("policy grant {ADDRESS} -upgrade")).ended_with(1);
    assert!(refused.errors.contains("-yes"), "{}", refused.text());
    project.run(&format!("policy grant {ADDRESS} -upgrade -yes")).success();
    let upgraded = project.run("init -upgrade").success();
    assert!(upgraded.out.contains("    + environment   HOSTILE_*"), "{}", upgraded.text());
    assert!(upgraded.out.contains("      network       https"), "{}", upgraded.text());
    assert!(project.read(".wardian.lock.hcl").contains("version     = \"1.1.0\""));
    assert_seen_text!("declaration_policy", project.read("wardian.policy.hcl"));
    project.run("plan").success();
}

#[test]
fn capability_denied_by_policy_needs_no_consent() {
    let Some(project) = mirrored("hostile", &[("1.0.0", declaring(line(&[NETWORK, VARIABLE]).as_bytes()))])
    else {
        return;
    };
    let organisation = "plugin \"*\" {\n  allow environment {\n    names = [\"*\"]\n  }\n}\n";
    project.write("organisation.hcl", organisation);
    let variables = [("WARDIAN_POLICY", "organisation.hcl")];
    let seen = project.run_with("init", "", &variables).success();
    let words: Vec<&str> = seen.out.split_whitespace().collect();
    let denied = "(stays denied: [FOLDER]/organisation.hcl does not allow it)";
    assert!(words.join(" ").contains(denied), "{}", seen.text());
    assert!(seen.out.contains("(granted by policy)"), "{}", seen.text());
    assert!(!project.has("wardian.policy.hcl"));
    let granting = project.run_with(&format!("policy grant {ADDRESS} -yes"), "", &variables).ended_with(1);
    assert!(granting.errors.contains("A grant would have no effect"), "{}", granting.text());
}

#[test]
fn policy_grant_writes_a_rule() {
    let project = Project::new(&[]);
    let mine = "# mine\nplugin \"acme/dns\" { # the one\n  native = \"deny\"\n}\n";
    project.write("wardian.policy.hcl", mine);
    let grant = |rest: &str| project.run(&format!("policy grant acme/dns {rest}"));
    grant("network -hosts=api.acme.example,*.b.example -methods=GET '-reason=zones and records'").success();
    grant("process -program=git -arguments=version").success();
    grant("filesystem -directories=generated -access=read,write").success();
    assert_seen_text!("policy_grant_stated", project.read("wardian.policy.hcl"));
    let again = grant("network -hosts=api.acme.example -methods=GET").success();
    assert!(again.out.contains("already has these grants"), "{}", again.text());
    let wrong: Vec<Seen> = [
        "network -hosts=https://api.acme.example",
        "network -names=A",
        "network",
        "secrets -names=A",
        "-hosts=api.acme.example",
    ]
    .into_iter()
    .map(|rest| grant(rest).ended_with(1))
    .collect();
    let wrong: String = wrong.iter().map(Seen::text).collect();
    assert_seen_text!("policy_grant_wrong", wrong);
    project.run("policy check").success();
}

#[test]
fn policy_grant_reads_the_declaration_of_a_development_override() {
    let project = Project::new(&[("main.tf", MAIN)]);
    let file = "plugins/terraform-provider-hostile.wasm";
    project.write(file, [HEADER, &declaring(line(&[NETWORK, VARIABLE]).as_bytes())].concat());
    let directory = project.path("plugins");
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"{ADDRESS}\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        directory.display()
    );
    project.write("home/.terraformrc", settings);
    let seen = project.run(&format!("policy grant {ADDRESS} -yes")).success();
    let policy = project.read("wardian.policy.hcl");
    for part in ["api.example.com", "HOSTILE_*", ADDRESS] {
        assert!(policy.contains(part), "{part}:\n{policy}\n{}", seen.text());
    }
}

#[test]
fn init_rejects_invalid_policy_before_other_steps() {
    let project = Project::new(&[
        ("main.tf", "resource \"null_resource\" \"a\" {}\n"),
        ("wardian.policy.hcl", "plugin {"),
    ]);
    let seen = project.run("init").ended_with(1);
    assert!(seen.errors.contains("wardian.policy.hcl line 1"), "{}", seen.text());
    assert!(!project.has(".terraform.lock.hcl"));
}

/// Components with false or malicious declarations.
#[test]
fn false_declarations_are_rejected() {
    let started = Instant::now();
    let cases: [(&str, Vec<u8>, &str); 4] = [
        (
            "hostile",
            declaring(b"{\"version\":1,\"capabilities\":[{\"netw"),
            "its declaration is invalid: line 1",
        ),
        ("hostile", declaring(b"{\"version\":7}"), "has version 7"),
        ("hostile", declaring(&vec![b' '; 100 << 20]), "larger than 65536 bytes"),
        // Multiple sections are combined.
        (
            "hostile",
            [declaring(line(&[NETWORK]).as_bytes()), declaring(line(&[]).as_bytes())].concat(),
            "+ network",
        ),
    ];
    for (guest, end, expected) in cases {
        let Some(project) = mirrored(guest, &[("1.0.0", end)]) else { return };
        // The last one is valid, and needs consent.
        let code = if expected.starts_with('+') { 4 } else { 1 };
        let seen = project.run("init").ended_with(code);
        let text = seen.text().replace("\n│ ", " ");
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(!project.has(".terraform.lock.hcl") && !project.has(".wardian.lock.hcl"));
    }
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
}

#[cfg(unix)]
#[test]
fn init_asks_for_consent() {
    use wardian_end_to_end::Terminal;

    let Some(project) = mirrored("hostile", &[("1.0.0", declaring(line(&[NETWORK]).as_bytes()))]) else {
        return;
    };
    let variables = [("TERM", "dumb"), ("COLUMNS", "80")];
    let mut terminal = Terminal::running("init", &project, &variables);
    let shown = terminal.until("Enter a value: ");
    assert!(shown.contains("+ network       https to api.example.com"), "{shown}");
    assert!(shown.contains("it reads what zones there are"), "{shown}");
    terminal.types("no\r", "were not granted");
    assert!(!project.has("wardian.policy.hcl") && !project.has(".terraform.lock.hcl"));

    let mut terminal = Terminal::running("init", &project, &variables);
    terminal.until("Enter a value: ");
    terminal.types("yes\r", "successfully initialized");
    terminal.ends("");
    assert!(project.read("wardian.policy.hcl").contains("hosts   = [\"api.example.com\"]"));
    assert!(project.has(".wardian.lock.hcl") && project.has(".terraform.lock.hcl"));
    project.run("plan").success();
}
