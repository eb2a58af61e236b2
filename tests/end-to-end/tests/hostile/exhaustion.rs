//! Attacks on the host's memory, time and file handles.

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use wardian_end_to_end::wasm;

use crate::attack::{Cost, Outcome, Table, Verdict, ensure, escaped_if};
use crate::bounded::{Kill, Run};
use crate::lab::{HOSTILE, Lab, configuration, grant};

pub fn attacks() -> Table {
    let mut table = Table::new("exhaustion");
    components(&mut table);
    packages(&mut table);
    expressions(&mut table);
    operations(&mut table);
    pipes(&mut table);
    signals(&mut table);
    table
}

const MEBIBYTE: u64 = 1 << 20;

fn cost(run: &Run) -> Outcome {
    let cost = Cost::from(run);
    let is_busy = run.killed == Some("time") && run.cpu < Duration::from_millis(1500);
    ensure(!is_busy, || format!("the machine is too busy: {cost}"))?;
    Ok(Verdict::Cost(cost))
}

fn components(table: &mut Table) {
    for (name, component) in [
        ("instances-of-22-nested-components", (|| wasm::nested_components(22, 2)) as fn() -> Vec<u8>),
        ("instances-of-24-nested-components", || wasm::nested_components(24, 2)),
        ("three-instances-of-14-nested-components", || wasm::nested_components(14, 3)),
        ("many-instances-of-5-nested-components", || wasm::nested_components(5, 24)),
        ("instances-of-nested-modules", || wasm::nested_modules(20, 2)),
        ("many-instances-of-nested-modules", || wasm::nested_modules(4, 32)),
        ("locals-in-50-nested-loops", || wasm::locals_in_loops(10_000, 50)),
        ("locals-in-300-nested-loops", || wasm::locals_in_loops(49_000, 300)),
        ("empty-functions", || wasm::empty_functions(200_000)),
        ("more-empty-functions", || wasm::empty_functions(900_000)),
        ("functions-with-many-locals", || wasm::many_locals(3_000)),
        ("nested-blocks", || wasm::nested_blocks(1_000_000)),
        ("branch-tables", || wasm::branch_tables(60, 60_000)),
        ("doubled-types", || wasm::doubled_types(60)),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::with_component(component())?;
            lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
            let run = lab.run("plan -input=false")?;
            ensure(run.code != Some(0), || "the component was accepted".into())?;
            cost(&run)
        });
    }
    for (name, command) in [
        ("nested-components-at-init", "init -input=false"),
        (
            "nested-components-at-inspect",
            "plugin inspect ../project/terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm",
        ),
        (
            "nested-components-at-bundle",
            "plugin bundle -address=example.com/test/hostile -out=bundle terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm",
        ),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            lab.write("terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm", wasm::nested_components(24, 2));
            lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
            let run = lab.run(command)?;
            cost(&run)
        });
    }
}

/// Returns a package with the hostile component and other entries, each of which consists of
/// megabytes of zeros.
fn package(others: &[(&str, usize)]) -> Result<Vec<u8>, String> {
    let component = fs::read(wardian_end_to_end::test_guest("hostile").ok_or("no component")?)
        .map_err(|error| error.to_string())?;
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().large_file(true);
    let text = |error: zip::result::ZipError| error.to_string();
    archive.start_file("terraform-provider-hostile_v1.0.0.wasm", options).map_err(text)?;
    archive.write_all(&component).map_err(|error| error.to_string())?;
    for (name, megabytes) in others {
        archive.start_file(*name, options).map_err(text)?;
        for _ in 0..*megabytes {
            archive.write_all(&vec![0; 1 << 20]).map_err(|error| error.to_string())?;
        }
    }
    Ok(archive.finish().map_err(text)?.into_inner())
}

fn size_below(directory: &std::path::Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(about) if about.is_dir() => size_below(&entry.path()),
            Ok(about) => about.len(),
            Err(_) => 0,
        })
        .sum()
}

