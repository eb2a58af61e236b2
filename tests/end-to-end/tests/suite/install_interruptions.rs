//! Installations that are interrupted, killed, run out of space, or run at the same time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use wardian_end_to_end::platform;
use wardian_registry_server::{Fault, FaultRule, PackageContent, ServerDescription};

use crate::install_setup::{Installation, output_within, private_directory, requiring, usual_content};

const LIMIT: Duration = Duration::from_mins(2);
const PACKAGE: &str = "/releases/*.zip";

fn padded(bytes: u64) -> ServerDescription {
    let mut content = usual_content();
    content.providers[0].versions.truncate(1);
    content.providers[0].versions[0].package = PackageContent::Padded(bytes);
    content
}

fn project(content: ServerDescription) -> Installation {
    Installation::new(content, &[("main.tf", &requiring(&[("fake", "example.test/acme/fake", "1.0.0")]))])
}

/// Returns whether a path belongs to a package, and not to a package's signature.
pub(crate) fn is_package(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "zip")
}

/// Starts `init` and waits until it has requested the package.
fn start_download(installation: &Installation) -> Child {
    let mut command = installation.command("init");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    let is_requested = || {
        let requests = installation.server.requests();
        requests.iter().any(|request| request.method == "GET" && is_package(&request.path))
    };
    while !is_requested() {
        assert!(started.elapsed() < LIMIT, "the package was not requested");
        sleep(Duration::from_millis(5));
    }
    child
}

/// Asserts that nothing is installed or locked.
fn assert_nothing_is_installed(installation: &Installation) {
    let directory = installation.project.path(".terraform/providers/example.test");
    assert!(!directory.exists(), "{} exists", directory.display());
    assert!(!installation.project.has(".terraform.lock.hcl"));
}

#[test]
fn killed_download_leaves_nothing_installed() {
    let installation = project(padded(2_000_000));
    installation.server.add_fault(FaultRule::new(PACKAGE, Fault::StallAfter(1_000_000)));
    let mut child = start_download(&installation);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_installed(&installation);
    installation.server.remove_faults();
    installation.run("init").success();
    let file = format!(".terraform/providers/example.test/acme/fake/1.0.0/{}/padding", platform());
    assert_eq!(fs::metadata(installation.project.path(&file)).unwrap().len(), 2_000_000);
    let left: Vec<_> = parts(&installation.project.path(".terraform"));
    assert!(left.is_empty(), "{left:?}");
}

/// Returns partial files.
fn parts(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(parts(&entry.path()));
        } else if name.contains(".part") || name.contains(".tmp") {
            found.push(name);
        }
    }
    found
}

#[test]
fn interrupted_download_ends_promptly() {
    let installation = project(padded(2_000_000));
    installation.server.add_fault(FaultRule::new(PACKAGE, Fault::StallAfter(1_000_000)));
    let mut child = start_download(&installation);
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(id, Signal::INT).unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            let _ = child.wait();
            panic!("`init` runs on after an interruption");
        }
        sleep(Duration::from_millis(10));
    };
    assert!(!status.success());
    assert_nothing_is_installed(&installation);
    installation.server.remove_faults();
    installation.run("init").success();
}

#[test]
fn full_disk_is_reported() {
    let installation = project(padded(3_000_000));
    // Writes beyond the limit of a process fail like writes to a full disk.
    let program = installation.command("init");
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(installation.project.path(""));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = output_within(command, "", LIMIT).expect("`init` ends");
    assert_eq!(output.code, Some(1), "{}", output.errors);
    let errors = output.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(errors.contains("acme/fake"), "{errors}");
    assert!(errors.contains("too large") || errors.contains("space"), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
    assert_nothing_is_installed(&installation);
    installation.run("init").success();
}

#[test]
fn small_file_system_is_reported() {
    let installation = project(padded(3_000_000));
    let directory = installation.project.path(".terraform");
    fs::create_dir_all(&directory).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&directory).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: a small file system cannot be mounted without permissions");
        return;
    }
    let seen = installation.run("init");
    let directory_is_empty = !directory.join("providers/example.test").exists();
    let unmounted = Command::new("umount").arg(&directory).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    let seen = seen.ended_with(1);
    let errors = seen.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(errors.contains("acme/fake") && errors.contains("No space left on device"), "{}", seen.text());
    assert!(directory_is_empty);
    installation.run("init").success();
}

#[test]
fn concurrent_inits_in_one_directory_install_the_same_files() {
    let installation = project(padded(1_000_000));
    let children: Vec<Child> = (0..4)
        .map(|_| {
            let mut command = installation.command("init");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
    installation.requests();
    installation.run("init").success();
    assert_eq!(installation.requests(), Vec::<String>::new());
}

#[test]
fn concurrent_inits_share_one_plugin_cache() {
    let installation = project(padded(1_000_000));
    let cache = private_directory();
    for number in 0..4 {
        installation.project.write(&format!("p{number}/main.tf"), installation.project.read("main.tf"));
    }
    let children: Vec<Child> = (0..4)
        .map(|number| {
            let mut command = installation.command(&format!("-chdir=p{number} init"));
            command.env("TF_PLUGIN_CACHE_DIR", cache.path());
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
    let lock = installation.project.read("p0/.terraform.lock.hcl");
    for number in 1..4 {
        assert_eq!(installation.project.read(&format!("p{number}/.terraform.lock.hcl")), lock);
    }
    let entry = cache.path().join(format!("example.test/acme/fake/1.0.0/{}/padding", platform()));
    assert_eq!(fs::metadata(entry).unwrap().len(), 1_000_000);
    let left = parts(cache.path());
    assert!(left.is_empty(), "{left:?}");
}

/// The size of the package, in MB. The performance target is defined for 700 MB.
const MEGABYTES: &str = "WARDIAN_INSTALL_MEGABYTES";
/// The limit of the benchmark, which runs a release build, is 60 MB. The code of a test build is larger.
const MAX_MEMORY_KILOBYTES: u64 = 75_000;

#[cfg(target_os = "linux")]
#[test]
fn memory_use_does_not_depend_on_package_size() {
    let megabytes = std::env::var(MEGABYTES).ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let installation = project(padded(megabytes * 1_000_000));
    let mut command = installation.command("init");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    let started = Instant::now();
    let status = loop {
        peak = peak.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < Duration::from_mins(10), "`init` runs for too long");
        sleep(Duration::from_millis(2));
    };
    assert!(status.success());
    assert!(peak > 0 && peak <= MAX_MEMORY_KILOBYTES, "{peak} kB for a package of {megabytes} MB");
}

/// Returns the peak memory of a process in kB.
#[cfg(target_os = "linux")]
fn peak_memory(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}
