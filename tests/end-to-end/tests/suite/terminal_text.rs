//! Tests that external text never controls a terminal.
//!
//! Each attack passes escape sequences, a carriage return, a C1 control character, a bidirectional
//! override, a line separator and a forged line through one channel. None of these may be in the
//! output, whether it is written to a terminal or to a file, because a build log may be shown on a
//! terminal later. The other text of the attack must reach the output; otherwise, the attack tests
//! nothing.

use std::process::{Output, Stdio};

use serde_json::json;
use wardian_end_to_end::{Project, Terminal};

use crate::capability_consent::declaring;

/// Text that no output may contain unescaped. It is also a valid file name.
const PAYLOAD: &str = "pay\u{1b}]52;c;eA==\u{7}\u{1b}[2J\rload\u{9b}2K\u{7f}\u{8}\u{202e}\u{2066}\u{2028}\u{200b}\u{feff}\u{e0041}\nForged line";

/// Returns the payload without its line break, for formats in which a text cannot contain one.
fn line() -> &'static str {
    PAYLOAD.split('\n').next().unwrap_or_default()
}

/// Returns the payload as a JSON string, which is also a string of the native syntax.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// Returns the characters of an output that are unsafe to print on a terminal.
fn deceptive(text: &str) -> Vec<char> {
    let is_deceptive = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(
                c,
                '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
            )
    };
    text.chars().filter(is_deceptive).collect()
}

#[track_caller]
fn assert_printable(text: &str, attack: &str) {
    let found = deceptive(text);
    assert!(found.is_empty(), "{attack}: {found:?} in {text:?}");
    assert!(
        !text.lines().any(|line| line.starts_with("Forged line")),
        "{attack}: a line is forged in {text}"
    );
}

/// Runs a command, and checks both of its outputs, which must contain the escaped payload.
#[track_caller]
fn attack(project: &Project, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let text = outputs(project, arguments, variables);
    assert!(text.contains("pay"), "{arguments:?} did not show the payload: {text}");
    text
}

/// Runs a command, and checks both of its outputs.
#[expect(clippy::expect_used, reason = "the test has failed")]
#[track_caller]
fn outputs(project: &Project, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let Output { stdout, stderr, .. } = project
        .command("")
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("wardian runs");
    let mut all = String::new();
    for bytes in [stdout, stderr] {
        let text = String::from_utf8(bytes).expect("the output is UTF-8");
        assert_printable(&text, &format!("{arguments:?}"));
        all.push_str(&text);
    }
    all
}

fn configured(main: &serde_json::Value) -> Project {
    Project::new(&[("main.tf.json", &main.to_string())])
}

fn state(resources: &serde_json::Value, outputs: &serde_json::Value, version: &str) -> String {
    json!({"version": 4, "terraform_version": version, "serial": 1, "lineage": "l",
        "outputs": outputs, "resources": resources})
    .to_string()
}

/// Returns a state with an object whose ID, key and attributes are the payload.
fn hostile_state() -> String {
    let resources = json!([{
        "mode": "managed", "type": "terraform_data", "name": "a",
        "provider": "provider[\"terraform.io/builtin/terraform\"]",
        "instances": [{
            "index_key": PAYLOAD, "schema_version": 0,
            "attributes": {"id": PAYLOAD, "input": {"type": "string", "value": PAYLOAD},
                "output": {"type": "string", "value": PAYLOAD}, "triggers_replace": null},
        }],
    }]);
    state(&resources, &json!({"o": {"value": PAYLOAD, "type": "string"}}), "1.11.4")
}

#[test]
fn stored_objects_are_escaped() {
    let project = Project::new(&[("terraform.tfstate", &hostile_state()), ("main.tf", "")]);
    for command in [
        &["plan"][..],
        &["plan", "-json"],
        &["plan", "-destroy"],
        &["plan", "-refresh-only"],
        &["show"],
        &["show", "-json"],
        &["state", "list"],
        &["state", "pull"],
        &["output", "-json"],
        &["state", "show", &format!("terraform_data.a[{}]", quoted(PAYLOAD))],
        &["state", "rm", "-dry-run", &format!("terraform_data.a[{}]", quoted(PAYLOAD))],
        &["state", "mv", "-dry-run", &format!("terraform_data.a[{}]", quoted(PAYLOAD)), "terraform_data.b"],
        &["taint", &format!("terraform_data.a[{}]", quoted(PAYLOAD))],
        &["plan", "-out=plan"],
        &["show", "plan"],
        &["show", "-json", "plan"],
        &["graph", "-plan=plan"],
        &["apply", "plan"],
    ] {
        attack(&project, command, &[]);
    }
    let project = Project::new(&[("terraform.tfstate", &hostile_state()), ("main.tf", "")]);
    let text = attack(&project, &["apply", "-auto-approve", "-json"], &[]);
    assert!(text.contains("\"id_value\":\"pay\\u001b"), "{text}");
}

