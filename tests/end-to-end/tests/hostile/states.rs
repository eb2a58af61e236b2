//! Attacks on states, plans and their secrets: plugins that read them, and untrusted configurations
//! that reveal them under `-untrusted`.

use crate::attack::{Outcome, Table, ensure, escaped_if};
use crate::lab::{HOSTILE, Lab, OTHER, SECRET, grant, grant_access};

pub fn attacks() -> Table {
    let mut table = Table::new("states");
    plugins(&mut table);
    embedded(&mut table);
    later_calls(&mut table);
    values(&mut table);
    oracles(&mut table);
    files(&mut table);
    table
}

fn state() -> String {
    format!(
        "{{\n  \"version\": 4,\n  \"terraform_version\": \"1.11.4\",\n  \"serial\": 3,\n  \"lineage\": \"00000000-0000-4000-8000-000000000001\",\n  \"outputs\": {{\n    \"password\": {{\n      \"value\": \"{SECRET}\",\n      \"type\": \"string\",\n      \"sensitive\": true\n    }}\n  }},\n  \"resources\": [],\n  \"check_results\": null\n}}\n"
    )
}

/// Attacks by a plugin that has access to the root module's directory.
fn plugins(table: &mut Table) {
    let read = |table: &mut Table,
                name: &str,
                path: &'static str,
                content: fn() -> String,
                step: &'static str,
                variables: &'static [(&'static str, &'static str)]| {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.policy(&grant_access(HOSTILE, &["."], &["read"]));
            lab.write("honest.txt", "honest");
            lab.write(path, content());
            let run = lab.probe_all(&[(HOSTILE, &["read¦honest.txt", step])], variables)?;
            ensure(run.says("#0 read honest"), || run.text())?;
            escaped_if(run.says("S3CRET-of"), "a plugin read a secret of a state")
        });
    };
    for path in [
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "terraform.tfstate.1700000000.backup",
        "terraform.tfstate.1700000000123.backup",
        "prod.tfstate",
        "prod.tfstate.backup",
        "errored.tfstate",
        "module/terraform.tfstate",
        "terraform.tfstate.d/blue/terraform.tfstate",
        "terraform.tfstate.d/blue/terraform.tfstate.backup",
        "module/.terraform.tfstate.lock.info",
        "module/.terraform.tfstate.journal",
        ".prod.tfstate.journal",
        "module/.terraform/terraform.tfstate",
        // A copy under another name is recognized by its content.
        "copy.json",
        "notes.txt",
        "state",
    ] {
        let step: &'static str = Box::leak(format!("read¦{path}").into_boxed_str());
        read(table, &format!("read-{path}"), path, state, step, &[]);
    }
    read(
        table,
        "read-minified-copy",
        "copy.json",
        || state().replace(['\n', ' '], ""),
        "read¦copy.json",
        &[],
    );
    read(
        table,
        "read-copy-with-leading-space",
        "copy.json",
        || format!("\n\n\t  {}", state()),
        "read¦copy.json",
        &[],
    );
    read(
        table,
        "read-copy-with-byte-order-mark",
        "copy.json",
        || format!("\u{feff}{}", state()),
        "read¦copy.json",
        &[],
    );
    read(
        table,
        "read-copy-with-other-order",
        "copy.json",
        || {
            format!(
                "{{\"outputs\":{{\"p\":{{\"value\":\"{SECRET}\",\"type\":\"string\"}}}},\"resources\":[],\"serial\":1,\"lineage\":\"x\",\"terraform_version\":\"1.11.4\",\"version\":4}}"
            )
        },
        "read¦copy.json",
        &[],
    );
    read(
        table,
        "read-old-version",
        "copy.json",
        || {
            format!(
                "{{\"version\":3,\"serial\":1,\"lineage\":\"x\",\"modules\":[{{\"path\":[\"root\"],\"outputs\":{{\"p\":{{\"sensitive\":true,\"type\":\"string\",\"value\":\"{SECRET}\"}}}},\"resources\":{{}}}}]}}"
            )
        },
        "read¦copy.json",
        &[],
    );
    read(table, "read-at-an-offset", "terraform.tfstate", state, "read-at¦terraform.tfstate¦30", &[]);
    read(table, "read-copy-at-an-offset", "copy.json", state, "read-at¦copy.json¦30", &[]);
    read(table, "read-with-dots", "terraform.tfstate", state, "read¦././/terraform.tfstate", &[]);
    read(table, "read-below", "terraform.tfstate", state, "read-below¦.¦terraform", &[]);
    read(
        table,
        "read-of-workspace-by-variable",
        "terraform.tfstate.d/blue/terraform.tfstate",
        state,
        "read¦terraform.tfstate.d/blue/terraform.tfstate",
        &[("TF_WORKSPACE", "blue")],
    );
    read(
        table,
        "read-backend-record-elsewhere",
        ".tfdata/backup.tfstate",
        state,
        "read¦.tfdata/backup.tfstate",
        &[("TF_DATA_DIR", ".tfdata")],
    );
    // A plugin with write access can first rename or link the file to a harmless name.
    for (name, steps) in [
        ("renamed", &["honest", "rename¦terraform.tfstate¦x.txt", "read¦x.txt"] as &[&str]),
        ("linked", &["honest", "link¦terraform.tfstate¦x.txt", "read¦x.txt"]),
        ("symbolically-linked", &["honest", "symlink¦terraform.tfstate¦x.txt", "read¦x.txt"]),
        ("copied", &["honest", "copy¦terraform.tfstate¦x.txt", "read¦x.txt"]),
        ("held", &["honest", "hold¦terraform.tfstate", "read-held"]),
        ("held-for-writing", &["honest", "hold¦terraform.tfstate¦write", "read-held"]),
        ("in-moved-directory", &["honest", "rename¦terraform.tfstate.d¦d", "read¦d/blue/terraform.tfstate"]),
        (
            "in-linked-directory",
            &["honest", "symlink¦terraform.tfstate.d¦d", "read¦d/blue/terraform.tfstate"],
        ),
        (
            "in-moved-workspace",
            &[
                "honest",
                "rename¦terraform.tfstate.d/blue¦blue",
                "rename¦blue/terraform.tfstate¦blue/x.txt",
                "read¦blue/x.txt",
            ],
        ),
        (
            "overwritten-at-its-start",
            &["honest", "overwrite¦copy.json¦xxxxxxxxxxxxxxxxxxxx", "read¦copy.json"],
        ),
        ("appended-to", &["honest", "append¦copy.json¦x", "read¦copy.json"]),
    ] {
        table.add(format!("read-{name}"), move || {
            let lab = Lab::with_grant(&["."])?;
            for path in ["terraform.tfstate", "terraform.tfstate.d/blue/terraform.tfstate", "copy.json"] {
                lab.write(path, state());
            }
            let run = lab.probe(steps)?;
            ensure(run.says("honest"), || run.text())?;
            escaped_if(run.says(SECRET), "a plugin read a secret of a state")
        });
    }
    table.add("read-shared-by-another-plugin", || {
        let lab = Lab::new()?;
        lab.policy(&(grant(HOSTILE, &["."]) + &grant_access(OTHER, &["share"], &["read"])));
        lab.write("terraform.tfstate", state());
        lab.make("share")?;
        let run = lab.probe_all(
            &[(HOSTILE, &["honest", "link¦terraform.tfstate¦share/x"]), (OTHER, &["honest", "read¦share/x"])],
            &[],
        )?;
        escaped_if(run.says(SECRET), "a plugin gave another one a secret of a state")
    });
    // Files named by command-line options.
    for (name, option, path) in [
        ("read-state-of-option", "-state=mine", "mine"),
        ("read-state-in-directory-of-option", "-state=private/mine", "private/mine"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.policy(&grant_access(HOSTILE, &["."], &["read"]));
            lab.write(path, state());
            lab.write(
                "main.tf",
                crate::lab::configuration(&[(HOSTILE, &["honest", &format!("read¦{path}")])]),
            );
            let run = lab.run(&format!("plan -input=false {option}"))?;
            ensure(run.says("#1 "), || run.text())?;
            escaped_if(run.says(SECRET), "a plugin read a secret of a state")
        });
    }
    // A saved plan contains the variables.
    for path in ["tfplan", "release.tfplan", "release.bin", "out/plan"] {
        table.add(format!("read-plan-{path}"), move || {
            let lab = Lab::new()?;
            lab.policy(&grant_access(HOSTILE, &["."], &["read"]));
            lab.write(
                "x/main.tf",
                "variable \"v\" {\n  default = \"x\"\n}\noutput \"a\" {\n  value = var.v\n}\n",
            );
            lab.make("out")?;
            lab.run(&format!("-chdir=x plan -input=false -out={}", lab.path(path).display()))?.success()?;
            let run = lab.probe(&["honest", &format!("read-hex¦{path}")])?;
            escaped_if(run.says("#1 read "), "a plugin read a saved plan")
        });
    }
}

