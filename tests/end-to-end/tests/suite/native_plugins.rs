//! Native plugins, from a mirror and from `dev_overrides`.
#![allow(clippy::unwrap_used, reason = "the test has failed")]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{Project, Seen, assert_seen, binary, platform};

pub(crate) const CONFIGURATION: &str = r#"terraform {
  required_providers {
    fake = {
      source = "example.com/acme/fake"
    }
  }
}

variable "name" {
  default = "one"
}

provider "fake" {
  greeting = "hello"
}

resource "fake_thing" "a" {
  name = var.name
  size = 3
}

data "fake_echo" "e" {
  input = fake_thing.a.id
}

output "id" {
  value = data.fake_echo.e.output
}

output "loud" {
  value = provider::fake::shout("hm")
}
"#;

/// Returns the configurable test plugin, which is in the directory of the program under test.
pub(crate) fn plugin() -> Option<PathBuf> {
    let path = binary().with_file_name("wardian-native-plugin");
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: there is no {}; `cargo build --workspace --bins` makes it", path.display());
    None
}

fn file() -> String {
    format!("terraform.d/plugins/example.com/acme/fake/1.2.3/{}/terraform-provider-fake_v1.2.3", platform())
}

pub(crate) fn make_executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Creates a project with the test plugin itself, and runs `init` in it. The plugin is an executable,
/// because a script would also need access to its interpreter.
pub(crate) fn project_with_plugin() -> Option<Project> {
    let plugin = plugin()?;
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    project.write(&file(), std::fs::read(plugin).unwrap());
    make_executable(&project.path(&file()));
    project.run("init").success();
    Some(project)
}

/// Writes a plugin that executes the instructions in a file of the project.
fn write_plugin(project: &Project, file: &str, plugin: &Path) {
    let script = format!(
        "#!/bin/sh\nNATIVE_PLUGIN=$(cat words 2>/dev/null)\nexport NATIVE_PLUGIN\nexec '{}'\n",
        plugin.display()
    );
    project.write(file, script);
    make_executable(&project.path(file));
}

/// Creates an initialized project with the plugin in a mirror.
fn project() -> Option<Project> {
    project_of(CONFIGURATION)
}

/// Creates a project with a different configuration.
pub(crate) fn project_of(configuration: &str) -> Option<Project> {
    let plugin = plugin()?;
    let project = Project::new(&[("main.tf", configuration)]);
    write_plugin(&project, &file(), &plugin);
    project.run("init").success();
    Some(project)
}

fn anywhere(mut seen: Seen) -> Seen {
    seen.out = seen.out.replace(&platform(), "[PLATFORM]");
    seen.errors = seen.errors.replace(&platform(), "[PLATFORM]");
    seen
}

#[test]
fn init_reports_that_native_plugin_is_not_confined() {
    let Some(plugin) = plugin() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    write_plugin(&project, &file(), &plugin);
    assert_seen!("native_init", anywhere(project.run("init").success()));
    assert!(project.read(".terraform.lock.hcl").contains("\"h1:"));
    let installed = project.path(&format!(".terraform/providers/example.com/acme/fake/1.2.3/{}", platform()));
    assert!(installed.is_symlink());
}

