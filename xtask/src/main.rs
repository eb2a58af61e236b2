//! The project's own commands: `cargo xtask demo | test | bench | interop | build | guests`.
//!
//! xtask starts programs (cargo, rustup, `wardian`, `terraform`) and checks their results. Of
//! the project's crates, xtask depends only on `wardian-digest`, and therefore compiles in seconds on a new
//! machine.

mod author;
mod authors_bench;
mod backend_bench;
mod bench;
mod bench_table;
mod bridge_bench;
mod browser;
mod comparison;
mod confinement_bench;
mod demo;
mod engine_bench;
mod file_access;
mod guests;
mod host;
mod hostile;
mod install_bench;
mod interop;
mod language_bench;
mod limits;
mod measure;
mod mirror_settings;
mod oracle;
mod policy_bench;
mod process;
mod process_stats;
mod progress;
mod provisioner_bench;
mod release;
mod review_page_bench;
mod review_plans;
mod review_view_bench;
mod simulation;
mod terms;
mod test;
mod test_bench;
mod toolchain;
mod workspace;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::host::Selection;
use crate::toolchain::Source;
use crate::workspace::{Purpose, Workspace};

const ALL_PURPOSES: [Purpose; 2] = [Purpose::Embedded, Purpose::Test];

const HELP: &str = "\
Usage: cargo xtask <command>

Commands:
  demo      build Wardian, then plan, apply, change and destroy tests/demo with it
  test      build Wardian, then run every test of the workspace
  hostile   build Wardian, then attack it with hostile components, configurations and files
  interop   build Wardian, then test it with a real peer: `interop aws`,
            `interop install`, `interop languages`, `interop native`, `interop review`,
            `interop ssh`, `interop terraform`, `interop test-modules` or
            `interop wrappers`;
            or compare configurations
            under Terraform and Wardian:
            `interop compare DIRECTORY...`
  bench     build Wardian, then measure it, and `terraform` if it is on PATH
  build     build the plugins, then the `wardian` binary that embeds them
  guests    build the plugins alone
  limits    build Wardian, then print size, start-up time and number of dependencies,
            and fail if one exceeds its limit
  release   build, pack and test the archive of a release for one target
  words     fail if a rejected synonym of docs/glossary.md occurs in code or text
  names     list public type names that are defined twice
  file-access  fail if code of the host opens files without wardian-files

Options:
  --toolchain <auto|installed|rustup|debian>
            the source of the standard library for wasm32-wasip2 (default: auto,
            the first of these that works)

  test [arguments]      passed to `cargo test --workspace`
  hostile --only <TEXT>   attacks with this text in their names
  hostile --binary <PATH> attack another binary; with --record, its results are recorded
            as those of the version before the defences; with --costs, compare what attacks cost
  hostile --components-for <MINUTES>   test random components
  hostile files --steps <N>   random file operations of two plugins instead (default: 10000000)
  hostile records --kills <N> ends of applies at random moments after recorded states (default: 300)
  hostile native          attacks of a native plugin, with all attempts
  interop wrappers --only <TEXT>   tools with this text in their names
  interop wrappers --binary <PATH> run this binary instead of building one
  interop test-modules --only <TEXT>   modules with this text in their names
  interop test-modules --binary <PATH> run this binary instead of building one
  interop languages --only <NAMES>  languages, separated by commas: rust, go, js, python
  interop languages --binary <PATH> run this binary instead of building one
  interop languages --bindings      only write the bindings of the SDKs
  interop native --only <TEXT>      rows with this text in their names
  interop native --seconds <N>      the time that a connection stays open
  interop native --binary <PATH>    run this binary instead of building one
  interop compare --binary <PATH>   compare another binary, without building Wardian
  interop compare --apply           also apply, and plan again
  interop compare --fill            also set variables whose default is null or empty
  interop compare --mock <ADDRESS>  a mock provider instead of an installed provider, or `all`
  interop compare --schemas <FILE>  schemas of mock providers, as `terraform providers schema -json`
                                    prints them, instead of derived schemas
  interop compare --report <FILE>   also write one JSON document for each directory
  bench --runs <N>      whole-process runs per measurement (default: 20)
  bench --check         exit 1 if a figure misses its target
  bench --only <NAMES>  sections of the benchmark, separated by commas
  release --target <TRIPLE>   default: this machine's
  release --profile <NAME>    default: release
";

