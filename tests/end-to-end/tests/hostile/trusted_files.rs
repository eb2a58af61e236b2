//! Attacks on files that a later command trusts or runs. A plugin with write access to the
//! configuration's directory writes these files when `plan` reads the plugin's data source.

use crate::attack::{Table, ensure, escaped_if};
use crate::lab::{HOSTILE, Lab, OTHER, grant, quoted};

pub fn attacks() -> Table {
    let mut table = Table::new("trusted-files");
    names(&mut table);
    ways(&mut table);
    locations(&mut table);
    consequences(&mut table);
    table
}

const TEXT: &str = "# written by a plugin\n";

/// Every kind of file, written below a granted root module.
fn names(table: &mut Table) {
    for path in [
        "zz.tf",
        "zz.tf.json",
        "zz_override.tf",
        "override.tf",
        "override.tf.json",
        "zz_override.tf.json",
        "terraform.tfvars",
        "terraform.tfvars.json",
        "zz.auto.tfvars",
        "zz.auto.tfvars.json",
        "prod.tfvars",
        "main.tftest.hcl",
        "tests/main.tftest.json",
        "module/main.tf",
        "module/deep/zz.tf.json",
        ".hidden/zz.tf",
        "module/wardian.policy.hcl",
        ".git/config",
        ".git/hooks/post-checkout",
        ".git/info/attributes",
        "module/.git",
        ".hg/hgrc",
        ".svn/entries",
        "terraform.d/plugins/example.com/a/b/1.0.0/x.zip",
        "terraform.d/x",
        "terraform-provisioner-x",
        "terraform-provisioner-x_v1.0.0",
        "terraform-provider-x_v1.0.0.wasm",
        "bin/terraform-provider-x",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "terraform.tfstate.1700000000.backup",
        ".terraform.tfstate.journal",
        ".terraform.tfstate.lock.info",
        "terraform.tfstate.d/blue/terraform.tfstate",
        "module/terraform.tfstate",
        "errored.tfstate",
        ".terraformrc",
        "terraform.rc",
        "credentials.tfrc.json",
        "module/.terraform.lock.hcl",
        "module/.terraform/modules/modules.json",
    ] {
        table.add(format!("write-{path}"), move || {
            let lab = Lab::with_grant(&["."])?;
            lab.write("module/x.txt", "x");
            let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
            // The chain shows that the directory is writable.
            let run = lab.probe(&[
                "write¦honest.txt¦x",
                &format!("make-all¦{parent}"),
                &format!("write¦{path}¦{TEXT}"),
            ])?;
            ensure(lab.has("honest.txt"), || run.text())?;
            escaped_if(lab.read(path) == TEXT, "a file was written that a later command trusts")
        });
    }
}

