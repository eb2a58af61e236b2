use super::*;
use crate::product::Product;

#[test]
#[cfg(unix)]
fn option_values_may_be_invalid_utf_8() {
    use std::os::unix::ffi::OsStringExt as _;
    let given = vec!["plan".into(), OsString::from_vec(b"-out=p\xe9".to_vec())];
    match parse(given, &ProcessEnvironment::default()).unwrap() {
        Request::Run(line) => match line.command {
            Command::Plan(plan) => assert_eq!(plan.out.unwrap().into_os_string().into_vec(), b"p\xe9"),
            other => panic!("{other:?}"),
        },
        Request::Help(page, _) => panic!("{page:?}"),
    }
    let given = vec!["plan".into(), OsString::from_vec(b"-var=a=\xe9".to_vec())];
    assert_eq!(parse(given, &ProcessEnvironment::default()).unwrap_err().summary, "Invalid command line");
}

#[test]
fn state_subcommands_have_aliases() {
    assert_eq!(normalized(&["state", "ls"]), "state|list");
    assert_eq!(normalized(&["state", "move", "a.b", "a.c"]), "state|mv|a.b|a.c");
    assert_eq!(normalized(&["state", "remove", "a.b"]), "state|rm|a.b");
}

#[test]
fn invalid_argument_from_the_environment_names_its_variable() {
    let refused = |text: &str| {
        let variables = environment(&[("TF_CLI_ARGS_plan", text)]);
        let usage = parse(vec!["plan".into()], &variables).unwrap_err();
        assert!(
            usage.detail.ends_with("The environment variable TF_CLI_ARGS_plan contains this argument."),
            "{usage:?}"
        );
    };
    refused("-bogus");
    refused("-lock=maybe");
    refused("-parallelism=x");
    refused("-out");
}

#[test]
fn init_accepts_options_without_effect() {
    let Command::Init(init) =
        parsed(&["init", "-var=a=1", "-var-file", "absent", "-target=a..b", "-json", "-test-directory=t"])
    else {
        panic!("not init");
    };
    assert!(init.json);
    assert!(
        refused(&["init", "-json", "-migrate-state"]).starts_with("The -migrate-state and -json options")
    );
}