/// Data sources of embedded plugins have default grants.
fn embedded(table: &mut Table) {
    for (name, path) in [
        ("data-source-reads-state", "terraform.tfstate"),
        ("data-source-reads-backup", "terraform.tfstate.backup"),
        ("data-source-reads-copy", "copy.json"),
        ("data-source-reads-state-with-dots", ".//./terraform.tfstate"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            for file in ["terraform.tfstate.backup", "copy.json"] {
                lab.write(file, state());
            }
            lab.write("terraform.tfstate", state());
            lab.write("main.tf", format!("data \"local_file\" \"a\" {{\n  filename = \"{path}\"\n}}\noutput \"a\" {{\n  value = nonsensitive(data.local_file.a.content)\n}}\noutput \"password\" {{\n  value = \"{SECRET}\"\n  sensitive = true\n}}\n"));
            lab.run("init -input=false")?.success()?;
            let run = lab.run("plan -input=false")?;
            escaped_if(run.says(SECRET), "an embedded plugin read a secret of a state")
        });
    }
}

/// A fragment of a secret from one call appears in the message of a later call.
fn later_calls(table: &mut Table) {
    for (name, expression) in [
        ("part-of-secret-in-later-call", "substr(var.secret, 3, 12)"),
        ("changed-secret-in-later-call", "upper(var.secret)"),
        ("derived-secret-in-later-call", "strrev(var.secret)"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            let configuration = format!("terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{HOSTILE}\"\n    }}\n  }}\n}}\nvariable \"secret\" {{\n  sensitive = true\n  default = \"correct-horse-battery\"\n}}\ndata \"hostile_probe\" \"a\" {{\n  input = \"steps:keep\\u001f${{{expression}}}\"\n}}\ndata \"hostile_probe\" \"b\" {{\n  input = \"steps:honest\\u001epanic-with-kept\"\n  depends_on = [data.hostile_probe.a]\n}}\n");
            lab.write("main.tf", configuration);
            let run = lab.run("plan -input=false -parallelism=1")?;
            ensure(run.says("it kept"), || run.text())?;
            let text = run.text();
            escaped_if(["rect-horse-b", "CORRECT-HORSE", "yrettab-esroh"].iter().any(|part| text.contains(part)), "a later call showed a part of a secret")
        });
    }
}