#[cfg(unix)]
#[test]
fn approval_prompt_follows_complete_plan() {
    let project = Project::new(&[("terraform.tfstate", &hostile_state()), ("main.tf", "")]);
    let mut terminal = Terminal::running("apply -no-color", &project, &[("TERM", "xterm")]);
    let screen = terminal.until("Enter a value: ").replace("\r\n", "\n");
    assert!(screen.contains("Refreshing state... [id=pay\\u{1b}"), "{screen}");
    assert_printable(&screen, "apply on a terminal");
    terminal.ends("yes\r");
    let project = Project::new(&[("terraform.tfstate", &hostile_state())]);
    // A program that reads the output receives every byte; a terminal receives no control
    // characters.
    let raw = project.command("output -raw o").output().expect("wardian runs");
    assert_eq!(String::from_utf8(raw.stdout).expect("the output is UTF-8"), PAYLOAD);
    let mut terminal = Terminal::running("output -raw o", &project, &[]);
    let screen = terminal.until("Forged line").replace("\r\n", "\n");
    assert!(deceptive(&screen).is_empty(), "{screen}");
    terminal.ends("");
}

#[test]
fn configuration_text_is_escaped() {
    let data = |body: serde_json::Value| json!({"resource": {"terraform_data": {"a": body}}});
    let configurations = [
        ("resource name", json!({"resource": {"terraform_data": {PAYLOAD: {}}}})),
        ("resource type", json!({"resource": {PAYLOAD: {"a": {}}}})),
        ("block type", json!({PAYLOAD: {}})),
        ("argument", data(json!({PAYLOAD: 1}))),
        ("provider name", json!({"terraform": {"required_providers": {PAYLOAD: {"source": "a/b"}}}})),
        ("provider source", json!({"terraform": {"required_providers": {"x": {"source": PAYLOAD}}}})),
        (
            "provider version",
            json!({"terraform": {"required_providers": {"x": {"source": "a/b", "version": PAYLOAD}}}}),
        ),
        ("required version", json!({"terraform": {"required_version": PAYLOAD}})),
        ("backend", json!({"terraform": {"backend": {PAYLOAD: {}}}})),
        (
            "backend path",
            json!({"terraform": {"backend": {"local": {"path": PAYLOAD, "workspace_dir": PAYLOAD}}}}),
        ),
        ("module source", json!({"module": {"m": {"source": format!("./{PAYLOAD}")}}})),
        ("module registry", json!({"module": {"m": {"source": PAYLOAD}}})),
        ("module name", json!({"module": {PAYLOAD: {"source": "./m"}}})),
        (
            "reference",
            json!({"output": {"o": {"value": format!("${{local.x[\"{PAYLOAD}\"]}}")}}, "locals": {"x": {}}}),
        ),
        ("interpolation", json!({"output": {"o": {"value": format!("${{{}}}", line())}}})),
        ("file", json!({"output": {"o": {"value": format!("${{file({})}}", quoted(line()))}}})),
        ("variable type", json!({"variable": {"v": {"type": PAYLOAD}}})),
        ("variable default", json!({"variable": {"v": {"type": "number", "default": PAYLOAD}}})),
        (
            "validation",
            json!({"variable": {"v": {"default": 1, "validation":
            {"condition": "${var.v > 1}", "error_message": PAYLOAD}}}}),
        ),
        (
            "precondition",
            data(json!({"lifecycle": {"precondition":
            {"condition": "${1 > path.cwd}", "error_message": PAYLOAD}}})),
        ),
        ("output", json!({"output": {"o": {"value": PAYLOAD}}})),
        ("output lists", json!({"output": {"o": {"value": {PAYLOAD: [PAYLOAD, {"a": line()}]}}}})),
        ("check", json!({"check": {"c": {"assert": {"condition": "${1 > 2}", "error_message": PAYLOAD}}}})),
        ("planned value", data(json!({"input": PAYLOAD}))),
        (
            "import",
            json!({"import": {"to": "terraform_data.a", "id": PAYLOAD}, "resource": {"terraform_data": {"a": {}}}}),
        ),
        ("moved", json!({"moved": {"from": PAYLOAD, "to": "terraform_data.a"}})),
        ("key", data(json!({"for_each": {PAYLOAD: 1}, "input": "${each.key}"}))),
        ("local-exec", data(json!({"provisioner": {"local-exec": {"command": PAYLOAD}}}))),
        ("provisioner", data(json!({"provisioner": {PAYLOAD: {}}}))),
        (
            "path of local_file",
            json!({"resource": {"local_file": {"a": {"filename": PAYLOAD, "content": PAYLOAD}}}}),
        ),
    ];
    for (name, configuration) in configurations {
        let project = configured(&configuration);
        let mut shown = String::new();
        for command in [
            &["validate"][..],
            &["validate", "-json"],
            &["init"],
            &["get"],
            &["modules"],
            &["providers"],
            &["graph"],
            &["plan"],
            &["plan", "-json"],
        ] {
            shown.push_str(&outputs(&project, command, &[]));
        }
        // The lines of an output's value begin in the first column, as in Terraform.
        if !name.starts_with("output") {
            shown.push_str(&outputs(&project, &["apply", "-auto-approve"], &[]));
        }
        // A file name with too many deceptive characters is not always shown.
        assert!(name == "backend path" || shown.contains("pay"), "{name} is not shown: {shown}");
    }
}

