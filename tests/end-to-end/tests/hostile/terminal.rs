//! Attacks with text that plugins, configurations, states and files print on the terminal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::attack::{Outcome, Table, ensure, escaped_if};
use crate::bounded::Run;
use crate::lab::{HOSTILE, Lab, PROVISIONER, configuration, program, quoted};

/// A text that clears the screen, sets the clipboard, reorders letters and forges lines.
const PAYLOAD: &str =
    "MARK\u{1b}[2JA\u{1b}]52;c;eA==\u{7}B\u{9b}3JC\u{202e}D\u{2066}E\u{2028}F\rG\u{8}H\u{85}I";
/// The same payload without characters that the configuration language or a file name cannot
/// contain.
const IN_NAME: &str = "MARK\u{1b}[2JA\u{9b}3JC\u{202e}D\u{2028}F\rG";

pub fn attacks() -> Table {
    let mut table = Table::new("terminal");
    plugins(&mut table);
    programs(&mut table);
    configurations(&mut table);
    names(&mut table);
    states(&mut table);
    files(&mut table);
    arguments(&mut table);
    environment(&mut table);
    table
}

/// Returns `Verdict::Escaped` if a control character reached standard output or standard error.
fn raw(run: &Run) -> Outcome {
    let mut found = Vec::new();
    for bytes in [&run.out, &run.errors] {
        for (name, pattern) in [
            ("ESC", &b"\x1b"[..]),
            ("BEL", b"\x07"),
            ("CSI", "\u{9b}".as_bytes()),
            ("RLO", "\u{202e}".as_bytes()),
            ("LRI", "\u{2066}".as_bytes()),
            ("LS", "\u{2028}".as_bytes()),
            ("CR", b"\r"),
            ("BS", b"\x08"),
            ("NEL", "\u{85}".as_bytes()),
        ] {
            if bytes.windows(pattern.len()).any(|window| window == pattern) && !found.contains(&name) {
                found.push(name);
            }
        }
    }
    escaped_if(!found.is_empty(), found.join(" "))
}

fn hostile(body: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{HOSTILE}\"\n    }}\n  }}\n}}\n{body}"
    )
}

fn named(input: &str) -> String {
    hostile(&format!("resource \"hostile_named\" \"a\" {{\n  input = {}\n}}\n", quoted(input)))
}