/// Returns a lab whose state contains a password, and the password.
fn with_password() -> Result<(Lab, String), String> {
    let lab = Lab::new()?;
    lab.write("main.tf", PASSWORD);
    lab.run("init -input=false")?.success()?;
    lab.run("apply -auto-approve -input=false")?.success()?;
    let state: serde_json::Value =
        serde_json::from_str(&lab.read("terraform.tfstate")).map_err(|error| error.to_string())?;
    let resources = state["resources"].as_array().cloned().unwrap_or_default();
    let password = resources
        .iter()
        .find(|resource| resource["type"] == "random_password")
        .and_then(|resource| resource["instances"][0]["attributes"]["result"].as_str().map(str::to_owned));
    let password = password.ok_or("the state has no password")?;
    Ok((lab, password))
}

const PASSWORD: &str = "resource \"random_password\" \"p\" {\n  length = 24\n  special = false\n}\nresource \"terraform_data\" \"t\" {\n  input = random_password.p.result\n}\noutput \"o\" {\n  value = random_password.p.result\n  sensitive = true\n}\n";

/// Returns whether text contains the password, possibly with separators, reversed or in hexadecimal.
fn shows(text: &str, password: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let backwards: String = password.chars().rev().collect();
    let hexadecimal: String = password.bytes().map(|byte| format!("{byte:02x}")).collect();
    let upper = password.to_uppercase();
    plain.contains(password)
        || plain.contains(&backwards)
        || plain.contains(&hexadecimal)
        || text.contains(&upper)
}