fn environment(variables: &[(&str, &str)]) -> ProcessEnvironment {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn normalized_with(line: &[&str], variables: &[(&str, &str)]) -> Result<String, Usage> {
    let mut root = CommandLine::command();
    root.build();
    let given = line.iter().map(OsString::from).collect();
    let normalized = normalize::normalize(&root, given, &environment(variables))?;
    let arguments: Vec<_> = normalized.arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    Ok(arguments.join("|"))
}

fn normalized(line: &[&str]) -> String {
    normalized_with(line, &[]).unwrap()
}

fn parsed(line: &[&str]) -> Command {
    match parse(line.iter().map(OsString::from).collect(), &ProcessEnvironment::default()).unwrap() {
        Request::Run(line) => line.command,
        Request::Help(page, _) => panic!("{page:?}"),
    }
}

fn refused(line: &[&str]) -> String {
    match parse(line.iter().map(OsString::from).collect(), &ProcessEnvironment::default()) {
        Err(usage) => format!("{}: {}", usage.summary, usage.detail),
        Ok(request) => panic!("{request:?}"),
    }
}

#[test]
fn command_definitions_pass_clap_checks() {
    CommandLine::command().debug_assert();
}

#[test]
fn single_dash_options_become_double_dash() {
    assert_eq!(normalized(&["apply", "-auto-approve"]), "apply|--auto-approve");
    assert_eq!(normalized(&["apply", "--auto-approve"]), "apply|--auto-approve");
    assert_eq!(normalized(&["-chdir=x", "plan", "-out=p"]), "--chdir=x|plan|--out=p");
    assert_eq!(normalized(&["state", "list", "-id", "x"]), "state|list|--id=x");
    assert_eq!(normalized(&["init", "-cloud=false"]), "init|--backend=false");
}

#[test]
fn switch_values_are_parsed_like_go_booleans() {
    assert_eq!(normalized(&["apply", "-auto-approve=1"]), "apply|--auto-approve");
    assert_eq!(normalized(&["apply", "-auto-approve", "-auto-approve=false"]), "apply");
    assert_eq!(normalized(&["plan", "-lock", "-input=F"]), "plan|--lock=true|--input=false");
}

#[test]
fn option_values_are_left_unchanged() {
    assert_eq!(normalized(&["plan", "-var", "-out=x"]), "plan|--var=-out=x");
    assert_eq!(normalized(&["plan", "-var=a=b=c"]), "plan|--var=a=b=c");
    assert_eq!(normalized(&["apply", "-backup", "-"]), "apply|--backup=-");
    assert_eq!(normalized(&["output", "-"]), "output|-");
    assert_eq!(normalized(&["output", "--", "-json"]), "output|--|-json");
}

#[test]
fn environment_arguments_follow_the_command() {
    let variables = [("TF_CLI_ARGS", "-no-color"), ("TF_CLI_ARGS_plan", "-var 'a=b c'")];
    assert_eq!(
        normalized_with(&["plan", "-lock=false"], &variables).unwrap(),
        "plan|--var=a=b c|--no-color|--lock=false"
    );
    assert_eq!(normalized_with(&["state", "list"], &variables).unwrap(), "state|list|--no-color");
    assert!(normalized_with(&["plan"], &[("TF_CLI_ARGS", "'")]).is_err());
}

#[test]
fn variable_options_keep_their_order() {
    let Command::Plan(plan) = parsed(&["plan", "-var", "a=1", "-var-file=f", "-var=b=2"]) else {
        panic!("not a plan");
    };
    assert_eq!(
        plan.planning.scope.variables.0,
        [
            VariableArgument::Text("a=1".into()),
            VariableArgument::File("f".into()),
            VariableArgument::Text("b=2".into())
        ]
    );
}

#[test]
fn command_with_subcommands_runs_without_subcommand() {
    let variables = [("TF_CLI_ARGS_providers", "-no-color")];
    assert_eq!(normalized_with(&["providers"], &variables).unwrap(), "providers|--no-color");
    let line = normalized_with(&["providers", "schema", "-json"], &variables).unwrap();
    assert_eq!(line, "providers|schema|--json");
    assert!(matches!(parsed(&["providers"]), Command::Providers(ProvidersArguments { command: None, .. })));
    assert!(refused(&["providers", "schema"]).starts_with("Option required"));
    assert!(refused(&["metadata", "functions"]).starts_with("Option required"));
}

#[test]
fn last_repeated_option_takes_precedence() {
    let Command::Plan(plan) = parsed(&["plan", "-parallelism=2", "-parallelism=3", "-lock=false", "-lock"])
    else {
        panic!("not a plan");
    };
    assert_eq!((plan.operation.parallelism, plan.lock.lock), (3, true));
}

#[test]
fn invalid_arguments_are_rejected_with_suggestion() {
    assert_eq!(refused(&["plna"]), "Unknown command: There is no command \"plna\". Did you mean \"plan\"?");
    assert_eq!(
        refused(&["plan", "-tarket=x"]),
        "Unknown option: There is no such option of \"plan\": -tarket. Did you mean -target?"
    );
    assert_eq!(
        refused(&["plan", "-chdir=x"]),
        "Unknown option: There is no such option of \"plan\": -chdir. -chdir is a global option, and belongs \
         before the command."
    );
    assert_eq!(
        refused(&["plan", "-auto-approve"]),
        "Unknown option: There is no such option of \"plan\": -auto-approve. The commands \"apply\" and \
         \"destroy\" have this option."
    );
    assert_eq!(
        refused(&["plan", "-lock=maybe"]),
        "Invalid value for -lock: \"maybe\" cannot be used: it must be true or false."
    );
    assert_eq!(
        refused(&["plan", "-parallelism=x"]),
        "Invalid value for -parallelism: \"x\" cannot be used: it must be a non-negative integer."
    );
    assert_eq!(
        refused(&["init", "-lockfile=x"]),
        "Invalid value for -lockfile: \"x\" cannot be used: the valid values are: readonly."
    );
    assert_eq!(refused(&["plan", "-out"]), "Value missing: The option -out needs a value: -out=VALUE.");
    assert!(refused(&["plan", "here"]).starts_with("Too many command line arguments: \"here\""));
    assert!(refused(&["state", "show"]).starts_with("Argument missing"));
}

#[test]
fn unsupported_options_are_rejected() {
    assert!(
        refused(&["plan", "-allow-deferral"]).contains("-allow-deferral of \"plan\" is not available yet")
    );
}

#[test]
fn conflicting_options_are_rejected() {
    assert!(refused(&["plan", "-destroy", "-refresh-only"]).starts_with("Incompatible options"));
    assert!(refused(&["output", "-json", "-raw", "x"]).starts_with("Incompatible options"));
    assert!(refused(&["output", "-raw"]).starts_with("Output name required"));
    assert!(refused(&["init", "-reconfigure", "-migrate-state"]).starts_with("Incompatible options"));
}

#[test]
fn help_is_parsed_as_help_request() {
    let help = |line: &[&str]| match parse(
        line.iter().map(OsString::from).collect(),
        &ProcessEnvironment::default(),
    ) {
        Ok(Request::Help(page, _)) => page.text(Product::Wardian, 80),
        other => panic!("{other:?}"),
    };
    assert!(help(&[]).starts_with("Usage: wardian [global options] <command>"));
    assert!(help(&["-help"]).contains("Main commands:"));
    assert_eq!(help(&["help"]), help(&["-help"]));
    let plan = help(&["plan", "-h"]);
    assert!(plan.contains("  -detailed-exitcode ") && !plan.contains("--"), "{plan}");
    assert_eq!(help(&["help", "plan"]), plan);
    assert_eq!(help(&["help", "state", "ls"]), help(&["state", "list", "-help"]));
    assert!(help(&["help", "environment"]).starts_with("Environment variables:"));
    assert!(refused(&["help", "plna"]).contains("Did you mean \"plan\"?"));
    assert!(help(&["state"]).contains("Subcommands:"));
    assert!(matches!(parsed(&["-version"]), Command::Version(_)));
}