/// Operations other than writing, on existing files.
fn ways(table: &mut Table) {
    fn prepared() -> Result<Lab, String> {
        let lab = Lab::with_grant(&["."])?;
        lab.write("keep.tf", "# keep\n");
        lab.write("module/main.tf", "# keep\n");
        lab.write(".git/config", "# keep\n");
        lab.write(".git/hooks/pre-commit.sample", "# keep\n");
        lab.write("innocent.txt", TEXT);
        lab.write("d/zz.tf.txt", TEXT);
        Ok(lab)
    }
    fn changed(lab: &Lab) -> bool {
        ["keep.tf", "module/main.tf", ".git/config"].iter().any(|path| lab.read(path) != "# keep\n")
            || ["zz.tf", "module/zz.tf", "zz.auto.tfvars"].iter().any(|path| lab.has(path))
            || lab.has(".git/hooks/pre-commit")
    }
    for (name, steps) in [
        ("remove", &["honest", "remove¦keep.tf"] as &[&str]),
        ("truncate", &["honest", "truncate¦keep.tf"]),
        ("append", &["honest", "append¦keep.tf¦# more"]),
        ("overwrite", &["honest", "overwrite¦keep.tf¦# more"]),
        ("resize", &["honest", "resize¦keep.tf¦100"]),
        ("create-with-mode", &["honest", "create¦600¦zz.tf"]),
        ("rename-to-configuration", &["honest", "rename¦innocent.txt¦zz.tf"]),
        ("rename-over-configuration", &["honest", "rename¦innocent.txt¦keep.tf"]),
        ("rename-configuration-away", &["honest", "rename¦keep.tf¦gone.txt"]),
        ("link-to-configuration", &["honest", "link¦innocent.txt¦zz.tf"]),
        ("symbolic-link-to-configuration", &["honest", "symlink¦innocent.txt¦zz.tf"]),
        ("symbolic-link-to-variables", &["honest", "symlink¦innocent.txt¦zz.auto.tfvars"]),
        ("write-through-hard-link", &["honest", "link¦keep.tf¦alias.txt", "write¦alias.txt¦# changed"]),
        (
            "write-through-symbolic-link",
            &["honest", "symlink¦keep.tf¦alias.txt", "write¦alias.txt¦# changed"],
        ),
        (
            "write-through-linked-directory",
            &["honest", "symlink¦module¦alias", "write¦alias/main.tf¦# changed"],
        ),
        (
            "write-in-linked-version-control",
            &["honest", "symlink¦.git¦alias", "write¦alias/config¦# changed"],
        ),
        (
            "write-in-moved-module",
            &[
                "honest",
                "rename¦module¦elsewhere",
                "write¦elsewhere/main.tf¦# changed",
                "rename¦elsewhere¦module",
            ],
        ),
        (
            "replace-module",
            &["honest", "make¦new", "write¦new/x¦x", "rename¦module¦old", "rename¦new¦module"],
        ),
        (
            "write-in-moved-version-control",
            &["honest", "rename¦.git¦g", "write¦g/config¦# changed", "rename¦g¦.git"],
        ),
        ("rename-hook", &["honest", "rename¦.git/hooks/pre-commit.sample¦.git/hooks/pre-commit"]),
        (
            "move-directory-with-configuration",
            &["honest", "make¦new", "write¦new/zz.tf¦# new", "rename¦new¦module2", "rename¦module¦old"],
        ),
        ("remove-module", &["honest", "remove-all¦module"]),
        ("directory-with-name-of-configuration", &["honest", "make¦zz.tf"]),
        ("directory-with-name-of-variables", &["honest", "make¦zz.auto.tfvars"]),
        ("write-with-dots", &["honest", "write¦d/../zz.tf¦# new"]),
        ("write-with-trailing-dot", &["honest", "write¦./././zz.tf¦# new"]),
        (
            "write-held-handle",
            &[
                "honest",
                "write¦x.txt¦0123456789",
                "hold¦x.txt¦write",
                "rename¦x.txt¦zz.tf",
                "write-held¦# new",
            ],
        ),
        (
            "set-mode-of-hook",
            &[
                "honest",
                "set-mode¦777¦.git/hooks/pre-commit.sample",
                "rename¦.git/hooks/pre-commit.sample¦.git/hooks/pre-commit",
            ],
        ),
    ] {
        table.add(name, move || {
            let lab = prepared()?;
            let run = lab.probe(steps)?;
            ensure(run.says("honest"), || run.text())?;
            escaped_if(changed(&lab), "the configuration was changed")
        });
    }
    table.add("resource-writes-configuration", || {
        let lab = prepared()?;
        lab.write("main.tf", format!("terraform {{\n  required_providers {{\n    hostile = {{\n      source = \"{HOSTILE}\"\n    }}\n  }}\n}}\nresource \"hostile_named\" \"a\" {{\n  input = {}\n}}\n", quoted(&format!("steps:{}", crate::lab::chain(&["write¦honest.txt¦x", "write¦zz.tf¦# new"])))));
        lab.run("apply -auto-approve -input=false")?.success()?;
        ensure(lab.has("honest.txt"), || "the chain did not run".into())?;
        escaped_if(lab.has("zz.tf"), "the configuration was changed")
    });
    table.add("configuration-of-another-project", || {
        let lab = Lab::new()?;
        let outside = lab.at("outside").display().to_string();
        lab.policy(&grant(HOSTILE, &[".", &outside]));
        lab.write_at("outside/project/main.tf", "# keep\n");
        lab.probe(&[&format!("write¦{outside}/project/main.tf¦# changed\n"), "honest"])?;
        escaped_if(
            lab.read_at("outside/project/main.tf") != "# keep\n",
            "another project's configuration was changed",
        )
    });
}