fn plugins(table: &mut Table) {
    let applied = || -> Result<Lab, String> {
        let lab = Lab::new()?;
        lab.write("main.tf", named(PAYLOAD));
        Ok(lab)
    };
    table.add("id-of-created-object", move || {
        raw(&applied()?.run("apply -auto-approve -input=false")?.success()?)
    });
    for (name, command) in [
        ("id-of-refreshed-object", "plan -input=false"),
        ("id-of-destroyed-object", "destroy -auto-approve -input=false"),
        ("id-of-shown-object", "show"),
        ("id-of-shown-resource", "state show hostile_named.a"),
        ("id-of-planned-destruction", "plan -destroy -input=false"),
        ("id-of-refresh-only-plan", "plan -refresh-only -input=false"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.write("main.tf", named(PAYLOAD));
            lab.run("apply -auto-approve -input=false")?.success()?;
            raw(&lab.run(command)?.success()?)
        });
    }
    table.add("id-of-modified-object", || {
        let lab = Lab::new()?;
        lab.write("main.tf", named(PAYLOAD));
        lab.run("apply -auto-approve -input=false")?.success()?;
        lab.write("main.tf", named("other"));
        raw(&lab.run("apply -auto-approve -input=false")?)
    });
    table.add("id-of-import", || {
        let lab = Lab::new()?;
        lab.write(
            "main.tf",
            hostile(&format!(
                "import {{\n  to = hostile_named.a\n  id = {}\n}}\nresource \"hostile_named\" \"a\" {{\n}}\n",
                quoted(PAYLOAD)
            )),
        );
        raw(&lab.run("plan -input=false")?)
    });
    for (name, input) in [
        ("message-of-diagnostic", "tell:error|"),
        ("message-of-log", "tell:log|"),
        ("field-of-log", "tell:log-field|"),
        ("standard-output-of-plugin", "tell:stdout|"),
        ("standard-error-of-plugin", "tell:stderr|"),
        ("standard-output-in-pieces", "tell:pieces|"),
        ("message-of-crash", "tell:panic|"),
        ("path-of-denied-file", "read:/"),
        ("path-of-denied-directory", "list:/"),
        ("path-of-written-file", "write:/"),
        ("value-of-data-source", "unknown "),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.write("main.tf", hostile(&format!("data \"hostile_probe\" \"a\" {{\n  input = {}\n}}\noutput \"a\" {{\n  value = data.hostile_probe.a.result\n}}\n", quoted(&format!("{input}{PAYLOAD}")))));
            raw(&lab.run_with("plan -input=false", &[("WARDIAN_LOG", "info")])?)
        });
    }
    table.add("message-of-log-as-json", || {
        let lab = Lab::new()?;
        lab.write(
            "main.tf",
            hostile(&format!(
                "data \"hostile_probe\" \"a\" {{\n  input = {}\n}}\n",
                quoted(&format!("tell:log|{PAYLOAD}"))
            )),
        );
        raw(&lab.run_with("plan -input=false", &[("TF_LOG", "JSON")])?)
    });
    table.add("planned-value", || {
        let lab = Lab::new()?;
        lab.write("main.tf", named(PAYLOAD));
        raw(&lab.run("plan -input=false")?.success()?)
    });
    table.add("written-paths-in-audit", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write("main.tf", configuration(&[(HOSTILE, &["honest", &format!("write¦{PAYLOAD}¦x")])]));
        lab.run("plan -input=false -audit-log=../audit.log")?;
        let run = lab.run("audit ../audit.log")?;
        ensure(run.says("MARK"), || run.text())?;
        raw(&run)
    });
    table.add("written-paths-in-suggested-policy", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write(
            "main.tf",
            configuration(&[(
                HOSTILE,
                &["honest", &format!("make¦{IN_NAME}"), &format!("write¦{IN_NAME}/x¦x")],
            )]),
        );
        lab.run("plan -input=false -audit-log=../audit.log")?;
        raw(&lab.run("audit -suggest-policy ../audit.log")?)
    });
}

fn programs(table: &mut Table) {
    table.add("output-of-provisioner", || {
        let lab = Lab::new()?;
        lab.policy(&program("true", &[]));
        raw(&lab.provision(&[&format!("show¦{PAYLOAD}"), "honest"])?)
    });
    table.add("arguments-of-denied-program", || {
        let lab = Lab::new()?;
        lab.policy(&program("true", &[]));
        raw(&lab.provision(&["honest", &format!("spawn¦{PAYLOAD}¦{PAYLOAD}")])?)
    });
    table.add("arguments-of-program-in-audit", || {
        let lab = Lab::new()?;
        lab.policy(&program("/bin/true", &["**"]));
        lab.provision_with(
            &["honest", &format!("spawn¦/bin/true¦{PAYLOAD}")],
            &[("WARDIAN_AUDIT", "audit.log")],
        )?;
        raw(&lab.run("audit audit.log")?)
    });
    for (name, body) in [
        ("output-of-local-exec", "command = \"printf 'MARK\\\\033[2J\\\\033]52;c;eA==\\\\007\\\\r\\\\010'\""),
        (
            "error-of-local-exec",
            "command = \"printf 'MARK\\\\033[2J\\\\033]52;c;eA==\\\\007\\\\r\\\\010' >&2; exit 3\"",
        ),
        ("command-of-local-exec", "command = \"true # MARK\\u001b[2J\\u0007\\r\""),
        ("interpreter-of-local-exec", "command = \"x\"\n    interpreter = [\"/MARK\\u001b[2J\\u0007\\r\"]"),
        ("directory-of-local-exec", "command = \"x\"\n    working_dir = \"/MARK\\u001b[2J\\u0007\\r\""),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.write("main.tf", format!("resource \"terraform_data\" \"a\" {{\n  provisioner \"local-exec\" {{\n    {body}\n  }}\n}}\n"));
            let run = lab.run("apply -auto-approve -input=false")?;
            ensure(run.says("MARK"), || run.text())?;
            raw(&run)
        });
    }
    let _ = PROVISIONER;
}

