//! The literal output lines of Terraform and OpenTofu, for tools that search for these lines.

use std::os::unix::fs::symlink;

use regex::Regex;
use serde_json::Value;
use wardian_end_to_end::{Project, assert_recorded_with_files, binary};

const DATA: &str = "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n";

/// If the program is run as `terraform`, it prints Terraform's output. Progress lines may be in any
/// order.
#[test]
fn output_as_terraform_matches_terraform() {
    let progress = Regex::new(r"^\S+: (Refreshing|Creat|Modif|Destr|Read|Still|Prepar|Import)").unwrap();
    let timestamp = Regex::new(r#""@timestamp":"[^"]*""#).unwrap();
    let shape = |out: String| {
        let (mut moving, fixed): (Vec<&str>, Vec<&str>) =
            out.lines().partition(|line| progress.is_match(line));
        moving.sort_unstable();
        let lines: Vec<&str> = fixed
            .into_iter()
            // The line with Wardian's own version is excluded.
            .filter(|line| !line.starts_with("This is Wardian"))
            .chain(moving)
            .collect();
        // Diagnostics are excluded, since Wardian words them differently.
        let lines: Vec<String> = lines
            .iter()
            .filter(|line| !line.contains(r#""type":"diagnostic""#))
            .map(|line| timestamp.replace_all(line, "").into_owned())
            .collect();
        lines.join("\n").trim_end().to_owned()
    };
    assert_recorded_with_files("product", shape, |_, _| None);
}

#[test]
fn program_name_selects_product_and_output() {
    let project = Project::new(&[("main.tf", DATA)]);
    let run = |name: &str, line: &str| {
        let link = project.path(name);
        if !link.exists() {
            symlink(binary(), &link).unwrap();
        }
        let mut command = project.command(line);
        let mut named = std::process::Command::new(&link);
        named.args(command.get_args()).current_dir(project.path("")).env_clear();
        named.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = named;
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (program, name) in [("terraform", "Terraform"), ("tofu", "OpenTofu")] {
        let version = run(program, "version");
        assert!(version.starts_with(&format!("{name} v1.11.4\non ")), "{version}");
        let plan = run(program, "plan");
        assert!(plan.contains(&format!("\n{name} will perform the following actions:\n")), "{plan}");
        assert!(plan.contains(&format!("\"{program} apply\" now.")), "{plan}");
        let help = run(program, "-help");
        assert!(help.starts_with(&format!("Usage: {program} [global options]")), "{help}");
    }
    let message: Value =
        serde_json::from_str(run("tofu", "plan -json").lines().next().unwrap_or_default()).unwrap();
    assert_eq!(message["@message"], "OpenTofu 1.11.4");
    assert_eq!((&message["@module"], &message["tofu"]), (&"tofu.ui".into(), &"1.11.4".into()));
}

#[test]
fn wardian_output_variable_selects_the_product() {
    let project = Project::new(&[("main.tf", DATA)]);
    assert!(project.run("plan").out.contains("\nWardian will perform the following actions:\n"));
    let plan = |output: &str| project.run_with("plan", "", &[("WARDIAN_OUTPUT", output)]);
    assert!(plan("terraform").out.contains("\nTerraform will perform the following actions:\n"));
    assert!(plan("tofu").out.contains("\nOpenTofu will perform the following actions:\n"));
    let refused = plan("pulumi").ended_with(1);
    assert!(refused.errors.contains("Invalid value for WARDIAN_OUTPUT"), "{}", refused.text());
}

#[test]
fn drift_note_has_the_text_that_tools_search_for() {
    let file = "resource \"local_file\" \"f\" {\n  filename = \"f.txt\"\n  content  = \"x\"\n}\n";
    let project = Project::new(&[("main.tf", file)]);
    let terraform = [("WARDIAN_OUTPUT", "terraform")];
    project.run_with("init", "", &terraform).success();
    project.run_with("apply -auto-approve", "", &terraform).success();
    std::fs::remove_file(project.path("f.txt")).unwrap();
    let out = project.run_with("plan -refresh-only", "", &terraform).success().out;
    assert!(out.contains("\nNote: Objects have changed outside of Terraform\n"), "{out}");
    assert!(
        out.contains(
            "\nTerraform detected the following changes made outside of Terraform since the\nlast \"terraform \
             apply\" which may have affected this plan:\n"
        ),
        "{out}"
    );
}

#[test]
fn init_writes_output_and_files_that_tools_check_for() {
    let random = "resource \"random_pet\" \"a\" {}\nresource \"null_resource\" \"b\" {}\n";
    let project = Project::new(&[("main.tf", random)]);
    let out = project.run_with("init", "", &[("WARDIAN_OUTPUT", "terraform")]).success().out;
    for line in [
        "- Finding latest version of hashicorp/random...",
        "- Installing hashicorp/random v3.7.2...",
        "- Installed hashicorp/random v3.7.2 (embedded component)",
        "Terraform has been successfully initialized!",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line}: {out}");
    }
    let platform = wardian_end_to_end::platform();
    let entry = format!(".terraform/providers/registry.terraform.io/hashicorp/random/3.7.2/{platform}");
    assert!(project.path(&entry).is_dir());
    // Terraform unpacks its package here, so the directory must not contain anything else.
    assert_eq!(std::fs::read_dir(project.path(&entry)).unwrap().count(), 0);
    let lock = project.read(".terraform.lock.hcl");
    assert!(lock.contains("zh:14829603a32e4bc4d05062f059e545a91e27ff033756b48afbae6b3c835f508f"), "{lock}");
    let again = project.run_with("init", "", &[("WARDIAN_OUTPUT", "terraform")]).success().out;
    assert!(again.contains("- Using previously-installed hashicorp/random v3.7.2\n"), "{again}");
    assert_eq!(project.read(".terraform.lock.hcl"), lock);
    project.run("plan").success();
}

#[test]
fn init_in_json_reports_each_step() {
    let project = Project::new(&[("main.tf", "resource \"random_pet\" \"a\" {}\n")]);
    let out = project.run("init -json").success().out;
    let messages: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<&str> = messages.iter().filter_map(|message| message["message_code"].as_str()).collect();
    assert_eq!(
        codes,
        [
            "initializing_backend_message",
            "initializing_provider_plugin_message",
            "lock_info",
            "output_init_success_message",
            "output_init_success_cli_message",
        ]
    );
    assert!(messages.iter().all(|message| message["@module"] == "terraform.ui"), "{out}");
    let texts: Vec<&str> = messages.iter().filter_map(|message| message["@message"].as_str()).collect();
    assert!(texts.contains(&"Installing provider version: hashicorp/random v3.7.2..."), "{out}");
    let failed = project.run("init -json -bogus").ended_with(1).out;
    assert!(failed.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{failed}");
}

#[test]
fn plugin_without_published_packages_is_reported() {
    let project = Project::new(&[("main.tf", "resource \"tfcoremock_simple_resource\" \"a\" {}\n")]);
    let out = project.run("init").success().out;
    assert!(out.contains("Note: Terraform cannot install hashicorp/tfcoremock v0.5.0"), "{out}");
}