#[test]
fn native_resource_is_created_and_destroyed_in_both_protocols() {
    let Some(project) = project() else { return };
    for words in ["5", ""] {
        project.write("words", words);
        project.run("validate").success();
        assert_seen!("native_apply", project.run("apply -auto-approve").success());
        assert!(project.run("plan").success().out.contains("No changes."));
        let changed = project.run("plan -var=name=two").success();
        assert!(changed.out.contains("fake_thing.a must be replaced"), "{}", changed.text());
        assert!(changed.out.contains("# forces replacement"), "{}", changed.text());
        project.run("plan -var=name=two -out=plan").success();
        project.run("apply plan").success();
        assert_eq!(project.state()["resources"][1]["instances"][0]["attributes"]["id"], "id-of-two");
        project.run("destroy -auto-approve").success();
        assert_eq!(project.state()["resources"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn unknown_data_source_has_no_planned_values() {
    let Some(project) = project() else { return };
    project.run("plan -out=plan").success();
    let document = project.run("show -json plan").success().out;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap_or_default();
    let planned = document["planned_values"]["root_module"]["resources"].as_array().cloned();
    let planned: Vec<_> = planned
        .iter()
        .flatten()
        .map(|object| (object["address"].as_str(), object.get("values").is_some()))
        .collect();
    assert_eq!(planned, [(Some("data.fake_echo.e"), false), (Some("fake_thing.a"), true)]);
}

#[test]
fn native_plugin_diagnostics_have_positions() {
    let Some(project) = project() else { return };
    project.write("main.tf", CONFIGURATION.replace("var.name", "\"wrong\""));
    assert_seen!("native_wrong_value", project.run("validate").ended_with(1));
}

#[test]
fn plugin_crash_during_replacement_preserves_state() {
    let Some(project) = project() else { return };
    project.run("apply -auto-approve").success();
    let before = project.state()["resources"][1].clone();
    project.write("words", "die@ApplyResourceChange");
    project.write("main.tf", CONFIGURATION.replace("size = 3", "size = 4"));
    assert_seen!("native_crash", project.run("apply -auto-approve").ended_with(1));
    // The data source depends on the resource that was not created.
    assert_eq!(project.state()["resources"], serde_json::json!([before]));
    project.write("words", "");
    project.run("apply -auto-approve").success();
    assert!(project.run("plan").success().out.contains("No changes."));
}

#[test]
fn replaced_native_plugin_is_not_run() {
    let Some(project) = project() else { return };
    project.run("plan -out=plan").success();
    let file = file();
    project.write(&file, project.read(&file).replace("exec", "touch exchanged; exec"));
    let refused = project.run("plan").ended_with(1);
    assert!(refused.errors.contains("Provider package does not match the lock file"), "{}", refused.text());
    project.run("apply plan").ended_with(1);
    assert!(!project.has("exchanged"));
}

#[test]
fn native_plugin_override_runs_in_place() {
    let Some(plugin) = plugin() else { return };
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    write_plugin(&project, "development/terraform-provider-fake", &plugin);
    let directory = project.path("development");
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"example.com/acme/fake\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        directory.display()
    );
    project.write("home/.terraformrc", settings);
    let applied = project.run("apply -auto-approve").success();
    assert!(applied.out.contains("Apply complete!"), "{}", applied.text());
}

#[test]
fn native_plugin_receives_configured_environment() {
    let Some(project) = project() else { return };
    let variables = [
        ("FAKE_TOKEN", "its own"),
        ("OTHER_TOKEN", "of somebody else"),
        ("EXTRA_ONE", "named"),
        ("WARDIAN_NATIVE_ENVIRONMENT", "EXTRA_*"),
    ];
    project.run_with("apply -auto-approve", "", &variables).success();
    let names = &project.state()["resources"][1]["instances"][0]["attributes"]["environment"];
    let has = |name: &str| names.as_array().is_some_and(|names| names.iter().any(|one| one == name));
    assert!(has("FAKE_TOKEN") && has("EXTRA_ONE") && has("HOME"), "{names}");
    assert!(!has("OTHER_TOKEN") && !has("WARDIAN_NATIVE_ENVIRONMENT"), "{names}");
}

#[test]
fn unusable_native_plugin_is_reported_when_needed() {
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    let program = std::fs::read(binary()).unwrap();
    // The first bytes are sufficient to recognize an executable.
    project.write(&file(), &program[..4096]);
    project.run("init").success();
    let refused = project.run("validate").ended_with(1);
    assert!(refused.errors.contains("it is not executable"), "{}", refused.text());
}

#[test]
fn native_plugin_that_shadows_an_embedded_one_is_reported() {
    let Some(plugin) = plugin() else { return };
    let project = Project::new(&[(
        "main.tf",
        "terraform {\n  required_providers {\n    null = {\n      source = \"hashicorp/null\"\n    }\n  }\n}\n",
    )]);
    let file = format!(
        "terraform.d/plugins/registry.terraform.io/hashicorp/null/99.0.0/{}/terraform-provider-null_v99.0.0",
        platform()
    );
    write_plugin(&project, &file, &plugin);
    assert_seen!("native_overrides_embedded", anywhere(project.run("init").success()));

    // If the versions are equal, the embedded plugin takes precedence.
    let locked = project.run("version").success();
    assert!(locked.out.contains("hashicorp/null v99.0.0"), "{}", locked.text());
    project.write(
        "main.tf",
        project.read("main.tf").replace("hashicorp/null\"", "hashicorp/null\"\n      version = \"< 99.0.0\""),
    );
    let embedded = project.run("init -upgrade").success();
    assert!(
        !embedded.errors.contains("overrides") && embedded.out.contains("embedded"),
        "{}",
        embedded.text()
    );

    write_plugin(&project, "development/terraform-provider-null", &plugin);
    let directory = project.path("development");
    let settings = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"hashicorp/null\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
        directory.display()
    );
    project.write("home/.terraformrc", settings);
    let overridden = project.run("validate").success();
    let told = "hashicorp/null in [FOLDER]/development, instead of the embedded v";
    let text = overridden.text().split_whitespace().collect::<Vec<_>>().join(" ").replace("\u{2502} ", "");
    assert!(text.contains(told), "{text}");
}

/// Returns the processes whose environment contains a word.
#[cfg(target_os = "linux")]
fn processes_with(word: &str) -> Vec<i32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            String::from_utf8_lossy(&environment).contains(word).then_some(id)
        })
        .collect()
}