/// Values in the native syntax.
fn configurations(table: &mut Table) {
    for (name, text) in [
        ("output-value", "output \"a\" {\n  value = PAYLOAD\n}\n"),
        ("output-of-lines", "output \"a\" {\n  value = \"one\\n${PAYLOAD}\\ntwo\\n\"\n}\n"),
        ("map-keys", "output \"a\" {\n  value = { (PAYLOAD) = 1 }\n}\n"),
        ("nested-value", "output \"a\" {\n  value = [{ x = [PAYLOAD] }]\n}\n"),
        ("value-of-resource", "resource \"terraform_data\" \"a\" {\n  input = PAYLOAD\n}\n"),
        ("keys-of-instances", "resource \"terraform_data\" \"a\" {\n  for_each = toset([PAYLOAD])\n}\n"),
        ("keys-of-modules", "module \"m\" {\n  source = \"./module\"\n  for_each = toset([PAYLOAD])\n}\n"),
        (
            "message-of-precondition",
            "output \"a\" {\n  value = 1\n  precondition {\n    condition = false\n    error_message = \"X ${PAYLOAD}.\"\n  }\n}\n",
        ),
        (
            "message-of-check",
            "check \"c\" {\n  assert {\n    condition = false\n    error_message = \"X ${PAYLOAD}.\"\n  }\n}\n",
        ),
        (
            "message-of-validation",
            "variable \"v\" {\n  default = 1\n  validation {\n    condition = var.v == 2\n    error_message = \"X ${PAYLOAD}.\"\n  }\n}\n",
        ),
        (
            "values-of-failed-condition",
            "locals {\n  l = PAYLOAD\n}\noutput \"a\" {\n  value = tonumber(local.l)\n}\n",
        ),
        ("values-of-failed-function", "output \"a\" {\n  value = parseint(PAYLOAD, 10)\n}\n"),
        ("path-of-missing-file", "output \"a\" {\n  value = file(PAYLOAD)\n}\n"),
        ("path-of-missing-template", "output \"a\" {\n  value = templatefile(PAYLOAD, {})\n}\n"),
        ("pattern-of-failed-regex", "output \"a\" {\n  value = regex(\"(${PAYLOAD}\", \"x\")\n}\n"),
        ("key-of-failed-index", "output \"a\" {\n  value = { a = 1 }[PAYLOAD]\n}\n"),
        ("date-of-failed-function", "output \"a\" {\n  value = timeadd(PAYLOAD, \"1h\")\n}\n"),
        ("document-of-failed-function", "output \"a\" {\n  value = jsondecode(PAYLOAD)\n}\n"),
        ("yaml-of-failed-function", "output \"a\" {\n  value = yamldecode(\"a: [${PAYLOAD}\")\n}\n"),
        (
            "template-of-failed-function",
            "output \"a\" {\n  value = templatestring(local.t, {})\n}\nlocals {\n  t = \"$${${PAYLOAD}}\"\n}\n",
        ),
        ("module-source", "module \"m\" {\n  source = PAYLOAD\n}\n"),
        ("local-module-source", "module \"m\" {\n  source = \"./PAYLOAD_TEXT\"\n}\n"),
        ("version-of-module", "module \"m\" {\n  source = \"a/b/c\"\n  version = PAYLOAD\n}\n"),
        ("required-version", "terraform {\n  required_version = PAYLOAD\n}\n"),
        (
            "provider-source",
            "terraform {\n  required_providers {\n    a = {\n      source = PAYLOAD\n    }\n  }\n}\n",
        ),
        (
            "provider-version",
            "terraform {\n  required_providers {\n    random = {\n      source = \"hashicorp/random\"\n      version = PAYLOAD\n    }\n  }\n}\n",
        ),
        ("backend-path", "terraform {\n  backend \"local\" {\n    path = PAYLOAD\n  }\n}\n"),
        ("backend-type", "terraform {\n  backend \"PAYLOAD_TEXT\" {\n  }\n}\n"),
        ("experiment", "terraform {\n  experiments = [PAYLOAD]\n}\n"),
        ("description-of-variable", "variable \"v\" {\n  description = PAYLOAD\n}\n"),
        ("depends-on-text", "output \"a\" {\n  value = 1\n  depends_on = [PAYLOAD]\n}\n"),
        (
            "remote-state-path",
            "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n  config = {\n    path = PAYLOAD\n  }\n}\n",
        ),
        ("remote-state-backend", "data \"terraform_remote_state\" \"a\" {\n  backend = PAYLOAD\n}\n"),
        ("label-of-resource", "resource \"PAYLOAD_TEXT\" \"a\" {\n}\n"),
        ("label-of-block", "PAYLOAD_RAW \"a\" {\n}\n"),
        (
            "label-of-provisioner",
            "resource \"terraform_data\" \"a\" {\n  provisioner \"PAYLOAD_TEXT\" {\n  }\n}\n",
        ),
        ("comment-in-source-line", "output \"a\" {\n  value = nope /* PAYLOAD_RAW */\n}\n"),
        ("text-in-source-line", "output \"a\" {\n  value = \"PAYLOAD_RAW ${nope}\"\n}\n"),
        ("heredoc-in-source-line", "output \"a\" {\n  value = <<EOT\nPAYLOAD_RAW ${nope}\nEOT\n}\n"),
        ("unknown-character", "output \"a\" {\n  value = PAYLOAD_RAW\n}\n"),
        ("warning-of-ignored-text", "variable \"v\" {\n  type = \"PAYLOAD_TEXT\"\n}\n"),
    ] {
        for command in ["init -input=false", "plan -input=false"] {
            let word = command.split(' ').next().unwrap_or_default();
            table.add(format!("{name}-at-{word}"), move || {
                let lab = Lab::new()?;
                lab.write("module/main.tf", "resource \"terraform_data\" \"a\" {\n}\n");
                let literal = quoted(PAYLOAD);
                let inner = literal.trim_matches('"').to_owned();
                let text = text
                    .replace("PAYLOAD_TEXT", &inner)
                    .replace("PAYLOAD_RAW", IN_NAME)
                    .replace("PAYLOAD", &literal);
                lab.write("main.tf", text);
                if word == "plan" && name == "keys-of-modules" {
                    lab.run("init -input=false")?;
                }
                raw(&lab.run(command)?)
            });
        }
    }
}

