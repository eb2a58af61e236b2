//! Attacks through files that the host opens for an untrusted configuration.

use crate::attack::{Table, ensure, escaped_if};
use crate::lab::{HOSTILE, Lab, SECRET, configuration};

pub fn attacks() -> Table {
    let mut table = Table::new("host-files");
    links(&mut table);
    oracles(&mut table);
    automatic(&mut table);
    table
}

/// Symbolic links in an untrusted configuration to files outside of it.
fn links(table: &mut Table) {
    let cases: Vec<(&str, &str, String, &str)> = vec![
        ("file", "l", "file(\"l\")".into(), SECRET),
        ("file-in-directory", "d", "file(\"d/secret\")".into(), SECRET),
        ("file-with-dots", "d", "file(\"d/../outside/secret\")".into(), SECRET),
        ("template", "l", "templatefile(\"l\", {})".into(), SECRET),
        ("base64", "l", "filebase64(\"l\")".into(), "UzNDUkVU"),
        (
            "hash",
            "l",
            "filesha256(\"l\") == sha256(\"S3CRET-of-the-victim\") ? \"GUESSED\" : \"no\"".into(),
            "GUESSED",
        ),
        ("listing-of-directory", "d", "join(\",\", fileset(\"d\", \"*\"))".into(), "secret"),
        ("listing-through-pattern", "d", "join(\",\", fileset(\".\", \"d/*\"))".into(), "d/secret"),
        ("recursive-listing", "d", "join(\",\", fileset(\".\", \"**\"))".into(), "d/secret"),
        (
            "listing-with-alternatives",
            "d",
            "join(\",\", fileset(\".\", \"{d,x}/{secret,y}\"))".into(),
            "d/secret",
        ),
        ("listing-of-parent", "d", "join(\",\", fileset(\"..\", \"outside/*\"))".into(), "outside/secret"),
        (
            "listing-through-parent-pattern",
            "d",
            "join(\",\", fileset(\".\", \"../outside/*\"))".into(),
            "outside/secret",
        ),
        ("listing-of-root", "d", "join(\",\", fileset(\"/\", \"etc/pass*\"))".into(), "etc/passwd"),
        ("home", "d", "file(pathexpand(\"~/.terraformrc\"))".into(), "dev_overrides"),
        ("absolute-path", "d", "file(\"${abspath(path.root)}/../outside/secret\")".into(), SECRET),
        ("standard-input", "d", "file(\"/dev/stdin\") == \"\" ? \"EMPTY\" : \"\"".into(), "EMPTY"),
        ("process", "d", "file(\"/proc/self/cmdline\")".into(), "-untrusted"),
        ("descriptor", "d", "join(\",\", fileset(\"/proc/self/fd\", \"*\"))".into(), "0"),
    ];
    for (name, link, expression, sign) in cases {
        table.add(format!("untrusted-{name}"), move || {
            let lab = Lab::new()?;
            lab.link(if link == "l" { "../outside/secret" } else { "../outside" }, link)?;
            lab.write("main.tf", format!("output \"o\" {{\n  value = {expression}\n}}\n"));
            let run = lab.run("plan -untrusted -input=false")?;
            let shown = String::from_utf8_lossy(&run.out).into_owned();
            escaped_if(shown.contains(sign) && shown.contains("o = "), "a file outside was read or listed")
        });
    }
    for (name, target) in
        [("module-through-link", "../outside/module"), ("module-through-linked-directory", "../outside")]
    {
        table.add(format!("untrusted-{name}"), move || {
            let lab = Lab::new()?;
            lab.write_at("outside/module/main.tf", format!("output \"o\" {{\n  value = \"{SECRET}\"\n}}\n"));
            lab.link(target, "m")?;
            let source = if target.ends_with("module") { "./m" } else { "./m/module" };
            lab.write("main.tf", format!("module \"m\" {{\n  source = \"{source}\"\n}}\noutput \"o\" {{\n  value = module.m.o\n}}\n"));
            lab.run("init -untrusted -input=false")?;
            let run = lab.run("plan -untrusted -input=false")?;
            escaped_if(run.says(SECRET), "a module outside was read")
        });
    }
}