#[cfg(target_os = "linux")]
#[test]
fn native_plugins_exit_when_wardian_is_killed() {
    let Some(project) = project() else { return };
    let mark = format!("hang@ApplyResourceChange,killed-{}", std::process::id());
    project.write("words", &mark);
    let mut running = project.start("apply -auto-approve");
    running.wait_for("fake_thing.a: Creating...");
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !is_so() {
            assert!(std::time::Instant::now() < deadline, "it never came about that {what}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    };
    until("the plugin runs", &|| !processes_with(&mark).is_empty());
    running.kill();
    until("the plugin is gone", &|| processes_with(&mark).is_empty());

    project.write("words", "");
    project.run("apply -auto-approve").success();
    assert!(project.run("plan").success().out.contains("No changes."));
}

const POLICY: &str = r#"plugin "*" {
  native = "confine"

  allow filesystem {
    directories = ["work"]
  }
}
"#;

/// Returns whether the kernel supports confinement; prints a message otherwise.
#[cfg(target_os = "linux")]
pub(crate) fn kernel_confines(project: &Project) -> bool {
    let validated = project.run("validate");
    if validated.errors.contains("this machine supports the level") {
        println!("skipped: this machine cannot confine native plugins: {}", validated.errors);
        return false;
    }
    true
}

#[cfg(target_os = "linux")]
#[test]
fn policy_confines_native_plugin() {
    let Some(project) = project_with_plugin() else { return };
    project.write("wardian.policy.hcl", POLICY);
    if !kernel_confines(&project) {
        return;
    }
    let reading =
        |what: &str| CONFIGURATION.replace("input = fake_thing.a.id", &format!("input = \"{what}\""));
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "secret").unwrap();
    let secret = outside.path().join("secret").display().to_string();
    project.write("work/note", "a note");
    let inside = project.path("work/note").canonicalize().unwrap().display().to_string();
    let output = |what: &str| {
        project.write("main.tf", reading(what));
        project.run("apply -auto-approve").success();
        project.state()["outputs"]["id"]["value"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(output(&format!("read:{inside}")), "a note");
    assert!(output(&format!("read:{secret}")).contains("Permission denied"));
    assert!(output(&format!("write:{inside}")).contains("Permission denied"));
    assert!(output("connect:127.0.0.1:1").contains("Permission denied"));
    let init = project.run("init").success();
    assert!(!init.errors.contains("not confined"), "{}", init.text());
    let levels = ["filtered", "full"].map(|level| format!("example.com/acme/fake v1.2.3: {level}"));
    assert!(levels.iter().any(|level| init.out.contains(level)), "{}", init.text());
    let explained = project.run("policy explain example.com/acme/fake").success();
    assert!(
        explained.out.contains("As native code it runs only if it can be confined"),
        "{}",
        explained.text()
    );

    // Rules that cannot be enforced are rejected.
    project.write(
        "wardian.policy.hcl",
        POLICY.replace("[\"work\"]", "[\".\"]\n    access = [\"read\", \"write\"]"),
    );
    let refused = project.run("plan").ended_with(1);
    assert!(refused.errors.contains("Error: Native plugin cannot be confined"), "{}", refused.text());
    assert!(unwrapped(&refused.errors).contains("not its protected files"), "{}", refused.text());
    project.write("wardian.policy.hcl", POLICY.replace("\"confine\"", "\"deny\""));
    let denied = project.run("plan").ended_with(1);
    assert!(denied.errors.contains("Native plugin denied by policy"), "{}", denied.text());
}

/// Returns an error's text in one line.
pub(crate) fn unwrapped(errors: &str) -> String {
    errors.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns ten provider configurations with a resource each.
fn ten_aliases(greeting: impl Fn(u8) -> String) -> String {
    let mut text = CONFIGURATION.lines().take(7).collect::<Vec<_>>().join("\n");
    for number in 0..10 {
        let greeting = greeting(number);
        let _ = write!(
            text,
            "\nprovider \"fake\" {{\n  alias    = \"a{number}\"\n  greeting = \"{greeting}\"\n}}\n\n\
             resource \"fake_thing\" \"a{number}\" {{\n  provider = fake.a{number}\n  name     = \"a{number}\"\n}}\n"
        );
    }
    text
}

/// Counts the schema and configure calls of a plan with an empty cache.
fn calls_of_a_plan(project: &Project, cache: &std::path::Path) -> (usize, usize) {
    let cache = cache.display().to_string();
    let seen =
        project.run_with("plan", "", &[("TF_LOG_PROVIDER", "info"), ("XDG_CACHE_HOME", &cache)]).success();
    assert!(seen.out.contains("10 to add"), "{}", seen.text());

    let requests = |call: &str| seen.errors.matches(&format!("{call} request:")).count();
    (requests("GetProviderSchema"), requests("ConfigureProvider"))
}

#[test]
fn ten_aliases_load_one_schema_and_equal_configurations_share_a_process() {
    for (greeting, processes) in [(Some("hello"), 1), (None, 10)] {
        let text = ten_aliases(|number| greeting.map_or(format!("hello {number}"), str::to_owned));
        let Some(project) = project_of(&text) else { return };
        project.write("words", "repeats,unasked");
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(calls_of_a_plan(&project, cache.path()), (1, processes), "without a cache");
        assert_eq!(calls_of_a_plan(&project, cache.path()), (0, processes), "with the schema in the cache");
    }
}