#[test]
fn source_lines_are_escaped() {
    let main = format!("output \"o\" {{\n  value = nope.x /* {} */\n}}\n", line());
    let project = Project::new(&[("main.tf", &main)]);
    let text = attack(&project, &["validate"], &[]);
    // The source line is truncated at the width of the screen.
    assert!(text.contains("\\u{1b}]52;c;eA==\\u{7}\\u{1b}[2J"), "{text}");
    attack(&project, &["validate", "-json"], &[]);
    let project = Project::new(&[("main.tf", &format!("# {}\na=1\n", line()))]);
    attack(&project, &["fmt", "-diff", "-check"], &[]);
}

#[cfg(unix)]
#[test]
fn file_names_are_escaped() {
    let project = Project::new(&[]);
    project.write(&format!("{PAYLOAD}.tf"), "a=1\n");
    project.write(&format!("{PAYLOAD}.auto.tfvars"), "b = \n");
    project.write(&format!("{PAYLOAD}/main.tf"), "a=1\n");
    attack(&project, &["validate"], &[]);
    attack(&project, &["plan"], &[]);
    attack(&project, &["fmt", "-check", "-recursive"], &[]);
    attack(&project, &["fmt", "-diff", "-recursive"], &[]);
    outputs(&project, &[&format!("-chdir={PAYLOAD}"), "validate"], &[]);
    attack(&project, &[&format!("-chdir=none{PAYLOAD}"), "validate"], &[]);
}