const STRANGER: &str = "terraform {\n  required_providers {\n    random = {\n      source = \"hashicorp/random\"\n    }\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  }\n}\n";

/// Untrusted configurations that reveal values from the state under `-untrusted`.
fn values(table: &mut Table) {
    for (name, configuration) in [
        ("output-nonsensitive", "output \"x1\" {\n  value = nonsensitive(random_password.p.result)\n}\n"),
        ("output-nonsensitive-object", "output \"x1\" {\n  value = nonsensitive(random_password.p)\n}\n"),
        (
            "output-of-expression",
            "output \"x1\" {\n  value = nonsensitive(\"x-${random_password.p.result}\")\n}\n",
        ),
        (
            "output-of-pieces",
            "output \"x1\" {\n  value = join(\"-\", [for i in range(24) : nonsensitive(substr(random_password.p.result, i, 1))])\n}\n",
        ),
        (
            "output-backwards",
            "output \"x1\" {\n  value = strrev(nonsensitive(random_password.p.result))\n}\n",
        ),
        (
            "output-after-strrev",
            "output \"x1\" {\n  value = nonsensitive(strrev(random_password.p.result))\n}\n",
        ),
        (
            "output-upper-case",
            "output \"x1\" {\n  value = nonsensitive(upper(random_password.p.result))\n}\n",
        ),
        (
            "output-encoded-as-json",
            "output \"x1\" {\n  value = nonsensitive(jsonencode(random_password.p))\n}\n",
        ),
        (
            "output-of-local",
            "locals {\n  l = random_password.p.result\n}\noutput \"x1\" {\n  value = nonsensitive(local.l)\n}\n",
        ),
        (
            "output-of-try",
            "output \"x1\" {\n  value = try(nonsensitive(random_password.p.result), \"\")\n}\n",
        ),
        (
            "output-of-condition",
            "output \"x1\" {\n  value = true ? nonsensitive(random_password.p.result) : \"\"\n}\n",
        ),
        (
            "output-of-list",
            "output \"x1\" {\n  value = [for v in random_password.p[*].result : nonsensitive(v)]\n}\n",
        ),
        (
            "output-of-map-keys",
            "output \"x1\" {\n  value = { (nonsensitive(random_password.p.result)) = 1 }\n}\n",
        ),
        (
            "output-of-template",
            "output \"x1\" {\n  value = templatestring(local.t, { p = random_password.p.result })\n}\nlocals {\n  t = \"$${nonsensitive(p)}\"\n}\n",
        ),
        ("output-of-data", "output \"x1\" {\n  value = nonsensitive(terraform_data.t.output)\n}\n"),
        ("output-of-data-input", "output \"x1\" {\n  value = nonsensitive(terraform_data.t.input)\n}\n"),
        ("output-of-stored-data", "output \"x1\" {\n  value = terraform_data.t.output\n}\n"),
        (
            "instance-keys",
            "resource \"terraform_data\" \"x\" {\n  for_each = toset([nonsensitive(random_password.p.result)])\n}\n",
        ),
        (
            "argument-of-resource",
            "resource \"terraform_data\" \"x\" {\n  input = nonsensitive(random_password.p.result)\n}\n",
        ),
        (
            "message-of-precondition",
            "output \"x1\" {\n  value = 1\n  precondition {\n    condition = false\n    error_message = \"It is ${nonsensitive(random_password.p.result)}.\"\n  }\n}\n",
        ),
        (
            "message-of-check",
            "check \"c\" {\n  assert {\n    condition = false\n    error_message = \"It is ${nonsensitive(random_password.p.result)}.\"\n  }\n}\n",
        ),
        (
            "message-of-conversion",
            "output \"x1\" {\n  value = tonumber(nonsensitive(random_password.p.result))\n}\n",
        ),
        (
            "message-of-missing-key",
            "output \"x1\" {\n  value = { a = 1 }[nonsensitive(random_password.p.result)]\n}\n",
        ),
        (
            "message-of-missing-file",
            "output \"x1\" {\n  value = file(nonsensitive(random_password.p.result))\n}\n",
        ),
        (
            "message-of-sensitive-conversion",
            "output \"x1\" {\n  value = tonumber(random_password.p.result)\n}\n",
        ),
        (
            "message-of-sensitive-pattern",
            "output \"x1\" {\n  value = regex(\"^$\", random_password.p.result)\n}\n",
        ),
        (
            "moved-to-other-plugin",
            "resource \"hostile_thief\" \"x\" {\n}\nmoved {\n  from = random_password.p\n  to = hostile_thief.x\n}\noutput \"x1\" {\n  value = hostile_thief.x.id\n}\n",
        ),
        (
            "data-moved-to-other-plugin",
            "resource \"hostile_thief\" \"x\" {\n}\nmoved {\n  from = terraform_data.t\n  to = hostile_thief.x\n}\noutput \"x1\" {\n  value = hostile_thief.x.id\n}\n",
        ),
        (
            "moved-in-two-steps",
            "resource \"hostile_thief\" \"x\" {\n}\nmoved {\n  from = random_password.p\n  to = random_password.q\n}\nmoved {\n  from = random_password.q\n  to = hostile_thief.x\n}\noutput \"x1\" {\n  value = hostile_thief.x.id\n}\n",
        ),
        (
            "moved-into-module",
            "module \"m\" {\n  source = \"./module\"\n}\nmoved {\n  from = random_password.p\n  to = module.m.hostile_thief.x\n}\noutput \"x1\" {\n  value = module.m.id\n}\n",
        ),
        (
            "passed-to-data-source",
            "data \"hostile_probe\" \"x\" {\n  input = random_password.p.result\n}\noutput \"x1\" {\n  value = data.hostile_probe.x.result\n}\n",
        ),
        (
            "passed-nonsensitive-to-data-source",
            "data \"hostile_probe\" \"x\" {\n  input = nonsensitive(random_password.p.result)\n}\noutput \"x1\" {\n  value = data.hostile_probe.x.result\n}\n",
        ),
        (
            "passed-changed-to-data-source",
            "data \"hostile_probe\" \"x\" {\n  input = \"x${strrev(random_password.p.result)}\"\n}\noutput \"x1\" {\n  value = data.hostile_probe.x.result\n}\n",
        ),
        (
            "passed-to-provider",
            "provider \"hostile\" {\n  input = random_password.p.result\n}\ndata \"hostile_probe\" \"x\" {\n  input = \"configured\"\n}\noutput \"x1\" {\n  value = data.hostile_probe.x.result\n}\n",
        ),
        (
            "passed-through-module-to-data-source",
            "module \"m\" {\n  source = \"./shows\"\n  p = random_password.p.result\n}\noutput \"x1\" {\n  value = module.m.result\n}\n",
        ),
        (
            "identifier-of-import",
            "import {\n  to = hostile_named.x\n  id = nonsensitive(random_password.p.result)\n}\nresource \"hostile_named\" \"x\" {\n}\noutput \"x1\" {\n  value = hostile_named.x.id\n}\n",
        ),
        ("previous-output-becomes-visible", "output \"o\" {\n  value = \"other\"\n}\n"),
        (
            "own-state-as-remote-state",
            "data \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n  config = {\n    path = \"terraform.tfstate\"\n  }\n}\noutput \"o2\" {\n  value = nonsensitive(data.terraform_remote_state.x.outputs.o)\n}\n",
        ),
    ] {
        table.add(format!("untrusted-{name}"), move || {
            let (lab, password) = with_password()?;
            let keeps_password = !name.starts_with("moved") ;
            let keeps_data = !name.starts_with("data-moved");
            let mut text = STRANGER.to_owned();
            let (resources, _) = PASSWORD.split_once("output").unwrap_or_default();
            let (first, second) = resources.split_once("resource \"terraform_data\"").unwrap_or_default();
            if keeps_password {
                text.push_str(first);
            }
            if keeps_data && keeps_password {
                text.push_str(&format!("resource \"terraform_data\"{second}"));
            }
            text.push_str(configuration);
            lab.write("module/main.tf", "terraform {\n  required_providers {\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  }\n}\nresource \"hostile_thief\" \"x\" {\n}\noutput \"id\" {\n  value = hostile_thief.x.id\n}\n");
            lab.write("shows/main.tf", "terraform {\n  required_providers {\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  }\n}\nvariable \"p\" {\n}\ndata \"hostile_probe\" \"x\" {\n  input = var.p\n}\noutput \"result\" {\n  value = data.hostile_probe.x.result\n}\n");
            lab.write("main.tf", &text);
            lab.run("init -input=false")?;
            untrusted_plan_shows(&lab, &password)
        });
    }
    for (name, options) in
        [("in-json", "-json"), ("in-saved-plan", "-out=../plan"), ("by-refresh", "-refresh-only")]
    {
        table.add(format!("untrusted-nonsensitive-{name}"), move || {
            let (lab, password) = with_password()?;
            lab.write(
                "main.tf",
                PASSWORD.replace(
                    "output \"o\" {",
                    "output \"x1\" {\n  value = nonsensitive(random_password.p.result)\n}\noutput \"o\" {",
                ),
            );
            let run = lab.run(&format!("plan -untrusted -input=false {options}"))?;
            let shown = lab.run("show -json ../plan")?;
            let json = format!(
                "{}{}",
                run.text(),
                if name == "in-saved-plan" { output_values(&shown.text()) } else { String::new() }
            );
            escaped_if(shows(&json, &password), "the plan shows a secret of the state")
        });
    }
    // Another plugin takes over the address of a provider.
    for (name, of_state, of_stranger) in [
        ("provider-of-resource-changes", HOSTILE, OTHER),
        ("provider-of-resource-changes-back", OTHER, HOSTILE),
    ] {
        table.add(format!("untrusted-{name}"), move || {
            let lab = Lab::new()?;
            lab.write("terraform.tfstate", format!("{{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":1,\"lineage\":\"00000000-0000-4000-8000-000000000001\",\"outputs\":{{}},\"resources\":[{{\"mode\":\"managed\",\"type\":\"hostile_thief\",\"name\":\"x\",\"provider\":\"provider[\\\"{of_state}\\\"]\",\"instances\":[{{\"schema_version\":0,\"attributes\":{{\"id\":\"i\",\"input\":null,\"result\":null,\"secret\":\"{SECRET}\"}},\"sensitive_attributes\":[[{{\"type\":\"get_attr\",\"value\":\"secret\"}}]]}}]}}],\"check_results\":null}}"));
            lab.write("main.tf", format!("terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{of_stranger}\"\n    }}\n  }}\n}}\nresource \"hostile_thief\" \"x\" {{\n}}\noutput \"x1\" {{\n  value = hostile_thief.x.id\n}}\n"));
            let run = lab.run("plan -untrusted -input=false")?;
            let hexadecimal: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
            escaped_if(run.says(&hexadecimal) || run.says(SECRET), "another plugin received a secret of the state")
        });
    }
}

