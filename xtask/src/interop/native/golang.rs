//! The provider in Go. The compiler and the libraries are packages of Debian, and client-go is part of
//! the source of Debian's `kubernetes`; they are unpacked below `target/interop/native` and reused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::python::Python;
use crate::process;
use crate::progress::{elapsed, say};

/// The packages whose dependencies in Go are unpacked, too.
const PACKAGES: &[&str] = &[
    "golang-github-hashicorp-go-plugin-dev",
    "golang-github-vmihailenco-msgpack.v5-dev",
    "golang-go",
    "protoc-gen-go-1-5",
];
/// Time limit of one download or compilation.
const LIMIT: Duration = Duration::from_mins(10);
/// The package with the generated code of the protocol.
const PROTOCOL: &str = "interop/tfplugin";

/// The executables, each with the reason if it could not be built.
pub(super) struct GoPlugins {
    pub(super) without_c_library: Result<PathBuf, String>,
    pub(super) with_glibc: Result<PathBuf, String>,
    pub(super) with_musl: Result<PathBuf, String>,
}

/// Builds the provider with each C library. Returns the reason if the packages cannot be obtained.
pub(super) fn install(
    target: &Path,
    sources: &Path,
    protocol: &Path,
    python: &Python,
) -> Result<Result<GoPlugins, String>> {
    let directory = target.join("go");
    fs::create_dir_all(&directory)?;
    let debian = match once(&directory, "debian", unpack_packages) {
        Ok(debian) => debian,
        Err(error) => return Ok(Err(format!("Debian's packages of Go cannot be obtained: {error:#}"))),
    };
    let kubernetes = match once(&directory, "kubernetes", unpack_kubernetes) {
        Ok(kubernetes) => kubernetes,
        Err(error) => {
            return Ok(Err(format!("the source of Debian's kubernetes cannot be obtained: {error:#}")));
        }
    };
    let own = directory.join("own");
    if own.exists() {
        fs::remove_dir_all(&own)?;
    }
    let generated = own.join("src").join(PROTOCOL);
    fs::create_dir_all(&generated)?;
    symlink(sources.join("go"), own.join("src/interop/peers"))?;
    let mut compiler = python.protocol_compiler(protocol);
    compiler
        .arg(format!("--plugin=protoc-gen-go={}", debian.join("usr/bin/protoc-gen-go").display()))
        .arg(format!(
            "--go_out=plugins=grpc,paths=source_relative,Mcommon.proto={PROTOCOL},Mtfplugin6.proto={PROTOCOL}:{}",
            generated.display()
        ));
    process::output(compiler.args(["common.proto", "tfplugin6.proto"]))?;
    let search_path =
        std::env::join_paths([own, kubernetes.join("libraries"), debian.join("usr/share/gocode")])?;
    let build = |name: &str, cgo: &[(&str, &str)], options: &[&str]| -> Result<PathBuf> {
        let file = directory.join(format!("peers-{name}"));
        let started = std::time::Instant::now();
        let mut command = Command::new(debian.join("usr/lib/go/bin/go"));
        command.arg("build").args(options).arg("-o").arg(&file).arg("interop/peers").current_dir(&directory);
        command
            .env("GOROOT", debian.join("usr/lib/go"))
            .env("GOPATH", &search_path)
            .env("GOCACHE", directory.join("cache"))
            .env("GO111MODULE", "off")
            .env_remove("GOFLAGS")
            .envs(cgo.iter().copied());
        let log = directory.join(format!("{name}.log"));
        if log.exists() {
            fs::remove_file(&log)?;
        }
        let status = process::logged_within(&mut command, &log, LIMIT)?;
        ensure!(status.success(), "`{}` ended with {status}, see {}", process::line(&command), log.display());
        if started.elapsed() > Duration::from_secs(5) {
            say(&format!("built the provider in Go ({name}), {}", elapsed(started.elapsed())));
        }
        Ok(file)
    };
    let resolver = ["-tags", "netcgo,osusergo"];
    let with_glibc = match ["gcc", "cc"].into_iter().find_map(process::on_path) {
        Some(_) => Ok(build("glibc", &[("CGO_ENABLED", "1")], &resolver)?),
        None => Err("there is no C compiler".to_owned()),
    };
    let with_musl = match process::on_path("musl-gcc") {
        Some(_) => {
            let linked = ["-ldflags", "-linkmode external -extldflags -static"];
            let compiler = [("CGO_ENABLED", "1"), ("CC", "musl-gcc")];
            Ok(build("musl", &compiler, &[&resolver[..], &linked].concat())?)
        }
        None => Err("`musl-gcc` is not on PATH (Debian's musl-tools)".to_owned()),
    };
    let without_c_library = Ok(build("static", &[("CGO_ENABLED", "0")], &[])?);
    Ok(Ok(GoPlugins { without_c_library, with_glibc, with_musl }))
}