/// Files in directories that the user selected.
fn locations(table: &mut Table) {
    table.add("data-directory-elsewhere", || {
        let lab = Lab::with_grant(&["."])?;
        lab.make(".tfdata/modules")?;
        lab.probe_all(
            &[(
                HOSTILE,
                &["write¦.tfdata/environment¦blue", "write¦.tfdata/modules/modules.json¦{}", "honest"],
            )],
            &[("TF_DATA_DIR", ".tfdata")],
        )?;
        escaped_if(lab.has(".tfdata/environment"), "the workspace was changed")
    });
    table.add("data-directory-elsewhere-is-created", || {
        let lab = Lab::with_grant(&["."])?;
        lab.probe_all(
            &[(HOSTILE, &["make-all¦.tfdata/modules", "write¦.tfdata/modules/modules.json¦{}", "honest"])],
            &[("TF_DATA_DIR", ".tfdata")],
        )?;
        escaped_if(lab.has(".tfdata"), "the data directory was created")
    });
    table.add("data-directory-elsewhere-is-moved", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write("a/b/data/environment", "default");
        lab.probe_all(
            &[(
                HOSTILE,
                &["rename¦a/b¦a/c", "make-all¦a/b/data", "write¦a/b/data/environment¦blue", "honest"],
            )],
            &[("TF_DATA_DIR", "a/b/data")],
        )?;
        escaped_if(lab.read("a/b/data/environment") != "default", "the data directory was replaced")
    });
    table.add("data-directory-elsewhere-by-absolute-path", || {
        let lab = Lab::with_grant(&["."])?;
        let data = lab.path("private").display().to_string();
        lab.make("private")?;
        lab.probe_all(
            &[(HOSTILE, &["write¦private/environment¦blue", "honest"])],
            &[("TF_DATA_DIR", &data)],
        )?;
        escaped_if(lab.has("private/environment"), "the workspace was changed")
    });
    for (name, path) in [
        ("policy-of-user", ".config/wardian/wardian.policy.hcl"),
        ("settings-of-user", ".terraformrc"),
        ("credentials-of-user", ".terraform.d/credentials.tfrc.json"),
        ("plugins-of-user", ".terraform.d/plugins/example.com/a/b/1.0.0/x.zip"),
        ("plugin-file-of-user", ".terraform.d/plugins/terraform-provisioner-x"),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            let home = lab.at("home").display().to_string();
            lab.policy(&grant(HOSTILE, &[&home]));
            let parent = path.rsplit_once('/').map_or(String::new(), |(parent, _)| format!("/{parent}"));
            lab.probe(&[
                &format!("make-all¦{home}{parent}"),
                &format!("write¦{home}/honest¦x"),
                &format!("write¦{home}/{path}¦{TEXT}"),
            ])?;
            ensure(lab.at("home/honest").exists(), || "the chain did not run".into())?;
            escaped_if(lab.read_at(&format!("home/{path}")) == TEXT, "a file of the user was written")
        });
    }
    table.add("policy-of-user-by-variable", || {
        let lab = Lab::new()?;
        let outside = lab.at("outside").display().to_string();
        lab.policy(&grant(HOSTILE, &[&outside]));
        lab.probe_all(
            &[(
                HOSTILE,
                &[
                    &format!("make-all¦{outside}/wardian"),
                    &format!("write¦{outside}/wardian/wardian.policy.hcl¦{TEXT}"),
                    "honest",
                ],
            )],
            &[("XDG_CONFIG_HOME", &outside)],
        )?;
        escaped_if(lab.at("outside/wardian/wardian.policy.hcl").exists(), "the user's policy was created")
    });
    table.add("policy-directory-of-user-is-linked", || {
        let lab = Lab::new()?;
        let outside = lab.at("outside").display().to_string();
        lab.policy(&grant(HOSTILE, &[&outside]));
        lab.probe_all(
            &[(
                HOSTILE,
                &[
                    &format!("make-all¦{outside}/w"),
                    &format!("write¦{outside}/w/x¦x"),
                    &format!("symlink¦w¦{outside}/wardian"),
                    &format!("rename¦{outside}/w/x¦{outside}/w/wardian.policy.hcl"),
                    "honest",
                ],
            )],
            &[("XDG_CONFIG_HOME", &outside)],
        )?;
        escaped_if(lab.at("outside/wardian/wardian.policy.hcl").exists(), "the user's policy was created")
    });
    table.add("settings-file-by-variable", || {
        let lab = Lab::with_grant(&["."])?;
        let settings = lab.read_at("home/.terraformrc");
        lab.write("cli.settings", &settings);
        lab.probe_all(
            &[(HOSTILE, &["append¦cli.settings¦# more\n", "honest"])],
            &[("TF_CLI_CONFIG_FILE", "cli.settings")],
        )?;
        escaped_if(lab.read("cli.settings") != settings, "the CLI configuration was changed")
    });
    table.add("component-of-another-plugin", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write("plugins/terraform-provider-x_v1.0.0.wasm", "x");
        lab.write("mirror/example.com/a/b/1.0.0/wasm32_wasip2/terraform-provider-b_v1.0.0.wasm", "x");
        lab.probe(&[
            "write¦mirror/example.com/a/b/1.0.0/wasm32_wasip2/terraform-provider-b_v1.0.0.wasm¦changed",
            "honest",
        ])?;
        escaped_if(
            lab.read("mirror/example.com/a/b/1.0.0/wasm32_wasip2/terraform-provider-b_v1.0.0.wasm") != "x",
            "a plugin was replaced",
        )
    });
    table.add("mirror-of-settings", || {
        let lab = Lab::with_grant(&["."])?;
        let mirror = lab.path("m").display().to_string();
        lab.make("m/example.com/a/b")?;
        let settings = lab.read_at("home/.terraformrc").replace(
            "  direct {}",
            &format!("  filesystem_mirror {{\n    path = \"{mirror}\"\n  }}\n  direct {{}}"),
        );
        lab.write_at("home/.terraformrc", settings);
        lab.probe(&["write¦m/example.com/a/b/x_9.9.9_linux_amd64.zip¦x", "honest"])?;
        escaped_if(lab.has("m/example.com/a/b/x_9.9.9_linux_amd64.zip"), "a package was added to a mirror")
    });
    for (name, steps, sign) in [
        ("key-of-cache-is-read", &["read-below¦HOME/.local/share/wardian¦", "honest"] as &[&str], "key="),
        (
            "cache-is-written",
            &["make-all¦HOME/.cache/wardian", "write¦HOME/.cache/wardian/planted¦x", "honest"],
            "\0",
        ),
        (
            "data-of-user-is-written",
            &["make-all¦HOME/.local/share/wardian", "write¦HOME/.local/share/wardian/planted¦x", "honest"],
            "\0",
        ),
    ] {
        table.add_heavy(name, move || {
            let lab = Lab::new()?;
            let home = lab.at("home").display().to_string();
            lab.policy(&grant(HOSTILE, &[&home]));
            let steps: Vec<String> = steps.iter().map(|step| step.replace("HOME", &home)).collect();
            let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
            let (cache, data) = (format!("{home}/.cache"), format!("{home}/.local/share"));
            let run =
                lab.probe_all(&[(HOSTILE, &steps)], &[("XDG_CACHE_HOME", &cache), ("XDG_DATA_HOME", &data)])?;
            let planted = [".cache", ".local/share"]
                .iter()
                .any(|directory| lab.at(&format!("home/{directory}/wardian/planted")).exists());
            escaped_if(run.says(sign) || planted, "the cache of compiled code was opened")
        });
    }
}