#[test]
fn stored_files_are_escaped() {
    for (file, content) in [
        (".terraform/environment", PAYLOAD.to_owned()),
        ("terraform.tfstate", state(&json!([]), &json!({}), PAYLOAD)),
        ("terraform.tfstate", state(&json!([]), &json!({}), &format!("99.0.0-{PAYLOAD}"))),
        ("terraform.tfstate", format!("{{\"version\": 4, {PAYLOAD}")),
        ("terraform.tfstate", json!({"version": PAYLOAD}).to_string()),
        (".terraform.lock.hcl", format!("provider {} {{\n  version = \"1.0.0\"\n}}\n", quoted(line()))),
        (
            ".terraform.lock.hcl",
            format!("provider \"registry.terraform.io/a/b\" {{\n  version = {}\n}}\n", quoted(line())),
        ),
        (".terraform.lock.hcl", format!("{}\n", line())),
        (".wardian.lock.hcl", format!("{}\n", line())),
        (
            ".terraform/modules/modules.json",
            format!("{{\"Modules\":[{{\"Key\":{0},\"Source\":{0},\"Dir\":{0}}}]}}", quoted(PAYLOAD)),
        ),
        (
            ".terraform/terraform.tfstate",
            format!("{{\"version\":3,\"backend\":{{\"type\":{}}}}}", quoted(PAYLOAD)),
        ),
        ("terraform.tfvars", format!("{} = 1\nx = {}\n", quoted(line()), quoted(line()))),
        ("x.auto.tfvars.json", json!({PAYLOAD: 1, "n": PAYLOAD}).to_string()),
        ("wardian.policy.hcl", format!("plugin {} {{\n}}\n", quoted(line()))),
        ("wardian.policy.hcl", format!("plugin \"*\" {{\n  {}\n}}\n", line())),
        (
            "wardian.policy.hcl",
            format!(
                "plugin \"*\" {{\n  deny filesystem {{\n    directories = [\".\"]\n    reason      = {}\n  }}\n}}\n",
                quoted(line())
            ),
        ),
        ("home/.terraformrc", format!("{}\n", line())),
        (
            "home/.terraformrc",
            format!(
                "provider_installation {{\n  dev_overrides {{\n    \"a/b\" = {}\n  }}\n}}\n",
                quoted(line())
            ),
        ),
    ] {
        let main = "variable \"n\" {\n  type    = number\n  default = 1\n}\nresource \"local_file\" \"a\" {\n  filename = \"x\"\n  content  = \"x\"\n}\n";
        let project = Project::new(&[("main.tf", main), (file, &content)]);
        let mut shown = String::new();
        for command in [
            &["init"][..],
            &["plan"],
            &["plan", "-json"],
            &["version"],
            &["version", "-json"],
            &["providers"],
            &["show"],
            &["workspace", "show"],
            &["workspace", "list"],
            &["modules"],
            &["policy", "check"],
            &["policy", "explain", "hashicorp/local"],
            &["policy", "explain", "-json", "hashicorp/local"],
            &["state", "pull"],
            &["console"],
        ] {
            shown.push_str(&outputs(&project, command, &[]));
        }
        let is_ignored = file.contains("modules.json")
            || file == "home/.terraformrc"
            || file == ".terraform/terraform.tfstate";
        assert!(
            is_ignored
                || ["pay", "Invalid", "invalid", "damaged", "syntax error"]
                    .iter()
                    .any(|word| shown.contains(word)),
            "{file} is not shown: {shown}"
        );
    }
}

#[test]
fn arguments_and_variables_are_escaped() {
    let project = Project::new(&[
        ("main.tf", "variable \"n\" {\n  type    = number\n  default = 1\n}\n"),
        ("terraform.tfstate", &hostile_state()),
        ("junk", line()),
    ]);
    for command in [
        &[PAYLOAD][..],
        &["plan", &format!("-{PAYLOAD}")],
        &["plan", PAYLOAD],
        &["plan", &format!("-target={PAYLOAD}")],
        &["plan", &format!("-var=n={PAYLOAD}")],
        &["plan", &format!("-var={PAYLOAD}=1")],
        &["plan", &format!("-var-file={PAYLOAD}")],
        &["plan", &format!("-parallelism={PAYLOAD}")],
        &["plan", &format!("-out=none/{PAYLOAD}")],
        &["apply", PAYLOAD],
        &["show", PAYLOAD],
        &["output", PAYLOAD],
        &["state", "show", PAYLOAD],
        &["state", "rm", PAYLOAD],
        &["state", "mv", PAYLOAD, "a.b"],
        &["state", "replace-provider", PAYLOAD, "a/b"],
        &["import", PAYLOAD, "x"],
        &["taint", PAYLOAD],
        &["workspace", "new", PAYLOAD],
        &["workspace", "select", PAYLOAD],
        &["audit", PAYLOAD],
        &["policy", "explain", PAYLOAD],
        &["plugin", "inspect", PAYLOAD],
        &["fmt", PAYLOAD],
    ] {
        attack(&project, command, &[]);
    }
    for (name, value) in [
        ("TF_VAR_n", PAYLOAD),
        ("TF_WORKSPACE", PAYLOAD),
        ("TF_LOG", format!("wardian={PAYLOAD}").as_str()),
        ("TF_CLI_ARGS", format!("-{}", line()).as_str()),
        ("TF_CLI_CONFIG_FILE", PAYLOAD),
        ("TF_LOG_PATH", format!("none/{PAYLOAD}").as_str()),
        ("WARDIAN_AUDIT", format!("none/{PAYLOAD}").as_str()),
    ] {
        let mut variables = vec![(name, value)];
        if name == "TF_LOG_PATH" {
            variables.push(("TF_LOG", "trace"));
        }
        attack(&project, &["plan"], &variables);
    }
    outputs(&project, &["show", "junk"], &[]);
}

