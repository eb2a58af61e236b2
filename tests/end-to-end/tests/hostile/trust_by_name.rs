//! Attacks through grants that a plugin receives by its name, and through archives whose content
//! does not match their names.

use std::fs;
use std::io::Write as _;

use serde_json::json;
use wardian_end_to_end::test_guest;
use wardian_end_to_end::wasm::custom_section;

use crate::attack::{Table, Verdict, ensure, escaped_if};
use crate::lab::{Lab, configuration};

pub fn attacks() -> Table {
    let mut table = Table::new("trust-by-name");
    default_grants(&mut table);
    archives(&mut table);
    declarations(&mut table);
    table
}

fn component(name: &str) -> Result<Vec<u8>, String> {
    let path = test_guest(name).ok_or_else(|| format!("the component {name} is not built"))?;
    fs::read(path).map_err(|error| error.to_string())
}

/// The hostile component under the address of an embedded plugin.
fn default_grants(table: &mut Table) {
    for (name, address) in [
        ("override-of-local", "hashicorp/local"),
        ("override-of-local-in-full", "registry.terraform.io/hashicorp/local"),
        ("override-of-tfcoremock", "hashicorp/tfcoremock"),
        ("override-of-local-in-upper-case", "HashiCorp/Local"),
    ] {
        for (goal, step) in [("reads", "read¦private.txt"), ("writes", "write¦planted.txt¦x")] {
            table.add(format!("{name}-{goal}"), move || {
                let lab = Lab::new()?;
                let guest = test_guest("hostile").ok_or("no component")?;
                lab.set_overrides(&[(address, &guest)]);
                lab.write("private.txt", "PRIVATE");
                lab.write("main.tf", configuration(&[(address, &["honest", step])]));
                let run = lab.run("plan -input=false")?;
                ensure(run.says("honest"), || run.text())?;
                escaped_if(
                    run.says("PRIVATE") || lab.has("planted.txt"),
                    "another component received the default grants",
                )
            });
        }
    }
    table.add("mirror-with-newer-local", || {
        let lab = Lab::new()?;
        lab.write_at("home/.terraformrc", "");
        lab.write("terraform.d/plugins/registry.terraform.io/hashicorp/local/99.0.0/wasm32_wasip2/terraform-provider-local_v99.0.0.wasm", component("hostile")?);
        lab.write("private.txt", "PRIVATE");
        lab.write("main.tf", configuration(&[("hashicorp/local", &["honest", "read¦private.txt"])]));
        lab.run("init -input=false")?;
        let run = lab.run("plan -input=false")?;
        escaped_if(run.says("PRIVATE"), "another component received the default grants")
    });
    for (name, version) in
        [("mirror-with-pinned-local", "= 99.0.0"), ("mirror-with-bounded-local", ">= 50.0.0")]
    {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            lab.write("terraform.d/plugins/registry.terraform.io/hashicorp/local/99.0.0/wasm32_wasip2/terraform-provider-local_v99.0.0.wasm", component("hostile")?);
            lab.write("private.txt", "PRIVATE");
            lab.write("main.tf", configuration(&[("hashicorp/local", &["honest", "read¦private.txt"])]).replace("source = \"hashicorp/local\"", &format!("source = \"hashicorp/local\"\n      version = \"{version}\"")));
            lab.run("init -input=false")?;
            let run = lab.run("plan -input=false")?;
            escaped_if(run.says("PRIVATE"), "another component received the default grants")
        });
    }
    // The same component is packed as a program for other hosts.
    for (name, option) in [
        ("bundle-as-local", "-address=hashicorp/local"),
        ("bundle-as-local-in-full", "-address=registry.terraform.io/hashicorp/local"),
        ("bundle-as-tfcoremock", "-address=hashicorp/tfcoremock"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            let file = lab.at("bundles/terraform-provider-bundled_v1.0.0");
            fs::create_dir(lab.at("bundles")).map_err(|error| error.to_string())?;
            let guest = test_guest("hostile").ok_or("no component")?;
            lab.run(&format!("plugin bundle {option} -out={} {}", file.display(), guest.display()))?
                .success()?;
            packed(&lab)
        });
    }
    for (name, arguments) in [
        ("served-as-local", "serve -address=hashicorp/local FILE"),
        ("served-by-file-name", "serve ./local.wasm"),
        ("served-by-package-name", "serve ./terraform-provider-local_v1.0.0.wasm"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            fs::create_dir(lab.at("bundles")).map_err(|error| error.to_string())?;
            let guest = component("hostile")?;
            for file in ["project/local.wasm", "project/terraform-provider-local_v1.0.0.wasm"] {
                lab.write_at(file, &guest);
            }
            let arguments = arguments.replace("FILE", &lab.path("local.wasm").display().to_string());
            let script =
                format!("#!/bin/sh\nexec '{}' {arguments}\n", wardian_end_to_end::binary().display());
            lab.write_program("../bundles/terraform-provider-bundled_v1.0.0", &script)?;
            packed(&lab)
        });
    }
}

/// Runs a program that serves the hostile component as an embedded plugin.
fn packed(lab: &Lab) -> crate::attack::Outcome {
    lab.set_overrides(&[("example.com/test/bundled", &lab.at("bundles"))]);
    lab.write("private.txt", "PRIVATE");
    lab.write("main.tf", configuration(&[("example.com/test/bundled", &["honest", "read¦private.txt"])]));
    let run = lab.run("plan -input=false")?;
    ensure(run.says("honest") || run.says("Error"), || run.text())?;
    escaped_if(run.says("PRIVATE"), "another component received the default grants")
}

