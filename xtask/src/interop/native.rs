//! Runs unmodified native providers under `native = "confine"`, against servers on this machine.
//!
//! | provider | library | result |
//! |---|---|---|
//! | Python (`tests/interop/native/provider.py`) | gRPC and Kubernetes' Python client, from PyPI | namespaces of a Kubernetes API server are created, planned again and deleted, with a client certificate and with an exec credential program that opens a connection of its own; connections stay open, and gRPC sends keep-alive pings |
//! | Go (`tests/interop/native/go`) | go-plugin, and client-go from the source of Debian's `kubernetes` | the same namespaces; names and addresses, without a C library, with glibc and with musl |
//! | curl | | one request over HTTP/2, before the program exits without a handshake |
//!
//! Each row runs once for each account: as root, if root runs this command, and as an unprivileged user.

mod accounts;
mod connections;
mod golang;
mod kubernetes;
mod libraries;
mod project;
mod python;
mod servers;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context as _, Result, bail};

use self::accounts::Account;
use self::golang::GoPlugins;
use self::project::{Plugin, Suite};
use self::python::Python;
use self::servers::Servers;
use self::table::{RowResult, Table};
use crate::process;
use crate::progress::say;
use crate::workspace::Workspace;

/// The arguments after `interop native`.
pub(crate) struct Options {
    /// The binary to run. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
    /// Selects the rows whose names contain this text.
    only: String,
    /// The time for which the long connection is open.
    seconds: u64,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { binary: None, only: String::new(), seconds: 60 };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => options.binary = Some(value()?.into()),
                "--only" => options.only.clone_from(value()?),
                "--seconds" => {
                    let seconds = value()?.parse().ok().filter(|seconds| (8..=14_400).contains(seconds));
                    options.seconds = seconds.context("--seconds needs a number from 8 to 14400")?;
                }
                other => bail!("`interop native` does not accept `{other}`"),
            }
        }
        Ok(options)
    }
}

/// The beginning of the names of the rows that need the provider in Go.
const GO: &str = "Go, ";

/// A row of the table: its name, and the function that determines the result for an account.
type Row<'a> = (String, Box<dyn Fn(&Account) -> Result<RowResult> + Sync + 'a>);

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let target = workspace.own_target().join("interop/native");
    let place = target.join("run");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    let sources = workspace.root.join("tests/interop/native");
    let protocol = workspace.root.join("legacy-grpc-bridge/proto");
    let python = match Python::install(&target, &sources, &protocol)? {
        Ok(python) => python,
        Err(reason) => {
            say(&format!("skipped: {reason}"));
            return Ok(ExitCode::SUCCESS);
        }
    };
    let binary = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    // A later build does not replace the copy.
    let wardian = place.join("wardian");
    fs::copy(&binary, &wardian).with_context(|| format!("could not copy {}", binary.display()))?;
    let suite = Suite::new(&place, &wardian, &python, Servers::start(&place, &sources, &python)?)?;
    if let Some(reason) = suite.missing_support()? {
        say(&format!("skipped: {reason}"));
        return Ok(ExitCode::SUCCESS);
    }
    let accounts = accounts::all(&place, &wardian, &python)?;
    let without_go = selected(&suite, Err(&"not installed".to_owned()), options)?;
    if without_go.is_empty() {
        bail!("no row has `{}` in its name", options.only);
    }
    let rows = if without_go.iter().any(|(name, _)| name.starts_with(GO)) {
        let go = golang::install(&target, &sources, &protocol, &python)?;
        selected(&suite, go.as_ref(), options)?
    } else {
        without_go
    };
    let mut table = Table::new(&accounts);
    // The long connections wait, so the other rows run at the same time.
    let (long, short): (Vec<_>, Vec<_>) = rows.iter().partition(|(name, _)| name.contains(connections::LONG));
    let evaluate = |rows: &[&Row<'_>], account: &Account| -> Vec<(String, RowResult)> {
        let evaluated = rows.iter().map(|(name, row)| {
            let result = row(account).unwrap_or_else(|error| RowResult::Fails(format!("{error:#}")));
            table::print(name, account, &result);
            (name.clone(), result)
        });
        evaluated.collect()
    };
    let results = thread::scope(|scope| -> Result<Vec<_>> {
        let evaluate = &evaluate;
        let waiting: Vec<_> = accounts
            .iter()
            .map(|account| {
                let long = &long;
                (account, scope.spawn(move || evaluate(long, account)))
            })
            .collect();
        let mut results: Vec<_> =
            accounts.iter().map(|account| (account, evaluate(&short, account))).collect();
        for (account, thread) in waiting {
            let evaluated = thread.join().map_err(|_| anyhow::anyhow!("the thread of a row panicked"))?;
            results.push((account, evaluated));
        }
        Ok(results)
    })?;
    for (account, results) in results {
        for (name, result) in results {
            table.add(&name, account, result);
        }
    }
    Ok(table.print_all())
}

/// Returns the rows that the user selected.
fn selected<'a>(
    suite: &'a Suite<'a>,
    go: Result<&GoPlugins, &String>,
    options: &Options,
) -> Result<Vec<Row<'a>>> {
    let rows = rows(suite, go, options.seconds)?.into_iter();
    Ok(rows.filter(|(name, _)| name.contains(&options.only)).collect())
}

fn rows<'a>(suite: &'a Suite<'a>, go: Result<&GoPlugins, &String>, seconds: u64) -> Result<Vec<Row<'a>>> {
    let python = suite.python_plugin()?;
    let mut rows = kubernetes::rows(suite, "Python", Ok(python.clone()), "v1");
    let plugin = |file: fn(&GoPlugins) -> &Result<PathBuf, String>, name: &str| -> Result<_> {
        let found = go.map_err(Clone::clone).and_then(|go| file(go).as_ref().map_err(Clone::clone));
        found.map_or_else(|reason| Ok(Err(reason)), |file| suite.plugin(name, file).map(Ok))
    };
    let without = plugin(|go| &go.without_c_library, "go")?;
    // The last version of client-go in Debian 12 does not support `v1`.
    rows.extend(kubernetes::rows(suite, "Go, client-go", without.clone(), "v1beta1"));
    rows.extend(libraries::rows(suite, "Go, no C library", without, libraries::Library::None));
    let glibc = plugin(|go| &go.with_glibc, "go-glibc")?;
    rows.extend(libraries::rows(suite, "Go, cgo with glibc", glibc, libraries::Library::Glibc));
    let musl = plugin(|go| &go.with_musl, "go-musl")?;
    rows.extend(libraries::rows(suite, "Go, cgo with musl, static", musl, libraries::Library::Musl));
    rows.extend(libraries::rows(suite, "Python, glibc", Ok(python.clone()), libraries::Library::Glibc));
    rows.extend(connections::rows(suite, python, curl(suite)?, seconds));
    Ok(rows)
}

fn curl(suite: &Suite<'_>) -> Result<Result<Plugin, String>> {
    let Some(curl) = process::on_path("curl") else { return Ok(Err("`curl` is not on PATH".to_owned())) };
    let version = process::output(std::process::Command::new(&curl).arg("--version"))?;
    if !version.contains("HTTP2") {
        return Ok(Err("`curl` does not support HTTP/2".to_owned()));
    }
    suite.plugin("curl", Path::new(&curl)).map(Ok)
}
