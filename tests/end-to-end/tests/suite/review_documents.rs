//! Reviews of plans: `plan -summary`, `plan -concise`, and `show` with `-html`, `-markdown` and `-summary`.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use wardian_end_to_end::{Project, terraform};

const INITIAL: &str = r#"variable "release" {
  default = "v1"
}

variable "token" {
  default   = "topsecret-1"
  sensitive = true
}

resource "terraform_data" "network" {
  triggers_replace = var.release
}

resource "terraform_data" "node" {
  count = 30
  input = { release = var.release, index = count.index }
}

resource "terraform_data" "secret" {
  input = var.token
}

resource "terraform_data" "old" {
  input = "archive"
}
"#;

/// Returns a project whose state belongs to `INITIAL`, and whose configuration no longer contains `old`.
fn applied() -> Project {
    let project = Project::new(&[("main.tf", INITIAL)]);
    project.run("apply -auto-approve").success();
    let (kept, _) = INITIAL.split_once("resource \"terraform_data\" \"old\"").unwrap();
    project.write("main.tf", kept);
    project
}

/// Returns a text without line breaks.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const CHANGED: &str = "-var=release=v2 -var=token=topsecret-2";

#[test]
fn summary_has_counts_destroys_and_replacements() {
    let project = applied();
    let out = project.run(&format!("plan -summary {CHANGED} -out=p")).success().out;
    let start: Vec<&str> = out.lines().take(20).collect();
    assert!(start.contains(&"1 to destroy, 1 to replace, 31 to update"), "{out}");
    assert!(start.contains(&"  - terraform_data.old"), "{out}");
    assert!(start.contains(&"      the resource is not in the configuration"), "{out}");
    assert!(start.contains(&"  -/+ terraform_data.network"), "{out}");
    assert!(
        words(&out).contains("triggers_replace depends on var.release, declared in main.tf:1 (main.tf:10)"),
        "{out}"
    );
    assert!(!out.contains("terraform_data.node") && !out.contains("topsecret"), "{out}");
    assert!(out.contains("\nPlan: 1 to add, 31 to change, 2 to destroy.\n"), "{out}");
    let shown = project.run("show -summary p").success().out;
    assert!(out.contains(&*shown), "{shown}\n{out}");
    let out = project.run(&format!("apply -auto-approve -summary {CHANGED}")).success().out;
    assert!(out.contains("1 to destroy, 1 to replace, 31 to update"), "{out}");
    assert!(out.contains("Apply complete! Resources: 1 added, 31 changed, 2 destroyed."), "{out}");
    let out = project.run(&format!("plan -summary {CHANGED}")).success().out;
    assert!(
        out.contains("No changes.") && out.contains("Plan: 0 to add, 0 to change, 0 to destroy."),
        "{out}"
    );
}

#[test]
fn concise_plan_folds_equal_changes() {
    let project = applied();
    let out = project.run(&format!("plan -concise {CHANGED} -out=p")).success().out;
    assert_eq!(out.matches("# terraform_data.node[").count(), 1, "{out}");
    assert!(
        out.contains(
            "  # 29 more objects change in the same way: terraform_data.node[1], terraform_data.node[2], \
             terraform_data.node[3] and 26 more\n"
        ),
        "{out}"
    );
    assert!(out.contains("terraform_data.old will be destroyed"), "{out}");
    assert!(out.contains("Plan: 1 to add, 31 to change, 2 to destroy."), "{out}");
    let shown = project.run("show -concise p").success().out;
    assert_eq!(shown.matches("# terraform_data.node[").count(), 1, "{shown}");
    let full = project.run("show p").success().out;
    assert_eq!(full.matches("# terraform_data.node[").count(), 30);
}

#[test]
fn concise_plan_shows_values_that_differ() {
    let rule = |odd: &str| {
        format!(
            "resource \"terraform_data\" \"rule\" {{\n  count = 30\n  input = count.index == 17 ? \"{odd}\" : \"10.0.0.0/8\"\n}}\n"
        )
    };
    let project = Project::new(&[("main.tf", &rule("10.0.0.0/8"))]);
    let out = project.run("plan -concise").success().out;
    assert!(out.contains("  # 29 more objects change in the same way: "), "{out}");
    project.write("main.tf", rule("0.0.0.0/0"));
    let out = project.run("plan -concise").success().out;
    assert_eq!(out.matches("# terraform_data.rule[").count(), 1, "{out}");
    assert!(out.contains("  # 28 more objects change in the same way: "), "{out}");
    assert!(
        out.contains("\n  # the same, but with input = \"0.0.0.0/0\": terraform_data.rule[17]\n"),
        "{out}"
    );
}