fn packages(table: &mut Table) {
    for (name, others) in [
        ("zeros-beside-component", &[("zeros.bin", 1024_usize)] as &'static [(&str, usize)]),
        ("zeros-in-many-entries", &[("a", 200), ("b", 200), ("c", 200), ("d/e", 200)]),
        ("zeros-as-license", &[("LICENSE", 400), ("README.md", 400)]),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            lab.write("terraform.d/plugins/example.com/test/hostile/terraform-provider-hostile_1.0.0_wasm32_wasip2.zip", package(others)?);
            lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
            let run = lab.run("init -input=false")?;
            ensure(!run.says("Could not retrieve the list of available versions"), || run.text())?;
            let size = size_below(&lab.path(".terraform"));
            if size > 128 * MEBIBYTE {
                return Ok(Verdict::Escaped(format!("{} MiB on disk", size / MEBIBYTE)));
            }
            cost(&run)
        });
    }
}

/// Returns local values, each of which doubles the previous value.
fn doubling(first: &str, next: &str, count: usize) -> String {
    let mut text = format!("locals {{\n  l0 = {first}\n");
    for index in 1..=count {
        text.push_str(&format!(
            "  l{index} = {}\n",
            next.replace("PREVIOUS", &format!("local.l{}", index - 1))
        ));
    }
    text + "}\n"
}