/// The parsed command line.
struct Request {
    command: String,
    toolchain: Source,
    rest: Vec<String>,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(code) => code,
        Err(error) => {
            progress::say(&format!("\nerror: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<ExitCode> {
    let request = parse(arguments)?;
    match request.command.as_str() {
        "demo" => {
            let workspace = Workspace::load()?;
            build_guests(&workspace, request.toolchain, &[Purpose::Embedded])?;
            host::build(&workspace, Selection::Program)?;
            demo::run(&workspace)?;
            Ok(ExitCode::SUCCESS)
        }
        "test" => {
            let (workspace, guests) = built(&request)?;
            guests::within_budget(&guests)?;
            test::run(&workspace, &request.rest)
        }
        "hostile" if request.rest.first().is_some_and(|first| first == "files") => {
            let operations = simulation::parse(request.rest.get(1..).unwrap_or_default())?;
            simulation::run(&Workspace::load()?, operations)
        }
        "hostile" if request.rest.first().is_some_and(|first| first == "records") => {
            let kills = simulation::parse_kills(request.rest.get(1..).unwrap_or_default())?;
            let workspace = Workspace::load()?;
            build_guests(&workspace, request.toolchain, &ALL_PURPOSES)?;
            host::build(&workspace, Selection::Workspace)?;
            simulation::run_kills(&workspace, kills)
        }
        "hostile" if request.rest == ["native"] => simulation::run_native(&Workspace::load()?),
        "hostile" => {
            let options = hostile::Options::parse(&request.rest)?;
            let workspace = Workspace::load()?;
            build_guests(&workspace, request.toolchain, &ALL_PURPOSES)?;
            if options.binary.is_none() || options.is_comparing_costs {
                host::build(&workspace, Selection::Workspace)?;
            }
            hostile::run(&workspace, &options)
        }
        "bench" => {
            let options = bench::Options::parse(&request.rest)?;
            let (workspace, guests) = built(&request)?;
            guests::within_budget(&guests)?;
            bench::run(&workspace, &guests, &options)
        }
        "interop" => {
            let peer = interop::Peer::parse(&request.rest)?;
            let workspace = if peer.needs_build() { built(&request)?.0 } else { Workspace::load()? };
            interop::run(&workspace, &peer)
        }
        "build" => {
            built(&request)?;
            Ok(ExitCode::SUCCESS)
        }
        "guests" => {
            let workspace = Workspace::load()?;
            build_guests(&workspace, request.toolchain, &ALL_PURPOSES)?;
            Ok(ExitCode::SUCCESS)
        }
        "limits" => {
            let (workspace, _) = built(&request)?;
            limits::run(&workspace)
        }
        "release" => {
            let options = release::Options::parse(&request.rest)?;
            let workspace = Workspace::load()?;
            build_guests(&workspace, request.toolchain, &[Purpose::Embedded])?;
            release::run(&workspace, &options)?;
            Ok(ExitCode::SUCCESS)
        }
        "words" => terms::check_words(&Workspace::load()?),
        "names" => terms::check_names(&Workspace::load()?),
        "file-access" => file_access::check(&Workspace::load()?),
        "help" | "-h" | "--help" => {
            progress::say(HELP);
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("unknown command `{other}`\n\n{HELP}"),
    }
}

/// Builds everything that `test` and `bench` need.
fn built(request: &Request) -> Result<(Workspace, Vec<guests::Artifact>)> {
    let workspace = Workspace::load()?;
    let guests = build_guests(&workspace, request.toolchain, &ALL_PURPOSES)?;
    host::build(&workspace, Selection::Workspace)?;
    Ok((workspace, guests))
}

fn build_guests(
    workspace: &Workspace,
    source: Source,
    purposes: &[Purpose],
) -> Result<Vec<guests::Artifact>> {
    let toolchain = toolchain::prepare(workspace, source)?;
    guests::build(workspace, &toolchain, purposes)
}

fn parse(arguments: Vec<String>) -> Result<Request> {
    let mut arguments = arguments.into_iter();
    let Some(command) = arguments.next() else {
        bail!("a command is missing\n\n{HELP}");
    };
    let mut toolchain = Source::Auto;
    let mut rest = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--toolchain" {
            let name = arguments.next().context("--toolchain needs a value")?;
            toolchain = Source::parse(&name)?;
        } else if let Some(name) = argument.strip_prefix("--toolchain=") {
            toolchain = Source::parse(name)?;
        } else {
            rest.push(argument);
        }
    }
    let takes_more = matches!(command.as_str(), "test" | "bench" | "hostile" | "interop" | "release");
    if let (false, Some(extra)) = (takes_more, rest.first()) {
        bail!("`{command}` does not accept `{extra}`\n\n{HELP}");
    }
    Ok(Request { command, toolchain, rest })
}