#[test]
fn causes_have_positions_and_triggers() {
    let configuration = "variable \"release\" {\n  default = \"v1\"\n}\n\
        resource \"terraform_data\" \"source\" {\n  input = var.release\n}\n\
        resource \"terraform_data\" \"target\" {\n  lifecycle {\n    replace_triggered_by = [terraform_data.source]\n  }\n}\n";
    let project = Project::new(&[("main.tf", configuration)]);
    project.run("apply -auto-approve").success();
    project.run("plan -var=release=v2 -out=p").success();
    let out = words(&project.run("show -summary p").success().out);
    assert!(
        out.contains("replace_triggered_by requires it; replace_triggered_by contains terraform_data.source (main.tf:7)"),
        "{out}"
    );
    let text = project.run("show -markdown p").success().out;
    assert!(
        text.contains("`input` depends on `var.release`, declared in `main.tf:1` (`main.tf:4`)"),
        "{text}"
    );
}

#[test]
fn saved_plan_and_its_json_have_the_same_review() {
    let project = applied();
    project.run(&format!("plan {CHANGED} -out=p")).success();
    project.write("p.json", project.run("show -json p").success().out);
    for form in ["-html", "-markdown", "-markdown=gitlab"] {
        let saved = project.run(&format!("show {form} p")).success().out;
        let json = project.run(&format!("show {form} p.json")).success().out;
        for text in [&saved, &json] {
            assert!(text.contains("terraform_data.old") && text.contains("terraform_data.node[0]"), "{text}");
            // As in Terraform, the attribute `output` is not sensitive, so only the new value is.
            assert!(!text.contains("topsecret-2"), "{text}");
        }
        assert!(saved.replace("</bdi>", "").contains("main.tf:10"), "{saved}");
        // The JSON document contains no positions.
        assert!(!json.contains("main.tf"), "{json}");
    }
    let both = project.run("show -markdown p p.json").success().out;
    assert!(both.starts_with("<!-- wardian-plan: p p.json -->\n"), "{both}");
    assert!(both.contains("in `p`\n") && both.contains("in `p.json`\n"), "{both}");
    let page = project.run("show -html p p.json").success().out;
    assert!(page.contains("<h1>2 plans</h1>") && page.contains("id=p1c0"));
    let short = project.run("show -markdown -limit=2000 p").success().out;
    assert!(short.len() <= 2000 && short.contains("terraform_data.old"), "{short}");
}

#[test]
fn terraforms_plan_is_reviewed() {
    let Some(terraform) = terraform() else { return };
    let project = Project::new(&[("main.tf", INITIAL)]);
    let directory = project.path("");
    terraform.ask(&directory, &["init"]);
    terraform.ask(&directory, &["apply", "-auto-approve"]);
    let (kept, _) = INITIAL.split_once("resource \"terraform_data\" \"old\"").unwrap();
    project.write("main.tf", kept);
    terraform.ask(&directory, &["plan", "-var=release=v2", "-var=token=topsecret-2", "-out=tfplan"]);
    project.write("p.json", terraform.ask(&directory, &["show", "-json", "tfplan"]));
    let out = project.run("show -summary p.json").success().out;
    assert!(out.contains("1 to destroy, 1 to replace, 31 to update"), "{out}");
    assert!(words(&out).contains("triggers_replace depends on var.release"), "{out}");
    let page = project.run("show -html p.json").success().out;
    assert!(page.contains("<b>30</b> \u{d7} <code dir=auto>terraform_data</code>"));
    assert!(!page.contains("topsecret-2"));
}