fn untrusted_plan_shows(lab: &Lab, password: &str) -> Outcome {
    let run = lab.run("plan -untrusted -input=false")?;
    ensure(run.code.is_some(), || run.text())?;
    // These errors mean that the setup failed for another reason.
    for problem in
        ["Module not installed", "Required plugins are not installed", "Inconsistent dependency lock file"]
    {
        ensure(!run.says(problem), || run.text())?;
    }
    escaped_if(shows(&run.text(), password), "the plan shows a secret of the state")
}

/// Returns the values that are not marked as sensitive in a plan.
fn output_values(json: &str) -> String {
    let plan: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let outputs = plan["planned_values"]["outputs"].as_object().cloned().unwrap_or_default();
    outputs
        .values()
        .filter(|output| output["sensitive"] != true)
        .map(|output| output["value"].to_string())
        .collect()
}

/// Attacks that distinguish two guesses of a secret by their different results.
fn oracles(table: &mut Table) {
    for (name, configuration) in [
        (
            "condition-of-output",
            "output \"x1\" {\n  value = nonsensitive(startswith(random_password.p.result, \"GUESS\"))\n}\n",
        ),
        (
            "count",
            "resource \"terraform_data\" \"x\" {\n  count = nonsensitive(startswith(random_password.p.result, \"GUESS\")) ? 1 : 0\n}\n",
        ),
        (
            "precondition",
            "output \"x1\" {\n  value = 1\n  precondition {\n    condition = startswith(random_password.p.result, \"GUESS\")\n    error_message = \"No.\"\n  }\n}\n",
        ),
        (
            "check",
            "check \"c\" {\n  assert {\n    condition = startswith(random_password.p.result, \"GUESS\")\n    error_message = \"No.\"\n  }\n}\n",
        ),
        (
            "postcondition-of-data-source",
            "data \"hostile_probe\" \"x\" {\n  input = \"honest\"\n  lifecycle {\n    postcondition {\n      condition = startswith(random_password.p.result, \"GUESS\")\n      error_message = \"No.\"\n    }\n  }\n}\n",
        ),
        (
            "variable-validation",
            "module \"m\" {\n  source = \"./module\"\n  p = random_password.p.result\n}\n",
        ),
        (
            "failing-conversion",
            "output \"x1\" {\n  value = startswith(random_password.p.result, \"GUESS\") ? 1 : tonumber(\"x${random_password.p.result}\")\n  sensitive = true\n}\n",
        ),
        ("can", "output \"x1\" {\n  value = can(regex(\"^GUESS\", random_password.p.result))\n}\n"),
        (
            "try",
            "output \"x1\" {\n  value = try(regex(\"^GUESS\", random_password.p.result) == \"\" ? 1 : 1, 2)\n}\n",
        ),
        (
            "length",
            "output \"x1\" {\n  value = length(nonsensitive(split(\"GUESS\", random_password.p.result)))\n}\n",
        ),
        (
            "length-of-list",
            "output \"x1\" {\n  value = length(split(\"GUESS\", random_password.p.result))\n}\n",
        ),
        (
            "hash",
            "output \"x1\" {\n  value = nonsensitive(sha256(substr(random_password.p.result, 0, 1)))\n}\n",
        ),
        (
            "type",
            "output \"x1\" {\n  value = nonsensitive(startswith(random_password.p.result, \"GUESS\") ? [1] : [1, 2])\n}\n",
        ),
    ] {
        table.add(format!("untrusted-oracle-{name}"), move || {
            let (lab, password) = with_password()?;
            let first = password.chars().next().ok_or("the password is empty")?;
            let wrong = if first == 'A' { 'B' } else { 'A' };
            let (resources, _) = PASSWORD.split_once("output").unwrap_or_default();
            let mut results = Vec::new();
            for guess in [first, wrong] {
                // The configuration of the case `hash` does not depend on the guess: its result is
                // compared with a hash.
                lab.write("module/main.tf", format!("variable \"p\" {{\n  validation {{\n    condition = startswith(var.p, \"{guess}\")\n    error_message = \"No.\"\n  }}\n}}\n"));
                lab.write("main.tf", format!("{STRANGER}{resources}{}", configuration.replace("GUESS", &guess.to_string())));
                lab.run("init -input=false")?;
                let run = lab.run("plan -untrusted -input=false")?;
                ensure(!run.says("Module not installed"), || run.text())?;
                // Both guesses are removed from both results, because a result contains the guessed
                // letter.
                let without = |text: String, letter: &char| {
                    text.replace(&format!("\"{letter}\""), "").replace(&format!("^{letter}"), "")
                };
                let text = [first, wrong].iter().fold(run.text(), without);
                // Concurrent operations report their progress in any order.
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort_unstable();
                results.push(lines);
            }
            if name == "hash" {
                let hash = sha256_of(first);
                let shows_hash = results[0].iter().any(|line| line.contains(&hash));
                return escaped_if(shows_hash, "the plan shows a hash of a part of the secret");
            }
            let differing = results[0].iter().zip(&results[1]).find(|(one, other)| one != other);
            escaped_if(
                results[0] != results[1],
                format!("the plan depends on a secret of the state: {differing:?}"),
            )
        });
    }
}