/// Adds the plugin directories of the project and of the user to the CLI configuration.
fn use_plugin_directories(lab: &Lab) {
    let mirrors: String = ["project/terraform.d/plugins", "home/.terraform.d/plugins"]
        .map(|path| format!("  filesystem_mirror {{\n    path = \"{}\"\n  }}\n", lab.at(path).display()))
        .concat();
    // Without the exclusion, a registry that cannot be reached would be searched, too.
    let direct = "  direct {\n    exclude = [\"example.com/*/*\"]\n  }";
    let settings = lab.read_at("home/.terraformrc").replace("  direct {}", &format!("{mirrors}{direct}"));
    lab.write_at("home/.terraformrc", settings);
    let _ = std::fs::create_dir_all(lab.at("home/.terraform.d/plugins"));
}

/// The effects of a planted file on the next command.
fn consequences(table: &mut Table) {
    let command = "resource \"terraform_data\" \"evil\" {\n  provisioner \"local-exec\" {\n    command = \"touch marker\"\n  }\n}\n";
    for (name, path, content) in [
        ("planted-configuration-runs", "zz.tf", command.to_owned()),
        ("planted-json-configuration-runs", "zz.tf.json", "{\"resource\":{\"terraform_data\":{\"evil\":{\"provisioner\":{\"local-exec\":{\"command\":\"touch marker\"}}}}}}".to_owned()),
        ("planted-module-file-runs", "module/zz.tf", command.to_owned()),
    ] {
        table.add(name, move || {
            let lab = Lab::with_grant(&["."])?;
            lab.write("module/main.tf", "output \"x\" {\n  value = 1\n}\n");
            lab.probe(&["honest", &format!("write¦{path}¦{content}")])?;
            lab.policy("otherwise = \"defer\"\n");
            lab.write("main.tf", "module \"m\" {\n  source = \"./module\"\n}\n");
            lab.run("init -input=false")?.success()?;
            lab.run("apply -auto-approve -input=false")?;
            escaped_if(lab.has("marker"), "a planted file ran a command")
        });
    }
    table.add("planted-variables-are-used", || {
        let lab = Lab::with_grant(&["."])?;
        lab.probe(&["honest", "write¦zz.auto.tfvars¦image = \"planted\"\n"])?;
        lab.write(
            "main.tf",
            "variable \"image\" {\n  default = \"ours\"\n}\noutput \"a\" {\n  value = var.image\n}\n",
        );
        let run = lab.run("plan -input=false")?;
        escaped_if(run.says("\"planted\""), "a planted variable was used")
    });
    table.add("planted-override-is-used", || {
        let lab = Lab::with_grant(&["."])?;
        lab.probe(&["honest", "write¦zz_override.tf¦output \"a\" {\n  value = \"planted\"\n}\n"])?;
        lab.write("main.tf", "output \"a\" {\n  value = \"ours\"\n}\n");
        let run = lab.run("plan -input=false")?;
        escaped_if(run.says("\"planted\""), "a planted override was used")
    });
    table.add("planted-state-is-used", || {
        let lab = Lab::with_grant(&["."])?;
        let state = "{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":7,\"lineage\":\"00000000-0000-4000-8000-000000000001\",\"outputs\":{\"a\":{\"value\":\"planted\",\"type\":\"string\"}},\"resources\":[]}";
        lab.probe(&["honest", &format!("write¦terraform.tfstate¦{state}")])?;
        let run = lab.run("output")?;
        escaped_if(run.says("planted"), "a planted state was used")
    });
    table.add("planted-by-one-plugin-for-another", || {
        let lab = Lab::new()?;
        lab.policy(&(grant(HOSTILE, &["shared"]) + &grant(OTHER, &["."])));
        lab.make("shared")?;
        lab.probe_all(
            &[(HOSTILE, &["write¦shared/x.txt¦# planted"]), (OTHER, &["rename¦shared/x.txt¦zz.tf"])],
            &[],
        )?;
        escaped_if(lab.has("zz.tf"), "two plugins planted a configuration")
    });
    for (name, directory) in [
        ("planted-native-plugin-is-selected", "terraform.d/plugins/example.com/test/victim/99.0.0"),
        (
            "planted-native-plugin-of-user-is-selected",
            "../home/.terraform.d/plugins/example.com/test/victim/99.0.0",
        ),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            let guest = std::fs::read(wardian_end_to_end::test_guest("hostile").ok_or("no component")?).map_err(|error| error.to_string())?;
            lab.write("terraform.d/plugins/example.com/test/victim/1.0.0/wasm32_wasip2/terraform-provider-victim_v1.0.0.wasm", guest);
            let home = lab.at("home").display().to_string();
            lab.policy(&format!("otherwise = \"defer\"\n{}", grant(HOSTILE, &[".", &home])));
            use_plugin_directories(&lab);
            let victim = "terraform {\n  required_providers {\n    victim = {\n      source = \"example.com/test/victim\"\n    }\n  }\n}\ndata \"hostile_probe\" \"a\" {\n  provider = victim\n  input = \"calls\"\n}\n";
            lab.write("main.tf", victim);
            lab.run("init -input=false")?.success()?;
            let directory = directory.replace("../home", &home);
            let place = format!("{directory}/{}", wardian_end_to_end::platform());
            let file = format!("{place}/terraform-provider-victim_v99.0.0");
            let script = format!("#!/bin/sh\ntouch {}\n", lab.path("marker").display());
            lab.probe(&["honest", &format!("make-all¦{place}"), &format!("write¦{file}¦{script}"), &format!("set-mode¦755¦{file}")])?;
            lab.write("main.tf", victim);
            lab.run("init -upgrade -input=false")?;
            lab.run("plan -input=false")?;
            escaped_if(lab.has("marker"), "a planted program ran outside of the sandbox")
        });
    }
    table.add("native-plugin-replaces-component", || {
        let lab = Lab::new()?;
        let guest = std::fs::read(wardian_end_to_end::test_guest("hostile").ok_or("no component")?).map_err(|error| error.to_string())?;
        lab.write("terraform.d/plugins/example.com/test/victim/1.0.0/wasm32_wasip2/terraform-provider-victim_v1.0.0.wasm", guest);
        use_plugin_directories(&lab);
        let victim = "terraform {\n  required_providers {\n    victim = {\n      source = \"example.com/test/victim\"\n    }\n  }\n}\ndata \"hostile_probe\" \"a\" {\n  provider = victim\n  input = \"calls\"\n}\n";
        lab.write("main.tf", victim);
        lab.run("init -input=false")?.success()?;
        let file = format!("terraform.d/plugins/example.com/test/victim/2.0.0/{}/terraform-provider-victim_v2.0.0", wardian_end_to_end::platform());
        lab.write_program(&file, &format!("#!/bin/sh\ntouch {}\n", lab.path("marker").display()))?;
        lab.run("init -upgrade -input=false")?;
        lab.run("plan -input=false")?;
        escaped_if(lab.has("marker"), "a native program replaced a component without consent")
    });
}