/// Packages with entries outside of their directory.
fn archives(table: &mut Table) {
    for (name, entry) in [
        ("absolute-entry", "/evil"),
        ("absolute-entry-of-place", "OUTSIDE/evil"),
        ("parent-entry", "../../../../../../evil"),
        ("parent-entry-inside", "a/../../../../../../../evil"),
        ("entry-with-backslashes", "..\\..\\evil"),
        ("entry-with-drive", "C:\\evil"),
        ("entry-with-colon", "C:evil"),
        ("entry-with-dot", "./evil"),
        ("entry-with-slashes", "a//evil"),
        ("entry-without-name", ""),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            let outside = lab.at("outside").display().to_string();
            lab.write("terraform.d/plugins/example.com/test/hostile/terraform-provider-hostile_1.0.0_wasm32_wasip2.zip", archive(&[(&entry.replace("OUTSIDE", &outside), b"x")])?);
            lab.write("main.tf", configuration(&[("example.com/test/hostile", &["honest"])]));
            let init = lab.run("init -input=false")?;
            ensure(!init.says("Could not retrieve the list of available versions"), || init.text())?;
            let plan = lab.run("plan -input=false")?;
            let written = lab.at("outside/evil").exists() || std::path::Path::new("/evil").exists();
            // An archive that is accepted must also work.
            let again = lab.run("init -input=false")?;
            let is_reported = again.text().contains("changed") || !again.is_success();
            escaped_if(
                written || init.is_success() && (!plan.says("honest") || is_reported),
                "the archive was accepted and then reported as changed",
            )
        });
    }
    table.add("two-components", || {
        let lab = Lab::new()?;
        lab.write_at("home/.terraformrc", "");
        let other = component("hostile-network")?;
        lab.write(
            "terraform.d/plugins/example.com/test/hostile/terraform-provider-hostile_1.0.0_wasm32_wasip2.zip",
            archive(&[("terraform-provider-hostile_v1.0.0_x.wasm", &other)])?,
        );
        lab.write("main.tf", configuration(&[("example.com/test/hostile", &["honest"])]));
        let init = lab.run("init -input=false")?;
        let plan = lab.run("plan -input=false")?;
        escaped_if(
            init.is_success() && !plan.says("honest"),
            "the archive was accepted and then reported as changed",
        )
    });
    table.add("symbolic-link-entry", || {
        let lab = Lab::new()?;
        lab.write_at("home/.terraformrc", "");
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        let text = |error: zip::result::ZipError| error.to_string();
        archive.add_symlink("d", "../../../../../../../../outside", options).map_err(text)?;
        archive.start_file("d/evil", options).map_err(text)?;
        archive.write_all(b"x").map_err(|error| error.to_string())?;
        archive.start_file("terraform-provider-hostile_v1.0.0.wasm", options).map_err(text)?;
        archive.write_all(&component("hostile")?).map_err(|error| error.to_string())?;
        let archive = archive.finish().map_err(text)?.into_inner();
        lab.write(
            "terraform.d/plugins/example.com/test/hostile/terraform-provider-hostile_1.0.0_wasm32_wasip2.zip",
            archive,
        );
        lab.write("main.tf", configuration(&[("example.com/test/hostile", &["honest"])]));
        let init = lab.run("init -input=false")?;
        let plan = lab.run("plan -input=false")?;
        escaped_if(
            lab.at("outside/evil").exists() || init.is_success() && !plan.says("honest"),
            "the archive was accepted and then reported as changed",
        )
    });
}

/// Returns a package with the hostile component after other entries.
fn archive(others: &[(&str, &[u8])]) -> Result<Vec<u8>, String> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let text = |error: zip::result::ZipError| error.to_string();
    for (name, content) in others {
        archive.start_file(*name, options).map_err(text)?;
        archive.write_all(content).map_err(|error| error.to_string())?;
    }
    archive.start_file("terraform-provider-hostile_v1.0.0.wasm", options).map_err(text)?;
    archive.write_all(&component("hostile")?).map_err(|error| error.to_string())?;
    Ok(archive.finish().map_err(text)?.into_inner())
}

/// Declarations that display one name but contain a different name.
fn declarations(table: &mut Table) {
    for (name, host) in [
        ("cyrillic-letter", "\u{430}pi.example.com"),
        ("full-width-letter", "\u{ff41}pi.example.com"),
        ("ideographic-full-stop", "api\u{3002}example\u{3002}com"),
        ("cyrillic-letter-in-upper-case", "\u{410}PI.EXAMPLE.com"),
        ("invisible-letter", "a\u{200b}pi.example.com"),
        ("reversed-letters", "api.\u{202e}example.com"),
    ] {
        table.add(format!("declared-{name}"), move || {
            let lab = Lab::new()?;
            lab.write_at("home/.terraformrc", "");
            let declaration = json!({ "version": 1, "capabilities": [{ "network": { "hosts": [host], "reason": "it reads zones" } }] }).to_string() + "\n";
            let guest = [component("hostile-network")?, custom_section("wardian:capabilities", declaration.as_bytes())].concat();
            lab.write("terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm", guest);
            lab.write("main.tf", configuration(&[("example.com/test/hostile", &["honest"])]));
            let run = lab.run("policy grant example.com/test/hostile -yes")?;
            let run = if run.is_success() { run } else { lab.run("policy grant example.com/test/hostile -yes -upgrade")? };
            let policy = lab.read("wardian.policy.hcl");
            if policy.is_empty() {
                ensure(run.code == Some(1), || run.text())?;
                return Ok(Verdict::Held);
            }
            escaped_if(!policy.is_ascii(), "the policy contains a name other than the one that was shown")
        });
    }
}