fn expressions(table: &mut Table) {
    let nested = "output \"o\" {\n  value = length(jsonencode([for a in range(1024) : [for b in range(1024) : [for c in range(1024) : [a, b, c]]]]))\n}\n";
    let cases: Vec<(&str, String)> = vec![
        ("doubled-lists", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "output \"o\" {\n  value = local.l40\n}\n"),
        ("doubled-lists-as-json", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "output \"o\" {\n  value = length(jsonencode(local.l40))\n}\n"),
        ("doubled-lists-as-yaml", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "output \"o\" {\n  value = length(yamlencode(local.l40))\n}\n"),
        ("doubled-lists-compared", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "output \"o\" {\n  value = local.l40 == [local.l39, local.l39]\n}\n"),
        ("doubled-lists-flattened", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "output \"o\" {\n  value = length(flatten(local.l40))\n}\n"),
        ("doubled-objects", doubling("{ a = 1 }", "{ a = PREVIOUS, b = PREVIOUS }", 40) + "output \"o\" {\n  value = local.l40\n}\n"),
        ("doubled-lists-as-resource", doubling("[1]", "[PREVIOUS, PREVIOUS]", 40) + "resource \"terraform_data\" \"x\" {\n  input = local.l40\n}\n"),
        ("doubled-strings", doubling("\"0123456789\"", "\"${PREVIOUS}${PREVIOUS}\"", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-strings-by-join", doubling("\"0123456789\"", "join(PREVIOUS, [PREVIOUS, PREVIOUS])", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-strings-by-format", doubling("\"0123456789\"", "format(\"%s%s\", PREVIOUS, PREVIOUS)", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-strings-by-replace", doubling("\"aaaaaaaaaa\"", "replace(PREVIOUS, \"a\", \"aaaa\")", 20) + "output \"o\" {\n  value = length(local.l20)\n}\n"),
        ("doubled-lists-by-concat", doubling("[1]", "concat(PREVIOUS, PREVIOUS)", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-lists-by-for", doubling("[1]", "flatten([for a in PREVIOUS : [a, a]])", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-maps-by-merge", doubling("{ a = 1 }", "merge(PREVIOUS, { for k, v in PREVIOUS : \"${k}x\" => v }, { for k, v in PREVIOUS : \"${k}y\" => v })", 40) + "output \"o\" {\n  value = length(local.l40)\n}\n"),
        ("doubled-base64", doubling("\"0123456789\"", "base64encode(base64encode(PREVIOUS))", 60) + "output \"o\" {\n  value = length(local.l60)\n}\n"),
        ("doubled-json", doubling("\"\\\\\\\\\"", "jsonencode(PREVIOUS)", 60) + "output \"o\" {\n  value = length(local.l60)\n}\n"),
        ("doubled-urls", doubling("\"%%\"", "urlencode(urlencode(PREVIOUS))", 60) + "output \"o\" {\n  value = length(local.l60)\n}\n"),
        ("nested-loops", nested.to_owned()),
        ("nested-loops-of-objects", "output \"o\" {\n  value = length({ for a in range(1024) : a => { for b in range(1024) : b => { for c in range(1024) : c => a } } })\n}\n".to_owned()),
        ("product-of-sets", "locals {\n  s = [for a in range(100) : tostring(a)]\n}\noutput \"o\" {\n  value = length(setproduct(local.s, local.s, local.s, local.s, local.s))\n}\n".to_owned()),
        ("wide-format", "output \"o\" {\n  value = length(format(\"%02000000000d\", 1))\n}\n".to_owned()),
        ("wide-format-by-argument", "output \"o\" {\n  value = length(format(\"%*s\", 2000000000, \"x\"))\n}\n".to_owned()),
        ("precise-format", "output \"o\" {\n  value = length(format(\"%.2000000000f\", 1))\n}\n".to_owned()),
        ("indent", doubling("\"\\n\"", "\"${PREVIOUS}${PREVIOUS}\"", 12) + "output \"o\" {\n  value = length(indent(1000000, local.l12))\n}\n"),
        ("large-power", "output \"o\" {\n  value = pow(10, 1000000000) + 1\n}\n".to_owned()),
        ("large-exponent", "output \"o\" {\n  value = format(\"%d\", 1e999999999)\n}\n".to_owned()),
        ("large-number-in-json", "output \"o\" {\n  value = jsondecode(\"1e999999999\") + 1\n}\n".to_owned()),
        ("many-instances", "resource \"terraform_data\" \"x\" {\n  count = 1000000000\n}\n".to_owned()),
        ("many-modules", "module \"m\" {\n  source = \"./module\"\n  count = 1000\n}\n".to_owned()),
        ("slow-hash", "output \"o\" {\n  value = bcrypt(\"x\", 31)\n}\n".to_owned()),
        ("aliases-in-yaml", format!("output \"o\" {{\n  value = length(jsonencode(yamldecode(<<EOT\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}EOT\n)))\n}}\n", (1..12).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(", "))).collect::<String>())),
        ("quadratic-index", doubling("range(1024)", "concat(PREVIOUS, [for x in PREVIOUS : x + length(PREVIOUS)])", 9) + "output \"o\" {\n  value = sum([for x in local.l9 : index(local.l9, x)])\n}\n"),
        ("quadratic-contains", doubling("range(1024)", "concat(PREVIOUS, [for x in PREVIOUS : x + length(PREVIOUS)])", 9) + "output \"o\" {\n  value = length([for x in local.l9 : x if contains(local.l9, -x - 1)])\n}\n"),
        ("quadratic-distinct", doubling("range(1024)", "concat(PREVIOUS, [for x in PREVIOUS : x + length(PREVIOUS)])", 9) + "output \"o\" {\n  value = length(distinct(local.l9))\n}\n"),
        ("quadratic-copies", doubling("range(1024)", "concat(PREVIOUS, [for x in PREVIOUS : x + length(PREVIOUS)])", 6) + "output \"o\" {\n  value = length(jsonencode([for x in local.l6 : slice(local.l6, x, length(local.l6))]))\n}\n"),
        ("nested-templates", doubling("\"x\"", "templatestring(local.t, { p = PREVIOUS })", 30) + "locals {\n  t = \"$${p}$${p}$${p}\"\n}\noutput \"o\" {\n  value = length(local.l30)\n}\n"),
        ("deep-parentheses", format!("output \"o\" {{\n  value = {}1{}\n}}\n", "(".repeat(100_000), ")".repeat(100_000))),
        ("deep-lists", format!("output \"o\" {{\n  value = {}1{}\n}}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep-templates", format!("output \"o\" {{\n  value = {}1{}\n}}\n", "\"${".repeat(50_000), "}\"".repeat(50_000))),
        ("deep-conditions", format!("output \"o\" {{\n  value = {}1\n}}\n", "true ? 1 : ".repeat(50_000))),
        ("deep-negation", format!("output \"o\" {{\n  value = {}true\n}}\n", "!".repeat(200_000))),
        ("deep-json", format!("output \"o\" {{\n  value = jsondecode(\"{}{}\")\n}}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep-blocks", format!("{}{}", "a {\n".repeat(50_000), "}\n".repeat(50_000))),
    ];
    for (name, text) in cases {
        table.add_heavy(format!("expression-{name}"), move || {
            let lab = Lab::new()?;
            lab.write("main.tf", &text);
            lab.write("module/main.tf", "module \"m\" {\n  source = \"./inner\"\n  count = 1000\n}\n");
            lab.write("module/inner/main.tf", "output \"o\" {\n  value = range(1000)\n}\n");
            if name == "many-modules" {
                lab.run("init -input=false")?;
            }
            let run = lab.run_and_kill("plan -untrusted -input=false", Duration::from_secs(25), &[])?;
            // A crash of the host does not count as a defence.
            if run.code.is_none() && run.killed.is_none() {
                return Ok(Verdict::Escaped("the host crashed".into()));
            }
            cost(&run)
        });
    }
}

/// Operations that the host performs for a plugin.
fn operations(table: &mut Table) {
    fn fill(directory: &std::path::Path, count: usize, length: usize) -> Result<(), String> {
        fs::create_dir_all(directory).map_err(|error| error.to_string())?;
        for index in 0..count {
            fs::File::create(directory.join(format!("{index:0>length$}")))
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
    for (name, count) in [("open-listings", 120), ("more-open-listings", 400)] {
        table.add_heavy(name, move || {
            let lab = Lab::with_grant(&["big"])?;
            fill(&lab.path("big"), 20_000, 200)?;
            let base = lab.probe(&["honest"])?;
            let run = lab.try_probe(&[(HOSTILE, &["honest", &format!("hold-listings¦{count}¦big")])], &[])?;
            let more = run.peak.saturating_sub(base.peak);
            escaped_if(more > 256 * MEBIBYTE || run.killed.is_some(), format!("{} MiB more", more / MEBIBYTE))
        });
    }
    for (name, step) in [
        ("long-look", "spin-look¦LONG¦20000"),
        ("long-look-at-absent-file", "spin-look¦LONGabsent¦20000"),
        ("long-read", "spin-read¦LONGx¦20000"),
        ("reads-of-large-file", "spin-read¦large¦20000"),
        ("listings-of-large-directory", "spin-list¦big¦20000"),
        ("renames-of-large-directory", "spin-rename¦deep¦20000"),
        (
            "looks-through-deep-directory",
            "spin-look¦deep/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d¦20000",
        ),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::new()?;
            lab.policy(&format!("plugin \"{HOSTILE}\" {{\n  allow filesystem {{\n    directories = [\".\"]\n    access = [\"read\", \"write\"]\n  }}\n  limits {{\n    cpu_time = \"2s\"\n  }}\n}}\n"));
            lab.make("a")?;
            lab.write("large", vec![b'x'; 8 << 20]);
            fill(&lab.path("big"), 20_000, 40)?;
            let mut deep = lab.path("deep");
            for _ in 0..40 {
                deep.push("d");
                fill(&deep, 50, 10)?;
            }
            let step = step.replace("LONG", &"a/../".repeat(800));
            // The first run compiles the component.
            lab.probe(&["honest"])?;
            let run = lab.try_probe(&[(HOSTILE, &["honest", &step])], &[])?;
            escaped_if(run.cpu > Duration::from_millis(4500), format!("{:.1} s of CPU time with a limit of 2 s", run.cpu.as_secs_f32()))
        });
    }
}

fn pipe(lab: &Lab, path: &str) -> Result<(), String> {
    let path = lab.at(path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    let _ = fs::remove_file(&path);
    let made = Command::new("mkfifo").arg(&path).status();
    ensure(made.is_ok_and(|status| status.success()), || "mkfifo failed".into())
}

/// Named pipes that replace files that commands read automatically.
fn pipes(table: &mut Table) {
    const LIMIT: Duration = Duration::from_secs(15);
    let main = "module \"m\" {\n  source = \"./module\"\n}\nresource \"terraform_data\" \"x\" {\n}\n";
    for (path, command) in [
        ("project/x.tf", "plan -input=false"),
        ("project/x.tf", "validate"),
        ("project/x.tf", "plan -untrusted -input=false"),
        ("project/x.tf", "fmt"),
        ("project/x.tf.json", "plan -input=false"),
        ("project/override.tf", "plan -input=false"),
        ("project/terraform.tfvars", "plan -input=false"),
        ("project/terraform.tfvars.json", "plan -input=false"),
        ("project/x.auto.tfvars", "plan -untrusted -input=false"),
        ("project/module/x.tf", "plan -input=false"),
        ("project/.terraform.lock.hcl", "plan -input=false"),
        ("project/.terraform.lock.hcl", "init -input=false"),
        ("project/.wardian.lock.hcl", "init -input=false"),
        ("project/wardian.policy.hcl", "plan -input=false"),
        ("project/wardian.policy.hcl", "policy check"),
        ("project/terraform.tfstate", "plan -input=false"),
        ("project/terraform.tfstate", "plan -untrusted -input=false"),
        ("project/terraform.tfstate", "output"),
        ("project/.terraform.tfstate.journal", "plan -input=false"),
        ("project/terraform.tfstate.backup", "apply -auto-approve -input=false"),
        ("project/.terraform/environment", "plan -input=false"),
        ("project/.terraform/modules/modules.json", "plan -input=false"),
        ("project/.terraform/terraform.tfstate", "plan -input=false"),
        ("home/.terraformrc", "plan -input=false"),
        ("home/.config/wardian/wardian.policy.hcl", "plan -input=false"),
        ("home/.terraform.d/credentials.tfrc.json", "init -input=false"),
        (
            "project/terraform.d/plugins/example.com/a/b/terraform-provider-b_1.0.0_wasm32_wasip2.zip",
            "init -input=false -upgrade",
        ),
        (
            "project/terraform.d/plugins/example.com/a/b/1.0.0/wasm32_wasip2/terraform-provider-b_v1.0.0.wasm",
            "init -input=false -upgrade",
        ),
    ] {
        let short = path.rsplit('/').next().unwrap_or(path);
        let word = command.replace(" -input=false", "").replace(' ', "-");
        let place = if path.starts_with("project/terraform.d") {
            "in-mirror-"
        } else if path.contains("module/") {
            "in-module-"
        } else if path.starts_with("home") {
            "in-home-"
        } else if path.contains(".terraform/") {
            "in-data-"
        } else {
            ""
        };
        table.add(format!("pipe-{place}{short}-{word}"), move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            lab.write("module/main.tf", "output \"o\" {\n  value = 1\n}\n");
            lab.write("main.tf", main);
            lab.run("init -input=false")?.success()?;
            if path.contains("terraform.d") {
                lab.write("main.tf", "terraform {\n  required_providers {\n    b = {\n      source = \"example.com/a/b\"\n    }\n  }\n}\n");
            }
            pipe(&lab, path)?;
            let run = lab.run_and_kill(command, LIMIT, &[])?;
            escaped_if(run.killed.is_some(), "the command waits for a pipe")
        });
    }
    for (name, expression) in [
        ("file", "file(\"pipe\")"),
        ("filebase64", "filebase64(\"pipe\")"),
        ("templatefile", "templatefile(\"pipe\", {})"),
        ("filesha256", "filesha256(\"pipe\")"),
        ("fileexists", "fileexists(\"pipe\")"),
        ("linked-file", "file(\"linked\")"),
    ] {
        for option in ["", " -untrusted"] {
            table.add(format!("pipe-of-{name}{}", option.replace(" -", "-")), move || {
                let lab = Lab::new()?;
                lab.write("main.tf", format!("output \"o\" {{\n  value = {expression}\n}}\n"));
                pipe(&lab, "project/pipe")?;
                lab.link("pipe", "linked")?;
                let run = lab.run_and_kill(&format!("plan -input=false{option}"), LIMIT, &[])?;
                escaped_if(run.killed.is_some(), "the command waits for a pipe")
            });
        }
    }
}

/// Commands that do not exit when the user interrupts them.
fn signals(table: &mut Table) {
    const LIMIT: Duration = Duration::from_secs(25);
    let at = |seconds: u64, signal| Kill { after: Duration::from_secs(seconds), signal };
    let interrupts = [at(4, Signal::INT), at(5, Signal::INT)];
    let late = |run: &Run| {
        escaped_if(
            run.elapsed > Duration::from_secs(15),
            format!("it ran for {:.1} s", run.elapsed.as_secs_f32()),
        )
    };
    table.add_heavy("interrupts-during-schema-request", move || {
        let lab = Lab::with_grant(&["."])?;
        lab.write("variant", "loop");
        lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
        late(&lab.run_and_kill("plan -input=false", LIMIT, &interrupts)?)
    });
    table.add_heavy("interrupts-during-compilation", move || {
        let lab = Lab::with_component(wasm::locals_in_loops(9_000, 49))?;
        lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
        late(&lab.run_and_kill("plan -input=false", LIMIT, &interrupts)?)
    });
    // The host creates the missing parents of a directory.
    table.add_heavy("directories-below-link-to-nothing", move || {
        let lab = Lab::with_grant(&["."])?;
        let steps = ["make¦out", "symlink¦nowhere/else¦out/link", "create-directory¦755¦out/link/", "honest"];
        lab.write("main.tf", configuration(&[(HOSTILE, &steps)]));
        let run = lab.run_and_kill("plan -input=false", LIMIT, &[])?;
        escaped_if(run.killed.is_some(), "the host did not end")
    });
    table.add_heavy("interrupts-during-evaluation", move || {
        let lab = Lab::new()?;
        lab.write("main.tf", "output \"o\" {\n  value = length([for a in range(1024) : [for b in range(1024) : length([for c in range(1024) : c])]])\n}\n");
        late(&lab.run_and_kill("plan -input=false", LIMIT, &interrupts)?)
    });
    table.add_heavy("interrupts-during-slow-hash", move || {
        let lab = Lab::new()?;
        lab.write("main.tf", "output \"o\" {\n  value = bcrypt(\"x\", 20)\n}\n");
        late(&lab.run_and_kill("plan -input=false", LIMIT, &interrupts)?)
    });
    table.add_heavy("interrupts-during-read-of-pipe", move || {
        let lab = Lab::new()?;
        lab.write("main.tf", "output \"o\" {\n  value = file(\"pipe\")\n}\n");
        pipe(&lab, "project/pipe")?;
        late(&lab.run_and_kill("plan -input=false", LIMIT, &interrupts)?)
    });
    for (name, steps) in [
        ("terminated-while-plugin-sleeps", "sleep¦20000"),
        ("terminated-while-plugin-works", "spin-look¦.¦20000"),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::with_grant(&["."])?;
            lab.write("main.tf", configuration(&[(HOSTILE, &[steps])]));
            late(&lab.run_and_kill("plan -input=false", LIMIT, &[at(4, Signal::TERM)])?)
        });
    }
    table.add_heavy("terminated-while-resource-sleeps", move || {
        let lab = Lab::new()?;
        lab.policy(&grant(HOSTILE, &["."]));
        lab.write("main.tf", format!("terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{HOSTILE}\"\n    }}\n  }}\n}}\nresource \"hostile_named\" \"a\" {{\n  input = \"steps:sleep\\u001f20000\"\n}}\n"));
        late(&lab.run_and_kill("apply -auto-approve -input=false", LIMIT, &[at(4, Signal::TERM)])?)
    });
}
