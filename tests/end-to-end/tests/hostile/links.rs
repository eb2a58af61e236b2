//! Attacks through symbolic links, and through paths that change between two runs.

use crate::attack::{Table, Verdict, ensure, escaped_if};
use crate::bounded::{self, MAX_TIME};
use crate::lab::{HOSTILE, Lab, OTHER, SECRET, configuration, grant, grant_access};

pub fn attacks() -> Table {
    let mut table = Table::new("links");
    nested_grants(&mut table);
    host_reads(&mut table);
    host_writes(&mut table);
    processes(&mut table);
    table
}

type Chain = (&'static str, &'static [&'static str]);

/// An attack in two runs. The first run creates a symbolic link, and the second run reads or writes
/// through it.
struct Nested {
    name: &'static str,
    policy: fn() -> String,
    directories: &'static [&'static str],
    plant: &'static [Chain],
    use_it: &'static [Chain],
}

impl Nested {
    fn add_to(self, table: &mut Table) {
        table.add(self.name, move || {
            let lab = Lab::new()?;
            lab.policy(&(self.policy)());
            for directory in self.directories {
                lab.make(directory)?;
            }
            lab.probe_all(self.plant, &[])?;
            let run = lab.try_probe(self.use_it, &[])?;
            escaped_if(
                run.says(SECRET) || lab.at("outside/new").exists(),
                "the inner grant led to a directory that nobody granted",
            )
        });
    }
}

fn own() -> String {
    grant(HOSTILE, &["out", "out/cache"])
}

fn nested_grants(table: &mut Table) {
    const READ: &[Chain] = &[(HOSTILE, &["honest", "read¦out/cache/outside/secret"])];
    const WRITE: &[Chain] = &[(HOSTILE, &["honest", "write¦out/cache/outside/new¦x"])];
    const DIRECTORIES: &[&str] = &["out/cache"];
    let cases = [
        (
            "inner-grant-replaced-to-read",
            own as fn() -> String,
            DIRECTORIES,
            &[(
                HOSTILE,
                &[
                    "remove-directory¦out/./cache",
                    "make-all¦out/1/2",
                    "symlink¦../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/./cache",
                ] as &[&str],
            )] as &[Chain],
            READ,
        ),
        (
            "inner-grant-replaced-to-write",
            own,
            DIRECTORIES,
            &[(
                HOSTILE,
                &[
                    "remove-directory¦out/./cache",
                    "make-all¦out/1/2",
                    "symlink¦../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/./cache",
                ],
            )],
            WRITE,
        ),
        (
            "inner-grant-moved-away",
            own,
            DIRECTORIES,
            &[(
                HOSTILE,
                &[
                    "rename¦out/./cache¦out/old",
                    "make-all¦out/1/2",
                    "symlink¦../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/./cache",
                ],
            )],
            READ,
        ),
        (
            "inner-grant-absent-at-first",
            own,
            &["out"],
            &[(HOSTILE, &["make-all¦out/1/2", "symlink¦../..¦out/1/2/l", "rename¦out/1/2/l¦out/./cache"])],
            READ,
        ),
        (
            "inner-grant-hard-linked",
            own,
            &["out"],
            &[(HOSTILE, &["make-all¦out/1/2", "symlink¦../..¦out/1/2/l", "link¦out/1/2/l¦out/./cache"])],
            READ,
        ),
        (
            "inner-grant-target-with-dots",
            own,
            &["out"],
            &[(
                HOSTILE,
                &["make-all¦out/1/2", "symlink¦.//../././..//¦out/1/2/l", "rename¦out/1/2/l¦out/./cache"],
            )],
            READ,
        ),
        (
            "inner-grant-target-down-and-up",
            own,
            &["out"],
            &[(
                HOSTILE,
                &[
                    "make-all¦out/1/2/3",
                    "make-all¦out/3",
                    "symlink¦3/../../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/./cache",
                ],
            )],
            READ,
        ),
        (
            "inner-grant-moved-twice",
            own,
            &["out"],
            &[(
                HOSTILE,
                &[
                    "make-all¦out/1/2/3",
                    "symlink¦../..¦out/1/2/3/l",
                    "rename¦out/1/2/3/l¦out/1/2/l",
                    "rename¦out/1/2/l¦out/1/l",
                    "rename¦out/1/l¦out/./cache",
                ],
            )],
            READ,
        ),
        (
            "inner-grant-through-chain-of-links",
            own,
            &["out"],
            &[(
                HOSTILE,
                &[
                    "make-all¦out/1/2",
                    "symlink¦../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/hop",
                    "symlink¦hop¦out/./cache",
                ],
            )],
            READ,
        ),
        (
            "outer-segment-of-inner-grant",
            || grant(HOSTILE, &["out", "out/a/outside"]),
            &["out/a/outside"],
            &[(
                HOSTILE,
                &[
                    "remove-all¦out/a",
                    "make-all¦out/1/2",
                    "symlink¦../..¦out/1/2/l",
                    "rename¦out/1/2/l¦out/a",
                ],
            )],
            &[(HOSTILE, &["honest", "read¦out/a/outside/secret"])],
        ),
        (
            "link-in-moved-directory",
            || grant(HOSTILE, &["out", "out/d/cache"]),
            &["out"],
            &[(
                HOSTILE,
                &["make-all¦out/1/2/d", "symlink¦../../..¦out/1/2/d/cache", "rename¦out/1/2/d¦out/d"],
            )],
            &[(HOSTILE, &["honest", "read¦out/d/cache/outside/secret"])],
        ),
        (
            "link-deep-in-moved-directory",
            || grant(HOSTILE, &["out", "out/d/e/f/cache"]),
            &["out"],
            &[(
                HOSTILE,
                &[
                    "make-all¦out/1/2/d/e/f",
                    "symlink¦../../../../..¦out/1/2/d/e/f/cache",
                    "rename¦out/1/2/d¦out/d",
                ],
            )],
            &[(HOSTILE, &["honest", "read¦out/d/e/f/cache/outside/secret"])],
        ),
        (
            "inner-grant-of-another-plugin",
            || grant(HOSTILE, &["shared"]) + &grant(OTHER, &["shared/b"]),
            &["shared/b"],
            &[(
                HOSTILE,
                &[
                    "remove-directory¦shared/b",
                    "make-all¦shared/1/2",
                    "symlink¦../..¦shared/1/2/l",
                    "rename¦shared/1/2/l¦shared/b",
                ],
            )],
            &[(OTHER, &["honest", "read¦shared/b/outside/secret"])],
        ),
        (
            "inner-grant-of-another-plugin-to-write",
            || grant(HOSTILE, &["shared"]) + &grant(OTHER, &["shared/b"]),
            &["shared/b"],
            &[(
                HOSTILE,
                &[
                    "rename¦shared/b¦shared/c",
                    "make-all¦shared/1/2",
                    "symlink¦../..¦shared/1/2/l",
                    "rename¦shared/1/2/l¦shared/b",
                ],
            )],
            &[(OTHER, &["honest", "write¦shared/b/outside/new¦x"])],
        ),
        (
            "read-only-inner-grant-of-another-plugin",
            || grant(HOSTILE, &["shared"]) + &grant_access(OTHER, &["shared/b"], &["read"]),
            &["shared"],
            &[(
                HOSTILE,
                &["make-all¦shared/1/2", "symlink¦../..¦shared/1/2/l", "rename¦shared/1/2/l¦shared/b"],
            )],
            &[(OTHER, &["honest", "read¦shared/b/outside/secret"])],
        ),
        (
            "grants-of-two-plugins-that-swap",
            || grant(HOSTILE, &["a", "b/x"]) + &grant(OTHER, &["b", "a/x"]),
            &["a/x", "b/x"],
            &[(
                HOSTILE,
                &["remove-directory¦a/x", "make-all¦a/1/2", "symlink¦../..¦a/1/2/l", "rename¦a/1/2/l¦a/x"],
            )],
            &[(OTHER, &["honest", "read¦a/x/outside/secret"])],
        ),
        (
            "root-module-and-inner-grant",
            || grant(HOSTILE, &[".", "data"]),
            &["data"],
            &[(HOSTILE, &["remove-directory¦./data", "make-all¦1/2", "symlink¦..¦1/l", "rename¦1/l¦./data"])],
            &[(HOSTILE, &["honest", "read¦data/outside/secret"])],
        ),
        (
            "same-run",
            || grant(HOSTILE, &["shared"]) + &grant(OTHER, &["shared/b"]),
            &["shared"],
            &[(HOSTILE, &["honest", "write¦shared/x¦x"])],
            &[
                (
                    HOSTILE,
                    &["make-all¦shared/1/2", "symlink¦../..¦shared/1/2/l", "rename¦shared/1/2/l¦shared/b"],
                ),
                (OTHER, &["honest", "read¦shared/b/outside/secret"]),
            ],
        ),
    ];
    for (name, policy, directories, plant, use_it) in cases {
        Nested { name, policy, directories, plant, use_it }.add_to(table);
    }
    table.add("inner-grant-of-an-embedded-plugin", || {
        let lab = Lab::new()?;
        lab.policy(&(grant(HOSTILE, &["generated"]) + &grant("hashicorp/local", &["generated/inner"])));
        lab.make("generated")?;
        lab.probe(&["make-all¦generated/1/2", "symlink¦../..¦generated/1/2/l", "rename¦generated/1/2/l¦generated/inner"])?;
        lab.write("main.tf", "data \"local_file\" \"a\" {\n  filename = \"generated/inner/outside/secret\"\n}\noutput \"a\" {\n  value = data.local_file.a.content\n}\n");
        lab.run("init -input=false")?.success()?;
        let run = lab.run("plan -input=false")?;
        escaped_if(run.says(SECRET), "the embedded plugin read a file that nobody granted")
    });
    table.add("inner-grant-of-the-organisation", || {
        let lab = Lab::new()?;
        let work = lab.path("").display().to_string();
        let work = work.trim_end_matches('/');
        lab.write_at(
            "organisation.hcl",
            grant(HOSTILE, &[&format!("{work}/out"), &format!("{work}/out/cache")]),
        );
        let organisation = lab.at("organisation.hcl").display().to_string();
        let variables = [("WARDIAN_POLICY", &*organisation)];
        lab.make("out")?;
        lab.probe_all(
            &[(HOSTILE, &["make-all¦out/1/2", "symlink¦../..¦out/1/2/l", "rename¦out/1/2/l¦out/./cache"])],
            &variables,
        )?;
        let run = lab.try_probe(&[(HOSTILE, &["honest", "read¦out/cache/outside/secret"])], &variables)?;
        escaped_if(run.says(SECRET), "the inner grant led to a directory that nobody granted")
    });
    // The host creates the directories of a denied path.
    table.add("denied-directory-is-created-through-link", || {
        let lab = Lab::new()?;
        lab.make("secret")?;
        lab.policy(&format!("plugin \"{HOSTILE}\" {{\n  allow filesystem {{\n    directories = [\".\", \"a/b\"]\n    access = [\"read\", \"write\"]\n  }}\n  deny filesystem {{\n    directories = [\"secret\"]\n  }}\n}}\n"));
        lab.probe(&["symlink¦secret¦a", "look¦."])?;
        lab.try_probe(&[(HOSTILE, &["honest", "write¦a/b/x¦x", "make-all¦a/b/c", "create¦600¦a/b/y"])], &[])?;
        escaped_if(lab.has("secret/b"), "a directory was created in a denied one")
    });
    table.add("denied-directory-is-changed-through-replaced-grant", || {
        let lab = Lab::new()?;
        lab.make("secret")?;
        lab.write("secret/key", SECRET);
        lab.make("a/b")?;
        lab.policy(&format!("plugin \"{HOSTILE}\" {{\n  allow filesystem {{\n    directories = [\".\", \"a/b\"]\n    access = [\"read\", \"write\"]\n  }}\n  deny filesystem {{\n    directories = [\"secret\"]\n    access = [\"write\"]\n  }}\n}}\n"));
        lab.probe(&["remove-directory¦a/./b", "make-all¦x", "symlink¦../secret¦x/l", "rename¦x/l¦a/./b"])?;
        lab.try_probe(&[(HOSTILE, &["honest", "write¦a/b/new¦x"])], &[])?;
        escaped_if(lab.has("secret/new"), "a file was written in a denied directory")
    });
}

/// The steps that create a symbolic link to `outside` in the directory `out`. The link is created
/// in a directory where its target is inside `out`, and is then moved.
const PLANT_DIRECTORY: &[&str] =
    &["make-all¦out/1/2", "symlink¦../../outside¦out/1/2/l", "rename¦out/1/2/l¦out/d"];
const PLANT_FILE: &[&str] =
    &["make-all¦out/1/2", "symlink¦../../outside/secret¦out/1/2/l", "rename¦out/1/2/l¦out/kubeconfig"];

fn host_reads(table: &mut Table) {
    let encoded = "UzNDUkVULW9mLXRoZS12aWN0aW0=";
    for (name, plant, configuration, sign) in [
        ("file-reads-link", PLANT_FILE, "output \"a\" {\n  value = file(\"out/kubeconfig\")\n}\n", SECRET),
        (
            "file-reads-through-directory",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = file(\"out/d/secret\")\n}\n",
            SECRET,
        ),
        (
            "file-reads-with-dots",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = file(\"./out/1/../d/./secret\")\n}\n",
            SECRET,
        ),
        (
            "file-reads-absolute-path",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = file(\"${abspath(path.root)}/out/d/secret\")\n}\n",
            SECRET,
        ),
        (
            "file-reads-hard-linked-link",
            &["make-all¦out/1/2", "symlink¦../../outside/secret¦out/1/2/l", "link¦out/1/2/l¦out/kubeconfig"],
            "output \"a\" {\n  value = file(\"out/kubeconfig\")\n}\n",
            SECRET,
        ),
        (
            "file-reads-link-in-moved-directory",
            &[
                "make-all¦out/1/2/m",
                "symlink¦../../../outside/secret¦out/1/2/m/kubeconfig",
                "rename¦out/1/2/m¦out/m",
            ],
            "output \"a\" {\n  value = file(\"out/m/kubeconfig\")\n}\n",
            SECRET,
        ),
        (
            "file-reads-chain-of-links",
            &[
                "make-all¦out/1/2",
                "symlink¦../../outside/secret¦out/1/2/l",
                "rename¦out/1/2/l¦out/hop",
                "symlink¦hop¦out/kubeconfig",
            ],
            "output \"a\" {\n  value = file(\"out/kubeconfig\")\n}\n",
            SECRET,
        ),
        (
            "filebase64-reads-link",
            PLANT_FILE,
            "output \"a\" {\n  value = filebase64(\"out/kubeconfig\")\n}\n",
            encoded,
        ),
        (
            "templatefile-reads-link",
            PLANT_FILE,
            "output \"a\" {\n  value = templatefile(\"out/kubeconfig\", {})\n}\n",
            SECRET,
        ),
        (
            "filesha1-reads-link",
            PLANT_FILE,
            "output \"a\" {\n  value = filesha1(\"out/kubeconfig\") == sha1(\"S3CRET-of-the-victim\") ? format(\"%sED\", \"GUESS\") : \"no\"\n}\n",
            "GUESSED",
        ),
        (
            "fileset-lists-through-link",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = join(\",\", fileset(\"out/d\", \"*\"))\n}\n",
            "\"secret\"",
        ),
        (
            "fileset-lists-through-pattern",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = join(\",\", fileset(\"out\", \"d/*\"))\n}\n",
            "d/secret",
        ),
        (
            "fileset-lists-recursively",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = join(\",\", fileset(\"out\", \"**/secret\"))\n}\n",
            "d/secret",
        ),
        (
            "fileexists-through-link",
            PLANT_DIRECTORY,
            "output \"a\" {\n  value = fileexists(\"out/d/secret\") ? format(\"%sS\", \"EXIST\") : \"no\"\n}\n",
            "EXISTS",
        ),
        (
            "remote-state-through-link",
            &[
                "make-all¦out/1/2",
                "symlink¦../../outside/other.tfstate¦out/1/2/l",
                "rename¦out/1/2/l¦out/shared.json",
            ],
            "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n  config = {\n    path = \"out/shared.json\"\n  }\n}\noutput \"a\" {\n  value = data.terraform_remote_state.a.outputs.password\n}\n",
            SECRET,
        ),
        (
            "module-through-link",
            PLANT_DIRECTORY,
            "module \"m\" {\n  source = \"./out/d/module\"\n}\noutput \"a\" {\n  value = module.m.a\n}\n",
            SECRET,
        ),
    ] {
        let plant: &'static [&'static str] = plant;
        table.add(name, move || {
            let lab = Lab::with_grant(&["out"])?;
            lab.make("out")?;
            lab.write_at("outside/other.tfstate", other_state());
            lab.write_at("outside/module/main.tf", format!("output \"a\" {{\n  value = \"{SECRET}\"\n}}\n"));
            lab.probe(plant)?;
            lab.write("main.tf", configuration);
            if name.starts_with("module") {
                lab.run("init -input=false")?;
            }
            let run = lab.run("plan -input=false")?;
            ensure(run.is_success() || run.code == Some(1), || run.text())?;
            escaped_if(run.says(sign), "the host read through a planted link")
        });
    }
    for (name, argument) in [
        ("local-exec-in-planted-directory", "working_dir = \"out/d\""),
        ("local-exec-in-planted-directory-with-dots", "working_dir = \"./out/./d\""),
    ] {
        table.add(name, move || {
            let lab = Lab::with_grant(&["out"])?;
            lab.make("out")?;
            lab.probe(PLANT_DIRECTORY)?;
            lab.policy("otherwise = \"defer\"\n");
            lab.policy(&format!("otherwise = \"defer\"\n{}", grant(HOSTILE, &["out"])));
            lab.write("main.tf", format!("resource \"terraform_data\" \"a\" {{\n  provisioner \"local-exec\" {{\n    command = \"cat secret\"\n    {argument}\n  }}\n}}\n"));
            let run = lab.run("apply -auto-approve -input=false")?;
            escaped_if(run.says(SECRET), "a program ran in a directory behind a planted link")
        });
    }
}

fn other_state() -> String {
    format!(
        "{{\"version\":4,\"terraform_version\":\"1.11.4\",\"serial\":7,\"lineage\":\"00000000-0000-4000-8000-000000000001\",\"outputs\":{{\"password\":{{\"value\":\"{SECRET}\",\"type\":\"string\"}}}},\"resources\":[]}}"
    )
}

fn host_writes(table: &mut Table) {
    const EMPTY: &str = "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\n";
    table.add("state-of-another-project-is-planned", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write_at("outside/other.tfstate", other_state());
        lab.probe(&["make¦1", "symlink¦../outside/other.tfstate¦1/l", "rename¦1/l¦terraform.tfstate"])?;
        lab.write("main.tf", EMPTY);
        let run = lab.run("plan -input=false")?;
        escaped_if(run.says(SECRET) || run.says("password"), "the state of another project is shown")
    });
    table.add("state-of-another-project-is-shown", || {
        let lab = Lab::with_grant(&["."])?;
        lab.write_at("outside/other.tfstate", other_state());
        lab.probe(&["make¦1", "symlink¦../outside/other.tfstate¦1/l", "link¦1/l¦terraform.tfstate"])?;
        lab.write("main.tf", EMPTY);
        let run = lab.run("output -no-color")?;
        escaped_if(run.says(SECRET), "the state of another project is shown")
    });
    // A command that the operator runs later writes through a symbolic link that a plugin created.
    for (name, planted, command) in [
        ("state-is-written-outside", "terraform.tfstate", "apply -auto-approve -input=false"),
        ("backup-is-written-outside", "terraform.tfstate.backup", "apply -auto-approve -input=false"),
        ("lock-is-written-outside", ".terraform.tfstate.lock.info", "apply -auto-approve -input=false"),
        ("journal-is-written-outside", ".terraform.tfstate.journal", "apply -auto-approve -input=false"),
        ("state-of-workspace-is-written-outside", "terraform.tfstate.d", "workspace new blue"),
        (
            "named-state-is-written-outside",
            "named.state",
            "apply -auto-approve -input=false -state=named.state",
        ),
        (
            "output-state-is-written-outside",
            "other.state",
            "apply -auto-approve -input=false -state-out=other.state",
        ),
        (
            "named-backup-is-written-outside",
            "old.state",
            "apply -auto-approve -input=false -backup=old.state",
        ),
        ("plan-is-written-outside", "release.plan", "plan -input=false -out=release.plan"),
        ("audit-log-is-written-outside", "audit.log", "plan -input=false -audit-log=audit.log"),
    ] {
        table.add(name, move || {
            let lab = Lab::with_grant(&["."])?;
            let is_directory = planted == "terraform.tfstate.d";
            lab.write("main.tf", EMPTY);
            if planted.contains("backup") || planted.contains("old") {
                lab.run("apply -auto-approve -input=false")?.success()?;
            }
            let target = if is_directory { "../outside/victims" } else { "../outside/victim" };
            std::fs::create_dir_all(lab.at("outside/victims")).map_err(|error| error.to_string())?;
            if planted == "audit.log" {
                lab.write_at("outside/victim", "{}\n");
            }
            lab.probe(&["make¦1", &format!("symlink¦{target}¦1/l"), &format!("rename¦1/l¦{planted}")])?;
            lab.write("main.tf", EMPTY.replace("\"x\"", "\"y\""));
            if name.starts_with("journal") {
                lab.write("main.tf", "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"kill -9 $PPID\"\n  }\n}\n");
            }
            let before = lab.read_at("outside/victim");
            lab.run(command)?;
            let count = std::fs::read_dir(lab.at("outside/victims")).map_err(|error| error.to_string())?.count();
            escaped_if(lab.read_at("outside/victim") != before || count > 0, "a command wrote outside of the project")
        });
    }
}

/// Files in procfs of the host's process and of other processes.
fn processes(table: &mut Table) {
    const VARIABLES: [(&str, &str); 2] = [("VICTIM", SECRET), ("TF_VAR_password", "MEMSECRET-7h3p4ssw0rd")];
    let read = |table: &mut Table,
                name: &str,
                directories: &'static [&'static str],
                step: &'static str,
                sign: &'static str| {
        table.add(name, move || {
            let lab = Lab::new()?;
            lab.policy(&grant_access(HOSTILE, directories, &["read"]));
            lab.write("variables.tf", "variable \"password\" {\n  sensitive = true\n}\n");
            let run = lab.probe_all(&[(HOSTILE, &[step])], &VARIABLES)?;
            escaped_if(run.says(sign), "a file of the host's own process was read")
        });
    };
    read(table, "environment-of-host", &["/proc"], "read¦/proc/self/environ", SECRET);
    read(table, "environment-of-host-by-thread", &["/proc"], "read¦/proc/thread-self/environ", SECRET);
    read(table, "environment-of-host-granted-itself", &["/proc/self"], "read¦/proc/self/environ", SECRET);
    read(table, "environment-of-host-by-number", &["/proc"], "search-processes¦environ¦VICTIM=", SECRET);
    read(
        table,
        "environment-of-host-by-task",
        &["/proc"],
        "search-processes¦task/PID/environ¦VICTIM=",
        SECRET,
    );
    read(table, "environment-of-host-under-root", &["/"], "read¦/proc/self/environ", SECRET);
    read(table, "environment-of-host-with-dots", &["/"], "read¦/proc/./self/../self/environ", SECRET);
    read(table, "environment-of-host-at-an-offset", &["/proc"], "read-at¦/proc/self/environ¦1", SECRET);
    read(table, "environment-of-host-held-open", &["/proc"], "hold¦/proc/self/environ", "#0 done");
    read(table, "arguments-of-host", &["/proc"], "read¦/proc/self/cmdline", "-input=false");
    read(table, "memory-map-of-host", &["/proc"], "read¦/proc/self/maps", "[stack]");
    read(table, "memory-map-of-host-in-detail", &["/proc"], "read¦/proc/self/smaps", "[stack]");
    read(table, "memory-of-host", &["/proc"], "find-in-memory¦/proc/self¦MEMSECRET-", "found 7h3p4ssw");
    read(
        table,
        "memory-of-host-by-thread",
        &["/proc"],
        "find-in-memory¦/proc/thread-self¦MEMSECRET-",
        "found 7h3p4ssw",
    );
    read(table, "auxiliary-vector-of-host", &["/proc"], "read-hex¦/proc/self/auxv", "read 2100000000000000");
    read(table, "status-of-host", &["/proc"], "read¦/proc/self/status", "VmRSS");
    read(table, "mounts-of-host", &["/proc"], "read¦/proc/self/mountinfo", " / ");
    read(table, "descriptors-of-host", &["/proc"], "list¦/proc/self/fdinfo", "#0 read 0 1 ");
    for (name, step) in [
        ("settings-of-host-are-written", "overwrite¦/proc/self/oom_score_adj¦500"),
        ("name-of-host-is-written", "overwrite¦/proc/self/comm¦pwned"),
        ("dump-filter-of-host-is-written", "overwrite¦/proc/thread-self/coredump_filter¦0x7f"),
        ("memory-of-host-is-opened-for-writing", "hold¦/proc/self/mem¦write"),
    ] {
        table.add(name, move || {
            let lab = Lab::with_grant(&["/proc"])?;
            let run = lab.probe(&[step])?;
            escaped_if(run.says("#0 done"), "a file of the host's own process was opened for writing")
        });
    }
    for (name, mount, step) in [
        (
            "environment-of-host-in-bound-directory",
            "mount --rbind /proc \"$OUTSIDE/p\"",
            "read¦OUTSIDE/p/self/environ",
        ),
        (
            "environment-of-host-in-bound-process",
            "mount --bind /proc/$$ \"$OUTSIDE/p\"",
            "read¦OUTSIDE/p/environ",
        ),
        (
            "environment-of-host-in-bound-file",
            "touch \"$OUTSIDE/p/f\" && mount --bind /proc/$$/environ \"$OUTSIDE/p/f\"",
            "read¦OUTSIDE/p/f",
        ),
    ] {
        table.add(name, move || {
            let lab = Lab::new()?;
            let outside = lab.at("outside").display().to_string();
            std::fs::create_dir(lab.at("outside/p")).map_err(|error| error.to_string())?;
            lab.policy(&grant_access(HOSTILE, &[&outside], &["read"]));
            lab.write("main.tf", configuration(&[(HOSTILE, &[&step.replace("OUTSIDE", &outside)])]));
            let inner = lab.command("plan -input=false");
            let mut command = std::process::Command::new("unshare");
            command.args(["-rm", "sh", "-c", &format!("{mount} || exit 77; exec \"$@\""), "sh"]);
            command.arg(inner.get_program()).args(inner.get_args()).current_dir(lab.path(""));
            for (name, value) in inner.get_envs() {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command.env("OUTSIDE", &outside).envs(VARIABLES);
            let run = bounded::run(command, MAX_TIME, &[])?;
            if run.code == Some(77) || run.says("unshare failed") {
                return Ok(Verdict::Unavailable("no mount namespace".into()));
            }
            ensure(run.says("#0 "), || run.text())?;
            escaped_if(run.says(SECRET), "a file of the host's own process was read under another name")
        });
    }
}