#[test]
fn files_that_are_no_plans_are_rejected() {
    let project = applied();
    project.run("plan -out=p").success();
    project.write("state.json", project.run("show -json").success().out);
    let whole = std::fs::read(project.path("p")).unwrap();
    project.write("cut", &whole[..whole.len() / 2]);
    project.write("version.json", "{\"format_version\":\"9.0\",\"resource_changes\":[]}");
    project.write("junk", "\u{1b}[2Jjunk");
    for (file, message) in [
        ("state.json", "it is the JSON document of a state"),
        ("cut", "Saved plan cannot be used"),
        ("version.json", "its format version is \"9.0\""),
        ("junk", "it is not the JSON document of a plan"),
        ("terraform.tfstate", "it has no format version"),
        ("none", "none: "),
    ] {
        for form in ["-html", "-markdown", "-summary"] {
            let seen = project.run(&format!("show {form} {file}")).ended_with(1);
            assert!(seen.errors.replace("\n\u{2502} ", " ").contains(message), "{file}: {}", seen.text());
            assert!(seen.out.is_empty(), "{}", seen.out);
        }
    }
    for (line, message) in [
        ("show -html", "FILE"),
        ("show -html -json p", "-json"),
        ("show p p", "Several plans"),
        ("show -markdown=bitbucket p", "github"),
        ("show -markdown -limit=10 p", "2000"),
    ] {
        let seen = project.run(line).ended_with(1);
        assert!(seen.errors.contains(message), "{line}: {}", seen.text());
    }
}

/// Returns a saved plan whose content has another format version.
fn with_other_version(plan: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(plan)).unwrap();
    let mut changed = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let name = entry.name().unwrap().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if name == "plan.json" {
            let text = String::from_utf8(content).unwrap();
            let (before, after) = text.split_once("\"format\":").unwrap();
            let after = after.trim_start_matches(|character: char| character.is_ascii_digit());
            content = format!("{before}\"format\":4000{after}").into_bytes();
        }
        changed.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        changed.write_all(&content).unwrap();
    }
    changed.finish().unwrap().into_inner()
}

#[test]
fn saved_plans_of_other_programs_are_rejected() {
    let project = applied();
    project.run("plan -out=p").success();
    project.write("other", with_other_version(&std::fs::read(project.path("p")).unwrap()));
    let mut expected = vec![("other", "its format is version 4000")];
    if let Some(terraform) = terraform() {
        terraform.ask(&project.path(""), &["init"]);
        terraform.ask(&project.path(""), &["plan", "-out=tfplan"]);
        expected.push(("tfplan", "it is not a Wardian plan file"));
    }
    for (file, message) in expected {
        for form in ["-html", "-markdown", "-summary", "-concise"] {
            let seen = project.run(&format!("show {form} {file}")).ended_with(1);
            assert!(
                words(&seen.errors.replace('\u{2502}', " ")).contains(message),
                "{file}: {}",
                seen.text()
            );
            assert!(seen.out.is_empty(), "{}", seen.out);
        }
    }
}

#[test]
fn pipe_that_closes_while_a_large_page_is_written_ends_the_command() {
    let project = Project::new(&[("p.json", &wardian_review::testing::large(3_000))]);
    for form in ["-html", "-markdown=gitlab"] {
        let mut child = project
            .command(&format!("show {form} p.json"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // More than a pipe holds is still to be written.
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 1000]).unwrap();
        drop(out);
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success() && errors.is_empty(), "{form}: {status} {errors}");
    }
}

#[test]
fn encrypted_plan_is_reviewed_with_its_passphrase() {
    let project = applied();
    let passphrase = [("WARDIAN_PLAN_PASSPHRASE", "correct horse")];
    project.run_with("plan -encrypt -out=p", "", &passphrase).success();
    let out = project.run_with("show -markdown p", "", &passphrase).success().out;
    assert!(out.contains("terraform_data.old"), "{out}");
    project.run_with("show -markdown p", "", &[("WARDIAN_PLAN_PASSPHRASE", "other")]).ended_with(1);
}

#[test]
fn closed_pipe_ends_the_command() {
    let project = applied();
    project.run(&format!("plan {CHANGED} -out=p")).success();
    for form in ["-html", "-markdown", "-summary"] {
        let mut child = project
            .command(&format!("show {form} p"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success() && errors.is_empty(), "{form}: {status} {errors}");
    }
}