/// Fills a directory, unless a previous run did.
fn once(parent: &Path, name: &str, fill: fn(&Path) -> Result<()>) -> Result<PathBuf> {
    let (directory, marker) = (parent.join(name), parent.join(format!("{name}.complete")));
    if !marker.is_file() {
        say(&format!("installing {name} in {}", directory.display()));
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)?;
        fill(&directory)?;
        fs::write(&marker, "")?;
    }
    Ok(directory)
}

/// Downloads the packages and unpacks them, without installing them on the machine.
fn unpack_packages(directory: &Path) -> Result<()> {
    let mut dependencies = Command::new("apt-cache");
    dependencies.args(["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"]);
    dependencies.args(["--no-breaks", "--no-replaces", "--no-enhances"]).args(PACKAGES);
    let found = process::output(&mut dependencies)?;
    // The lines of packages are not indented. Other packages are not needed to compile.
    let is_needed = |line: &&str| line.starts_with("golang-") || PACKAGES.contains(line);
    let packages: Vec<&str> = found.lines().filter(is_needed).collect();
    for package in PACKAGES {
        ensure!(
            packages.contains(package),
            "there is no package {package}; is the list of packages up to date?"
        );
    }
    let downloads = directory.join("downloads");
    fs::create_dir(&downloads)?;
    run(Command::new("apt-get").args(["-q", "download"]).args(packages).current_dir(&downloads))?;
    for entry in fs::read_dir(&downloads)? {
        process::output(Command::new("dpkg-deb").arg("-x").arg(entry?.path()).arg(directory))?;
    }
    fs::remove_dir_all(&downloads)?;
    Ok(())
}

/// Downloads the source package, and unpacks client-go and the libraries that it uses. The directory
/// `libraries` is a search path of Go.
fn unpack_kubernetes(directory: &Path) -> Result<()> {
    let sources = directory.join("sources.list");
    fs::write(&sources, source_lists()?)?;
    let (lists, cache) = (directory.join("lists"), directory.join("cache"));
    for created in [&lists, &cache] {
        fs::create_dir(created)?;
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.arg("-q").current_dir(directory);
        for (option, value) in [("Etc::SourceList", &sources), ("State::Lists", &lists), ("Cache", &cache)] {
            command.arg("-o").arg(format!("Dir::{option}={}", value.display()));
        }
        command.args(["-o", "Dir::Etc::SourceParts=/dev/null"]);
        command
    };
    run(apt().arg("update"))?;
    run(apt().args(["source", "--download-only", "kubernetes"]))?;
    let archive = fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().contains(".orig.tar."))
        .context("the source package has no archive")?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&archive).args(["--strip-components=1", "--wildcards", "*/vendor", "*/staging"]);
    run(unpack.current_dir(directory))?;
    fs::remove_file(archive)?;
    fs::create_dir(directory.join("libraries"))?;
    symlink("../vendor", directory.join("libraries/src"))?;
    Ok(())
}

/// Returns the machine's lists of packages, as lists of source packages in the format of one line.
fn source_lists() -> Result<String> {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten();
    let parts = parts.filter_map(|entry| Some(entry.ok()?.path()));
    let mut lines = Vec::new();
    for file in parts.chain([PathBuf::from("/etc/apt/sources.list")]) {
        let Ok(content) = fs::read_to_string(&file) else { continue };
        if file.extension().is_some_and(|extension| extension == "sources") {
            lines.extend(content.split("\n\n").filter_map(source_lines).flatten());
        } else {
            let binary = content.lines().filter_map(|line| line.strip_prefix("deb "));
            lines.extend(binary.filter(|line| line.contains("debian")).map(|line| format!("deb-src {line}")));
        }
    }
    if lines.is_empty() {
        bail!("there are no lists of Debian's packages");
    }
    Ok(lines.join("\n") + "\n")
}

/// Converts a paragraph of a list to lines, if it is one of Debian's.
fn source_lines(paragraph: &str) -> Option<Vec<String>> {
    let field = |name: &str| {
        let mut values = paragraph.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.next().map(str::trim)
    };
    let (addresses, suites, components) = (field("URIs")?, field("Suites")?, field("Components")?);
    let options = field("Signed-By").map(|keys| format!("[signed-by={keys}] ")).unwrap_or_default();
    let address = addresses.split_whitespace().next().filter(|address| address.contains("debian"))?;
    let line = |suite| format!("deb-src {options}{address} {suite} {components}");
    Some(suites.split_whitespace().map(line).collect())
}

fn run(command: &mut Command) -> Result<()> {
    process::output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_source_packages_are_derived() {
        let paragraph = "Types: deb\n# a comment\nURIs: http://mirror.example/debian\nSuites: a a-updates\nComponents: \
                         main\nSigned-By: /keys.gpg";
        let expected = ["a", "a-updates"]
            .map(|suite| format!("deb-src [signed-by=/keys.gpg] http://mirror.example/debian {suite} main"));
        assert_eq!(source_lines(paragraph).unwrap(), expected);
        assert_eq!(
            source_lines("Types: deb\nURIs: http://mirror.example/node\nSuites: a\nComponents: main"),
            None
        );
    }
}