#[test]
fn audit_log_is_escaped() {
    let record = |decision: &str| {
        json!({"time": "2026-01-01T00:00:00Z", "run": PAYLOAD, "plugin": "registry.terraform.io/hashicorp/local",
            "version": PAYLOAD, "sha256": PAYLOAD, "resource": PAYLOAD, "call": PAYLOAD,
            "capability": "filesystem", "access": "write", "target": format!("/{PAYLOAD}"), "decision": decision,
            "rule": PAYLOAD, "reason": PAYLOAD, "bytes_sent": 1, "bytes_received": 1, "duration_ms": 1})
    };
    let log = format!("{}\n{}\n{PAYLOAD}\n", record("allowed"), record("denied"));
    let project = Project::new(&[("audit.log", &log)]);
    for command in [&["audit", "audit.log"][..], &["audit", "-json", "audit.log"]] {
        attack(&project, command, &[]);
    }
    outputs(&project, &["audit", "-suggest-policy", "audit.log"], &[]);
}

#[cfg(unix)]
#[test]
fn provisioner_output_is_escaped() {
    let payload = PAYLOAD.replace('\n', "\\n").replace('\u{1b}', "\\033").replace('\r', "\\r");
    let main = json!({"resource": {"terraform_data": {"a": {"provisioner": {"local-exec":
        {"command": format!("printf '{payload}\\nlast\\377\\n'; exit 3")}}}}}});
    let project = configured(&main);
    outputs(&project, &["init"], &[]);
    let text = attack(&project, &["apply", "-auto-approve"], &[]);
    assert!(text.contains("(local-exec): last"), "{text}");
    let project = configured(&main);
    attack(&project, &["apply", "-auto-approve", "-json"], &[]);
}

#[test]
fn log_lines_are_escaped() {
    let main = json!({"output": {"o": {"value": PAYLOAD}},
        "resource": {"local_file": {"a": {"filename": PAYLOAD, "content": PAYLOAD}}}});
    let project = configured(&main);
    project.write(
        "wardian.policy.hcl",
        "plugin \"*\" {\n  allow filesystem {\n    directories = [\".\"]\n  }\n}\n",
    );
    outputs(&project, &["init"], &[]);
    for level in ["trace", "json"] {
        outputs(&project, &["apply", "-auto-approve"], &[("TF_LOG", level)]);
        outputs(&project, &["apply", "-auto-approve"], &[("TF_LOG", level), ("TF_LOG_PATH", "run.log")]);
        assert_printable(&project.read("run.log"), "the log file");
    }
}

/// Tests a hostile plugin's declaration, schemas, diagnostics, values and log lines.
#[test]
fn plugin_text_is_escaped() {
    let Some(hostile) = wardian_end_to_end::test_guest("hostile") else { return };
    let guest = std::fs::read(hostile).unwrap_or_default();
    let declaration =
        json!({"capabilities": [{"network": {"hosts": ["api.example.com"], "reason": PAYLOAD}}]});
    for end in [declaring(declaration.to_string().as_bytes()), declaring(PAYLOAD.as_bytes()), Vec::new()] {
        let main = "terraform {\n  required_providers {\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  }\n}\n";
        let project = Project::new(&[("main.tf", main)]);
        let path = "terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm";
        project.write(path, [guest.clone(), end].concat());
        outputs(&project, &["plugin", "inspect", path], &[]);
        outputs(&project, &["plugin", "inspect", "-json", path], &[]);
        outputs(&project, &["init"], &[]);
        outputs(&project, &["plan"], &[("TF_LOG", "trace")]);
    }
}
