//! The terminal view of plans, in a terminal that interprets control sequences.

use std::process::Command;

use wardian_end_to_end::{Project, Tmux};

const CONFIGURATION: &str = "
variable \"release\" {
  default = \"v1\"
}

resource \"random_pet\" \"name\" {
  keepers = { release = var.release }
}

resource \"terraform_data\" \"note\" {
  input = \"name: ${random_pet.name.id}\"
}
";

/// Returns an initialized project with an applied configuration.
fn project() -> Project {
    let project = Project::new(&[("main.tf", CONFIGURATION)]);
    project.run("init").success();
    project.run("apply -auto-approve").success();
    project
}

fn shell(project: &Project, size: (u16, u16)) -> Option<Tmux> {
    let tmux = Tmux::start(project, &["bash", "--norc", "--noprofile"], size)?;
    tmux.shows("$");
    Some(tmux)
}

/// Checks that the terminal is in the mode in which it was before the view.
#[track_caller]
fn assert_restored(tmux: &Tmux) {
    tmux.until("the normal screen", |_| !tmux.has_alternate_screen());
    tmux.enters("stty -a | grep -o ' icanon\\| echo ' | tr -d ' \\n'; echo ,re''stored");
    tmux.until("restored", |screen| screen.contains("icanonecho,restored"));
}

#[test]
fn apply_is_reviewed_and_approved() {
    let project = project();
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    tmux.enters("wardian apply -review -var release=v2");
    tmux.shows("1 replace");
    tmux.shows("random_pet.name");
    tmux.shows("# forces");
    assert!(tmux.has_alternate_screen());
    tmux.resize(60, 20);
    tmux.shows("?: help");
    tmux.resize(20, 5);
    tmux.until("a small screen", |screen| screen.lines().next().is_some_and(|line| line.contains("replace")));
    tmux.resize(10, 2);
    tmux.shows("Enlarge");
    tmux.resize(100, 30);
    tmux.shows("# forces");
    tmux.types("?");
    tmux.shows("Show these keys");
    tmux.press(&["Escape"]);
    tmux.types("g");
    tmux.shows("column 1 of 2");
    tmux.press(&["Right"]);
    tmux.shows("column 2 of 2");
    tmux.press(&["Escape"]);
    tmux.types("ano");
    tmux.press(&["Enter"]);
    tmux.shows("nothing was approved");
    tmux.types("ayes");
    tmux.press(&["Enter"]);
    tmux.shows("Apply complete!");
    assert_restored(&tmux);
    assert!(project.read("terraform.tfstate").contains("v2"));
}

#[test]
fn apply_that_is_not_approved_changes_nothing() {
    let project = project();
    let before = project.read("terraform.tfstate");
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    tmux.enters("wardian apply -review -var release=v2; echo code=$?");
    tmux.shows("1 replace");
    tmux.types("q");
    tmux.shows("code=1");
    assert_restored(&tmux);
    assert_eq!(project.read("terraform.tfstate"), before);
    assert!(project.run("plan").success().out.contains("No changes"));
}

#[test]
fn plan_is_saved_only_if_it_is_approved() {
    let project = project();
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    tmux.enters("wardian plan -review -var release=v2; echo code=$?");
    tmux.shows("1 replace");
    tmux.types("a");
    tmux.shows("Nothing can be approved");
    tmux.types("q");
    tmux.shows("code=0");
    tmux.enters("clear; wardian plan -review -var release=v2 -out=plan; echo code=$?");
    tmux.shows("1 replace");
    tmux.types("q");
    tmux.shows("code=1");
    assert!(!project.has("plan"));
    tmux.enters("clear; wardian plan -review -var release=v2 -out=plan; echo code=$?");
    tmux.shows("1 replace");
    tmux.types("ayes");
    tmux.press(&["Enter"]);
    tmux.shows("code=0");
    assert!(project.has("plan"));
    tmux.enters("clear; NO_COLOR=1 wardian show -review plan; echo code=$?");
    tmux.shows("1 replace");
    tmux.types("q");
    tmux.shows("code=0");
    assert_restored(&tmux);
}