/// Returns the SHA-256 hash of a character, as the configuration language computes it.
fn sha256_of(letter: char) -> String {
    let lab = Lab::new().ok();
    lab.map(|lab| {
        lab.write("main.tf", format!("output \"x1\" {{\n  value = sha256(\"{letter}\")\n}}\n"));
        let text = lab.run("plan -input=false").map(|run| run.text()).unwrap_or_default();
        text.split('"').find(|word| word.len() == 64).unwrap_or("no hash").to_owned()
    })
    .unwrap_or_default()
}

/// Functions in untrusted configurations that read files left by trusted commands.
fn files(table: &mut Table) {
    let read =
        |table: &mut Table, name: &str, commands: &'static [&'static str], expression: &'static str| {
            table.add(format!("untrusted-file-{name}"), move || {
                let (lab, password) = with_password()?;
                for command in commands {
                    if let Some((from, to)) =
                        command.strip_prefix("copy ").and_then(|paths| paths.split_once(' '))
                    {
                        let content = std::fs::read(lab.path(from)).map_err(|error| error.to_string())?;
                        lab.write(to, content);
                    } else {
                        lab.run(command)?.success()?;
                    }
                }
                lab.write("main.tf", format!("output \"x\" {{\n  value = {expression}\n}}\n"));
                let run = lab.run("plan -untrusted -input=false")?;
                // A base64 text of this length is not an error message.
                let is_long = run
                    .text()
                    .split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))
                    .any(|word| word.len() > 400);
                // The source line of an error contains the expression.
                let has_hash = run
                    .text()
                    .split("hash:")
                    .skip(1)
                    .any(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
                escaped_if(
                    shows(&run.text(), &password) || is_long || has_hash,
                    "a function read a secret of a state",
                )
            });
        };
    const BACKUP: &str = "file(one(fileset(\".\", \"terraform.tfstate.*.backup\")))";
    read(table, "backup-of-state-mv", &["state mv random_password.p random_password.q"], BACKUP);
    read(table, "backup-of-state-rm", &["state rm terraform_data.t"], BACKUP);
    read(
        table,
        "backup-of-state-rm-by-pattern",
        &["state rm terraform_data.t"],
        "join(\"\", [for f in fileset(\".\", \"*.backup\") : file(f)])",
    );
    read(
        table,
        "backup-of-state-rm-encoded",
        &["state rm terraform_data.t"],
        "filebase64(one(fileset(\".\", \"terraform.tfstate.*.backup\")))",
    );
    read(
        table,
        "backup-of-state-rm-as-template",
        &["state rm terraform_data.t"],
        "templatefile(one(fileset(\".\", \"terraform.tfstate.*.backup\")), {})",
    );
    read(
        table,
        "backup-of-state-rm-hashed",
        &["state rm terraform_data.t"],
        "\"hash:${filesha256(one(fileset(\".\", \"terraform.tfstate.*.backup\")))}\"",
    );
    read(table, "named-backup", &["state rm -backup=old.json terraform_data.t"], "file(\"old.json\")");
    read(
        table,
        "backup-of-taint",
        &["taint terraform_data.t", "untaint terraform_data.t"],
        "file(\"terraform.tfstate.backup\")",
    );
    read(table, "copy-of-state", &["copy terraform.tfstate saved.json"], "file(\"saved.json\")");
    read(
        table,
        "copy-of-state-decoded",
        &["copy terraform.tfstate saved.txt"],
        "jsonencode(jsondecode(file(\"saved.txt\")))",
    );
    read(table, "copy-of-state-in-directory", &["copy terraform.tfstate a/b/saved"], "file(\"a/b/saved\")");
    read(
        table,
        "state-by-data-source",
        &["copy terraform.tfstate saved.json"],
        "file(\"./a/../saved.json\")",
    );
    read(table, "saved-plan", &["plan -out=tfplan"], "filebase64(\"tfplan\")");
    read(table, "saved-plan-under-other-name", &["plan -out=release.bin"], "filebase64(\"release.bin\")");
    read(
        table,
        "saved-plan-in-directory",
        &["plan -out=module.bin", "copy module.bin a/picture.png"],
        "filebase64(\"a/picture.png\")",
    );
    read(table, "saved-plan-hashed", &["plan -out=tfplan"], "\"hash:${filesha512(\"tfplan\")}\"");
    read(
        table,
        "state-of-workspace",
        &["workspace new blue", "copy terraform.tfstate terraform.tfstate.d/blue/terraform.tfstate.1.backup"],
        "file(\"terraform.tfstate.d/blue/terraform.tfstate.1.backup\")",
    );
    table.add("untrusted-data-source-reads-backup", || {
        let (lab, password) = with_password()?;
        lab.run("state rm -backup=old.json terraform_data.t")?.success()?;
        lab.write("main.tf", "data \"local_file\" \"x\" {\n  filename = \"old.json\"\n}\noutput \"x\" {\n  value = data.local_file.x.content\n}\n");
        lab.run("init -input=false")?.success()?;
        let run = lab.run("plan -untrusted -input=false")?;
        escaped_if(shows(&run.text(), &password), "a data source read a secret of a state")
    });
}