/// Names in JSON, which can contain every character.
fn names(table: &mut Table) {
    for (name, document) in [
        ("resource-name", json!({ "resource": { "terraform_data": { PAYLOAD: {} } } })),
        ("resource-type", json!({ "resource": { PAYLOAD: { "a": {} } } })),
        ("argument-name", json!({ "resource": { "terraform_data": { "a": { PAYLOAD: 1 } } } })),
        ("block-name", json!({ PAYLOAD: { "a": 1 } })),
        ("output-name", json!({ "output": { PAYLOAD: { "value": 1 } } })),
        ("variable-name", json!({ "variable": { PAYLOAD: {} } })),
        ("local-name", json!({ "locals": { PAYLOAD: 1 } })),
        ("module-name", json!({ "module": { PAYLOAD: { "source": "./module" } } })),
        ("module-source", json!({ "module": { "m": { "source": PAYLOAD } } })),
        ("module-argument", json!({ "module": { "m": { "source": "./module", PAYLOAD: 1 } } })),
        ("provider-name", json!({ "provider": { PAYLOAD: {} } })),
        ("provider-alias", json!({ "provider": { "random": { "alias": PAYLOAD } } })),
        (
            "required-provider",
            json!({ "terraform": { "required_providers": { PAYLOAD: { "source": "a/b" } } } }),
        ),
        ("required-version", json!({ "terraform": { "required_version": PAYLOAD } })),
        ("data-name", json!({ "data": { "terraform_remote_state": { PAYLOAD: { "backend": "local" } } } })),
        (
            "check-name",
            json!({ "check": { PAYLOAD: { "assert": { "condition": false, "error_message": "No." } } } }),
        ),
        ("expression", json!({ "output": { "a": { "value": format!("${{{PAYLOAD}}}") } } })),
        ("reference", json!({ "output": { "a": { "value": "${var.x}", "depends_on": [PAYLOAD] } } })),
        ("moved-address", json!({ "moved": { "from": PAYLOAD, "to": "terraform_data.x" } })),
        ("removed-address", json!({ "removed": { "from": PAYLOAD } })),
        ("import-address", json!({ "import": { "to": PAYLOAD, "id": PAYLOAD } })),
        (
            "provisioner-name",
            json!({ "resource": { "terraform_data": { "a": { "provisioner": { PAYLOAD: {} } } } } }),
        ),
    ] {
        table.add(format!("json-{name}"), move || {
            let lab = Lab::new()?;
            lab.write("module/main.tf", "");
            lab.write("main.tf.json", document.to_string());
            let run = lab.run("init -input=false")?;
            raw(&run).and_then(|verdict| match verdict {
                crate::attack::Verdict::Held => raw(&lab.run("plan -input=false")?),
                escaped => Ok(escaped),
            })
        });
    }
}