/// Two symbolic links that must have the same result, although the target of only one of them exists.
fn oracles(table: &mut Table) {
    for (name, expression) in [
        ("listing", "join(\",\", fileset(\".\", \"probe*\"))"),
        ("listing-of-name", "join(\",\", fileset(\".\", \"probe\"))"),
        ("recursive-listing", "join(\",\", fileset(\".\", \"**\"))"),
        ("listing-of-subdirectory", "join(\",\", fileset(\"sub\", \"*\"))"),
        ("listing-with-classes", "join(\",\", fileset(\".\", \"prob[a-f]\"))"),
        ("existence", "fileexists(\"probe\")"),
        ("existence-by-try", "try(fileexists(\"probe\"), \"error\")"),
        ("existence-by-can", "can(file(\"probe\"))"),
        ("read-by-try", "try(filesha1(\"probe\"), \"error\")"),
        ("template-by-can", "can(templatefile(\"probe\", {}))"),
    ] {
        for kind in ["file", "absolute-file", "directory", "file-in-directory"] {
            table.add(format!("untrusted-oracle-{name}-{kind}"), move || {
                let mut results = Vec::new();
                for is_present in [true, false] {
                    let lab = Lab::new()?;
                    lab.make("sub")?;
                    let place = lab.at("").display().to_string();
                    let place = place.trim_end_matches('/');
                    match kind {
                        _ if !is_present => {}
                        "directory" => lab.write_at("outside/target/x", "x"),
                        "file-in-directory" => lab.write_at("outside/d/target", "x"),
                        _ => lab.write_at("outside/target", "x"),
                    }
                    let target = match kind {
                        "absolute-file" => format!("{place}/outside/target"),
                        "file-in-directory" => "../outside/d/target".to_owned(),
                        _ => "../outside/target".to_owned(),
                    };
                    lab.link(&target, "probe")?;
                    let below = if target.starts_with('/') { target } else { format!("../{target}") };
                    lab.link(&below, "sub/probe")?;
                    lab.write("main.tf", format!("output \"o\" {{\n  value = {expression}\n}}\n"));
                    let run = lab.run("plan -untrusted -input=false")?;
                    results.push(run.text().replace(place, "PLACE"));
                }
                ensure(!results[0].is_empty(), || "no output".into())?;
                let difference =
                    format!("the result depends on a file outside: {} / {}", results[0], results[1]);
                escaped_if(results[0] != results[1], difference)
            });
        }
    }
}

/// Files that commands open automatically, as symbolic links to other directories.
fn automatic(table: &mut Table) {
    for (name, link, target, command) in [
        ("variables", "x.auto.tfvars", "../outside/values", "plan -untrusted -input=false"),
        ("default-variables", "terraform.tfvars", "../outside/values", "plan -untrusted -input=false"),
        ("configuration", "x.tf", "../outside/values", "plan -untrusted -input=false"),
        ("lock", ".terraform.lock.hcl", "../outside/values", "plan -untrusted -input=false"),
        ("consent-lock", ".wardian.lock.hcl", "../outside/values", "init -untrusted -input=false"),
        ("policy", "wardian.policy.hcl", "../outside/values", "plan -untrusted -input=false"),
        ("workspace", ".terraform/environment", "../../outside/values", "plan -untrusted -input=false"),
        (
            "manifest",
            ".terraform/modules/modules.json",
            "../../../outside/values",
            "plan -untrusted -input=false",
        ),
        ("test", "x.tftest.hcl", "../outside/values", "plan -untrusted -input=false"),
        ("state", "terraform.tfstate", "../outside/values", "plan -untrusted -input=false"),
        ("state-of-workspace", "terraform.tfstate.d", "../outside", "workspace list"),
    ] {
        table.add(format!("link-{name}"), move || {
            let lab = Lab::new()?;
            lab.write_at("outside/values", format!("{SECRET} = ?? {SECRET}\n"));
            lab.write("main.tf", "output \"o\" {\n  value = 1\n}\n");
            lab.make(".terraform/modules")?;
            lab.link(target, link)?;
            let run = lab.run(command)?;
            escaped_if(run.says(SECRET), "a file outside was quoted")
        });
    }
    // Directories below `.terraform`, in which `init` writes, are symbolic links to other
    // directories.
    for (name, link, target) in [
        ("providers", ".terraform/providers", "../../outside/victims"),
        ("provider-host", ".terraform/providers/example.com", "../../../outside/victims"),
        ("provider-type", ".terraform/providers/example.com/test/hostile", "../../../../../outside/victims"),
        (
            "provider-platform",
            ".terraform/providers/example.com/test/hostile/1.0.0/wasip2_wasm",
            "../../../../../../../outside/victims",
        ),
    ] {
        table.add(format!("init-writes-through-link-of-{name}"), move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            let guest = std::fs::read(wardian_end_to_end::test_guest("hostile").ok_or("no component")?).map_err(|error| error.to_string())?;
            lab.write("terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm", guest);
            std::fs::create_dir_all(lab.at("outside/victims")).map_err(|error| error.to_string())?;
            let parent = link.rsplit_once('/').map_or("", |(parent, _)| parent);
            lab.make(parent)?;
            lab.link(target, link)?;
            lab.write("main.tf", configuration(&[(HOSTILE, &["honest"])]));
            lab.run("init -input=false")?;
            let count = std::fs::read_dir(lab.at("outside/victims")).map_err(|error| error.to_string())?.count();
            escaped_if(count > 0, "init wrote outside")
        });
    }
}