#[test]
fn signals_suspension_and_crashes_restore_the_terminal() {
    let project = project();
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    tmux.enters("wardian plan -review -var release=v2");
    tmux.shows("1 replace");
    tmux.press(&["C-z"]);
    tmux.shows("Stopped");
    assert_restored(&tmux);
    tmux.enters("clear; fg");
    tmux.shows("1 replace");
    tmux.press(&["C-c"]);
    assert_restored(&tmux);
    // The shell's job writes the process ID, with which the signal is sent.
    tmux.enters("clear; sh -c 'echo $$ > pid; exec wardian plan -review -var release=v2'");
    tmux.until("the view", |_| tmux.has_alternate_screen());
    tmux.shows("1 replace");
    let status = Command::new("kill").arg("-TERM").arg(project.read("pid").trim()).status();
    assert!(status.unwrap().success());
    tmux.shows("Error: Interrupted");
    assert_restored(&tmux);
    tmux.enters("clear; wardian crash -place=view; echo code=$?");
    tmux.shows("code=11");
    assert_restored(&tmux);
}

#[test]
fn editor_opens_the_source_line() {
    let project = project();
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    project.write("editor", "#!/bin/sh\necho \"$@\" > edited\n");
    tmux.enters("chmod +x editor; EDITOR=./editor wardian plan -review -var release=v2");
    tmux.shows("main.tf:6");
    tmux.types("s");
    tmux.until("the editor's arguments", |_| project.read("edited") == "+6 ./main.tf\n");
    tmux.shows("1 replace");
    tmux.types("q");
    assert_restored(&tmux);
    project.write("edited", "");
    tmux.enters("clear; EDITOR=./editor wardian plan -review -untrusted -var release=v2");
    tmux.shows("1 replace");
    tmux.types("s");
    tmux.shows("No editor is started");
    tmux.types("q");
    assert_restored(&tmux);
    // The saved plan is not trusted either.
    project.run("plan -untrusted -var release=v2 -out=untrusted").success();
    tmux.enters("clear; EDITOR=./editor wardian show -review untrusted");
    tmux.shows("1 replace");
    tmux.shows("main.tf:6");
    tmux.types("s");
    tmux.shows("No editor is started");
    tmux.types("q");
    assert_restored(&tmux);
    assert_eq!(project.read("edited"), "");
}

#[test]
fn view_requires_a_terminal() {
    let project = project();
    for line in ["plan -review", "apply -review", "show -review plan"] {
        let seen = project.run(line);
        assert_eq!(seen.code, Some(1), "{}", seen.text());
        assert!(
            seen.errors.contains("No terminal for -review") && seen.errors.contains("-summary"),
            "{}",
            seen.errors
        );
    }
    for line in ["plan -review -json", "apply -review -json", "apply -review -auto-approve"] {
        assert!(project.run(line).text().contains("cannot be combined"), "{line}");
    }
}

#[test]
fn right_to_left_and_wide_text_is_aligned_on_a_terminal() {
    let project = Project::new(&[("p.json", &wardian_review::testing::wide_plan())]);
    let Some(tmux) = shell(&project, (120, 24)) else { return };
    tmux.enters("wardian show -review p.json");
    let mut selected = 0;
    for text in wardian_review::testing::WIDE_TEXTS {
        selected += 1;
        tmux.shows(&format!(" {selected}/6 "));
        let screen = tmux.screen().replace(['\u{2068}', '\u{2069}'], "");
        // For tmux, a flag with a rainbow is one column wide; the view fills the second one.
        let screen = screen.replace("🏳️‍🌈 ", "🏳️‍🌈");
        assert!(screen.contains(text), "{text}\n{screen}");
        // The line between the list and the details is straight.
        for line in screen.lines().skip(1).take(22) {
            let before = line.split_once('│').map(|(before, _)| before);
            assert_eq!(before.map(unicode_width::UnicodeWidthStr::width), Some(60), "{line}\n{screen}");
        }
        tmux.types("j");
    }
    tmux.resize(20, 5);
    tmux.until("a small screen", |screen| screen.lines().any(|line| line.starts_with('>')));
    tmux.types("q");
    assert_restored(&tmux);
}

#[test]
fn damaged_plans_are_rejected_before_the_view() {
    let project = project();
    project.run("plan -out=p -var release=v2").success();
    let whole = std::fs::read(project.path("p")).unwrap();
    project.write("cut", &whole[..whole.len() / 2]);
    project.write("version.json", "{\"format_version\":\"9.0\",\"resource_changes\":[]}");
    let Some(tmux) = shell(&project, (80, 24)) else { return };
    for (file, message) in [("cut", "Saved plan cannot be used"), ("version.json", "version is \"9.0\"")] {
        tmux.enters(&format!("clear; wardian show -review {file}; echo code=$?"));
        tmux.shows("code=1");
        tmux.shows(message);
        assert_restored(&tmux);
    }
}