fn states(table: &mut Table) {
    let resource = |r#type: &str, name: &str, provider: &str, key: serde_json::Value| json!({ "mode": "managed", "type": r#type, "name": name, "provider": provider, "instances": [{ "schema_version": 0, "index_key": key, "attributes": { "id": PAYLOAD, "input": null, "output": null, "triggers_replace": null }, "sensitive_attributes": [] }] });
    const BUILT_IN: &str = "provider[\"terraform.io/builtin/terraform\"]";
    let state = |version: &str, outputs: serde_json::Value, resources: serde_json::Value| json!({ "version": 4, "terraform_version": version, "serial": 1, "lineage": "00000000-0000-4000-8000-000000000001", "outputs": outputs, "resources": resources, "check_results": null });
    let cases = [
        ("version-of-program", state(PAYLOAD, json!({}), json!([]))),
        ("newer-version-of-program", state(&format!("99.0.0-{PAYLOAD}"), json!({}), json!([]))),
        ("output-name", state("1.11.4", json!({ PAYLOAD: { "value": "x", "type": "string" } }), json!([]))),
        ("output-value", state("1.11.4", json!({ "a": { "value": PAYLOAD, "type": "string" } }), json!([]))),
        ("output-type", state("1.11.4", json!({ "a": { "value": "x", "type": PAYLOAD } }), json!([]))),
        (
            "resource-name",
            state("1.11.4", json!({}), json!([resource("terraform_data", PAYLOAD, BUILT_IN, json!(null))])),
        ),
        ("resource-type", state("1.11.4", json!({}), json!([resource(PAYLOAD, "a", BUILT_IN, json!(null))]))),
        (
            "resource-key",
            state("1.11.4", json!({}), json!([resource("terraform_data", "a", BUILT_IN, json!(PAYLOAD))])),
        ),
        (
            "resource-id",
            state("1.11.4", json!({}), json!([resource("terraform_data", "a", BUILT_IN, json!(null))])),
        ),
        (
            "provider",
            state("1.11.4", json!({}), json!([resource("terraform_data", "a", PAYLOAD, json!(null))])),
        ),
        (
            "provider-of-host",
            state(
                "1.11.4",
                json!({}),
                json!([resource(
                    "terraform_data",
                    "a",
                    &format!("provider[\"{PAYLOAD}/a/b\"]"),
                    json!(null)
                )]),
            ),
        ),
        (
            "lineage",
            json!({ "version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": PAYLOAD, "outputs": {}, "resources": [] }),
        ),
        ("format", json!({ "version": PAYLOAD })),
        (
            "unknown-key",
            json!({ "version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "x", "outputs": {}, "resources": [{ PAYLOAD: 1 }] }),
        ),
    ];
    for (name, document) in cases {
        for command in
            ["plan -input=false", "state list", "state show terraform_data.a", "show", "output", "providers"]
        {
            let document = document.clone();
            table.add(
                format!("state-{name}-at-{}", command.replace(" -input=false", "").replace(' ', "-")),
                move || {
                    let lab = Lab::new()?;
                    lab.write("main.tf", "");
                    lab.write("terraform.tfstate", document.to_string());
                    raw(&lab.run(command)?)
                },
            );
        }
    }
}

/// Files with other formats, and file names.
fn files(table: &mut Table) {
    let write =
        |table: &mut Table, name: &str, path: &'static str, content: String, command: &'static str| {
            table.add(
                format!("{name}-at-{}", command.replace(" -input=false", "").replace(' ', "-")),
                move || {
                    let lab = Lab::new()?;
                    lab.write("main.tf", "output \"a\" {\n  value = 1\n}\n");
                    lab.write_at(path, &content);
                    raw(&lab.run(command)?)
                },
            );
        };
    let raw_text = format!("x = \"{IN_NAME}\" y\n");
    write(table, "workspace", "project/.terraform/environment", PAYLOAD.into(), "plan -input=false");
    write(table, "workspace", "project/.terraform/environment", PAYLOAD.into(), "workspace show");
    write(table, "workspace", "project/.terraform/environment", PAYLOAD.into(), "workspace list");
    write(
        table,
        "module-manifest",
        "project/.terraform/modules/modules.json",
        json!({ "Modules": [{ "Key": PAYLOAD, "Source": PAYLOAD, "Dir": PAYLOAD }] }).to_string(),
        "plan -input=false",
    );
    write(
        table,
        "backend-record",
        "project/.terraform/terraform.tfstate",
        json!({ "version": 3, "backend": { "type": PAYLOAD, "config": { "path": PAYLOAD }, "hash": 1 } })
            .to_string(),
        "plan -input=false",
    );
    write(
        table,
        "dependency-lock",
        "project/.terraform.lock.hcl",
        format!("provider \"{IN_NAME}\" {{\n}}\n"),
        "plan -input=false",
    );
    write(
        table,
        "dependency-lock-version",
        "project/.terraform.lock.hcl",
        format!("provider \"registry.terraform.io/hashicorp/random\" {{\n  version = \"{IN_NAME}\"\n}}\n"),
        "init -input=false",
    );
    write(table, "consent-lock", "project/.wardian.lock.hcl", raw_text.clone(), "init -input=false");
    write(table, "variables", "project/terraform.tfvars", raw_text.clone(), "plan -input=false");
    write(
        table,
        "undeclared-variable",
        "project/terraform.tfvars.json",
        json!({ PAYLOAD: PAYLOAD }).to_string(),
        "plan -input=false",
    );
    write(table, "policy-syntax", "project/wardian.policy.hcl", raw_text.clone(), "plan -input=false");
    write(table, "policy-syntax", "project/wardian.policy.hcl", raw_text.clone(), "policy check");
    write(
        table,
        "policy-reason",
        "project/wardian.policy.hcl",
        format!(
            "plugin \"hashicorp/local\" {{\n  deny filesystem {{\n    directories = [{0}]\n    reason = {0}\n  }}\n  allow network {{\n    hosts = [\"a.example\"]\n    reason = {0}\n  }}\n}}\n",
            quoted(PAYLOAD)
        ),
        "policy explain hashicorp/local",
    );
    write(
        table,
        "policy-word",
        "project/wardian.policy.hcl",
        format!("plugin {0} {{\n  native = {0}\n}}\n", quoted(PAYLOAD)),
        "policy check",
    );
    write(
        table,
        "policy-host",
        "project/wardian.policy.hcl",
        format!("plugin \"a/b\" {{\n  allow network {{\n    hosts = [{0}]\n  }}\n}}\n", quoted(PAYLOAD)),
        "policy check",
    );
    write(table, "settings", "home/.terraformrc", raw_text.clone(), "plan -input=false");
    write(table, "settings-block", "home/.terraformrc", format!("{} {{\n}}\n", quoted(PAYLOAD)), "version");
    write(
        table,
        "journal",
        "project/.terraform.tfstate.journal",
        format!("{PAYLOAD}\n"),
        "plan -input=false",
    );
    write(table, "saved-plan", "project/tfplan", PAYLOAD.into(), "show tfplan");
    write(table, "format-syntax", "project/x.tf", raw_text.clone(), "fmt");
    write(
        table,
        "format-difference",
        "project/x.tf",
        format!("locals {{\n  a=\"{IN_NAME}\"\n}}\n"),
        "fmt -diff",
    );
    write(table, "test-file", "project/x.tftest.hcl", raw_text.clone(), "plan -input=false");
    let record = json!({ "time": PAYLOAD, "plugin": PAYLOAD, "version": PAYLOAD, "hash": PAYLOAD, "resource": PAYLOAD, "call": PAYLOAD, "capability": PAYLOAD, "target": PAYLOAD, "decision": "denied", "rule": PAYLOAD, "reason": PAYLOAD });
    write(table, "audit-log", "project/audit.log", format!("{record}\n{PAYLOAD}\n"), "audit audit.log");
    table.add("audit-log-with-forged-target", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write("main.tf", configuration(&[(HOSTILE, &["read¦TARGET", "honest"])]));
        lab.run("plan -input=false -audit-log=../audit.log")?;
        let log = lab.read_at("audit.log");
        ensure(log.contains("TARGET"), || log.clone())?;
        let payload = serde_json::to_string(PAYLOAD).unwrap_or_default();
        lab.write_at(
            "audit.log",
            log.replace("TARGET", payload.trim_matches('"'))
                .replace(HOSTILE, &format!("{HOSTILE}{}", payload.trim_matches('"'))),
        );
        raw(&lab.run("audit ../audit.log")?)
    });
    for (name, path, content, command) in [
        ("configuration", "NAME.tf", "x = y z\n", "plan -input=false"),
        ("configuration", "NAME.tf", "x = y z\n", "validate"),
        ("configuration", "NAME.tf", "x = y z\n", "init -input=false"),
        ("configuration", "NAME.tf", "locals {\n  a=1\n}\n", "fmt"),
        ("json-configuration", "NAME.tf.json", "{", "plan -untrusted -input=false"),
        ("variables", "NAME.auto.tfvars", "x = y z\n", "plan -input=false"),
        ("workspace", "terraform.tfstate.d/NAME/terraform.tfstate", "{}", "workspace list"),
        (
            "package",
            "terraform.d/plugins/example.com/a/b/1.0.0/wasm32_wasip2/NAME.wasm",
            "x",
            "init -input=false",
        ),
        (
            "provisioner",
            "terraform.d/plugins/terraform-provisioner-NAME_v1.0.0.wasm",
            "x",
            "init -input=false",
        ),
    ] {
        for bytes in [IN_NAME.as_bytes(), b"MARK\x9b2J\xff\x1b[2J"] {
            let kind = if bytes == IN_NAME.as_bytes() { "" } else { "-invalid" };
            table.add(format!("name-of-{name}{kind}-at-{}", command.replace(" -input=false", "").replace(' ', "-")), move || {
                let lab = Lab::new()?;
                lab.write_at("home/.terraformrc", "");
                lab.write("main.tf", "terraform {\n  required_providers {\n    b = {\n      source = \"example.com/a/b\"\n    }\n  }\n}\n");
                if !path.contains("plugins") {
                    lab.write("main.tf", "");
                }
                let (before, after) = path.split_once("NAME").unwrap_or_default();
                let full = [lab.path("").as_os_str().as_bytes(), before.as_bytes(), bytes, after.as_bytes()].concat();
                let full = std::path::Path::new(OsStr::from_bytes(&full));
                std::fs::create_dir_all(full.parent().unwrap_or(full)).map_err(|error| error.to_string())?;
                std::fs::write(full, content).map_err(|error| error.to_string())?;
                raw(&lab.run(command)?)
            });
        }
    }
    table.add("name-of-directory", || {
        let lab = Lab::new()?;
        lab.write(&format!("{IN_NAME}/main.tf"), "x = y z\n");
        let mut command = lab.command("plan -input=false");
        command.current_dir(lab.path(IN_NAME));
        raw(&crate::bounded::run(command, crate::bounded::MAX_TIME, &[])?)
    });
}

/// Arguments that a script forwards from another source.
fn arguments(table: &mut Table) {
    for (name, before, after) in [
        ("unknown-command", &[] as &[&str], &[] as &[&str]),
        ("unknown-option", &["plan"], &[]),
        ("target", &["plan", "-input=false", "-target"], &[]),
        ("replaced-address", &["plan", "-input=false", "-replace"], &[]),
        ("variable", &["plan", "-input=false", "-var"], &[]),
        ("variable-file", &["plan", "-input=false", "-var-file"], &[]),
        ("directory", &[], &["plan"]),
        ("state-file", &["plan", "-input=false", "-state"], &[]),
        ("plan-file", &["apply", "-input=false"], &[]),
        ("shown-plan", &["show"], &[]),
        ("removed-address", &["state", "rm"], &[]),
        ("shown-address", &["state", "show"], &[]),
        ("moved-address", &["state", "mv", "terraform_data.a"], &[]),
        ("output-name", &["output"], &[]),
        ("workspace", &["workspace", "select"], &[]),
        ("new-workspace", &["workspace", "new"], &[]),
        ("lock", &["force-unlock", "-force"], &[]),
        ("imported-address", &["import", "-input=false"], &["x"]),
        ("imported-id", &["import", "-input=false", "terraform_data.a"], &[]),
        ("formatted-file", &["fmt"], &[]),
        ("inspected-plugin", &["plugin", "inspect"], &[]),
        ("explained-plugin", &["policy", "explain"], &[]),
        ("checked-policy", &["policy", "check"], &[]),
        ("audit-log", &["audit"], &[]),
        ("tainted-address", &["taint"], &[]),
    ] {
        table.add(format!("argument-{name}"), move || {
            let lab = Lab::new()?;
            lab.write("main.tf", "resource \"terraform_data\" \"a\" {\n}\n");
            let mut command = lab.command("");
            command.args(before);
            match name {
                "unknown-option" => command.arg(format!("-{PAYLOAD}")),
                "directory" => command.arg(format!("-chdir={PAYLOAD}")),
                "variable" => command.arg(format!("{PAYLOAD}=x")),
                _ if before.last().is_some_and(|last| {
                    last.starts_with("-target")
                        || last.starts_with("-replace")
                        || last.starts_with("-state")
                        || last.starts_with("-var-file")
                }) =>
                {
                    command.arg(PAYLOAD)
                }
                _ => command.arg(PAYLOAD),
            };
            command.args(after);
            raw(&crate::bounded::run(command, crate::bounded::MAX_TIME, &[])?)
        });
    }
}

fn environment(table: &mut Table) {
    for (name, variable) in [
        ("workspace", "TF_WORKSPACE"),
        ("arguments", "TF_CLI_ARGS"),
        ("settings", "TF_CLI_CONFIG_FILE"),
        ("data-directory", "TF_DATA_DIR"),
        ("variable", "TF_VAR_v"),
        ("log", "WARDIAN_LOG"),
        ("log-path", "TF_LOG_PATH"),
        ("policy", "WARDIAN_POLICY"),
        ("audit-log", "WARDIAN_AUDIT"),
        ("reattached-plugins", "TF_REATTACH_PROVIDERS"),
    ] {
        table.add(format!("variable-{name}"), move || {
            let lab = Lab::new()?;
            lab.write("main.tf", "variable \"v\" {\n  type = number\n  default = 1\n}\n");
            raw(&lab.run_with("plan -input=false", &[(variable, PAYLOAD), ("TF_LOG", "info")])?)
        });
    }
}
