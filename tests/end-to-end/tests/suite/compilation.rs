//! The process that compiles components: its limits and its termination.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use wardian_end_to_end::{Project, test_guest, wasm};

const MAIN: &str = "terraform {\n  required_providers {\n    hostile = {\n      source = \"example.com/test/hostile\"\n    }\n  \
                    }\n}\n\nresource \"hostile_honest\" \"a\" {\n  input = \"x\"\n}\n";

/// Starts the compiler as the host does.
fn compiler(milliseconds: u32, memory: u64) -> Child {
    Command::new(wardian_end_to_end::binary())
        .args(["--compile-component-from-input", &milliseconds.to_string(), &memory.to_string()])
        .env_clear()
        .stdin(Stdio::piped())
        // As in the host: the memory limit counts committed memory.
        .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a part of the input: the component, or the functions that are already compiled.
fn send(child: &mut Child, part: &[u8]) {
    let input = child.stdin.as_mut().unwrap();
    input.write_all(&u64::try_from(part.len()).unwrap().to_le_bytes()).unwrap();
    input.write_all(part).unwrap();
}

/// Compiles a component, and returns its code and its functions, which are empty if they are the known ones.
fn compiled(component: &[u8], functions: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut child = compiler(60_000, 1 << 30);
    send(&mut child, component);
    send(&mut child, functions);
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    let (length, rest) = output.split_first_chunk().unwrap();
    let (code, functions) = rest.split_at(u64::from_le_bytes(*length).try_into().unwrap());
    (code.to_vec(), functions.to_vec())
}

fn project(component: &[u8]) -> Project {
    let project = Project::new(&[("main.tf", MAIN)]);
    project.write(
        "terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm",
        component,
    );
    project
}

/// Returns a text without line breaks and frames.
fn unwrapped(text: &str) -> String {
    text.split([' ', '\n', '│']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn compiled_code_is_written_to_the_output() {
    let component = wasm::empty_functions(10);
    let (code, functions) = compiled(&component, &[]);
    assert!(code.starts_with(b"\x7fELF"), "{} bytes", code.len());
    assert!(!functions.is_empty());
    assert_eq!(compiled(&component, &functions), (code, Vec::new()), "the code is the same");
}

#[test]
fn compiler_exits_when_its_host_exits() {
    let mut child = compiler(60_000, 1 << 30);
    // This component takes a while to compile.
    send(&mut child, &wasm::locals_in_each_loop(200, 10, 1_000));
    send(&mut child, &[]);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(message, "", "the input was complete");
}

#[test]
fn compilation_ends_at_its_time_limit() {
    let project = project(&wasm::locals_in_each_loop(400, 10, 1_000));
    project.write("wardian.policy.hcl", "plugin \"*\" {\n  limits {\n    compile_time = \"1s\"\n  }\n}\n");
    let seen = project.run("init").ended_with(1);
    assert!(
        unwrapped(&seen.text()).contains("compile_time limit, which wardian.policy.hcl:3 sets"),
        "{}",
        seen.text()
    );
}

#[test]
fn compilation_ends_at_its_memory_limit() {
    let project = project(&wasm::empty_functions(90_000));
    project
        .write("wardian.policy.hcl", "plugin \"*\" {\n  limits {\n    compile_memory = \"96 MiB\"\n  }\n}\n");
    let seen = project.run("init").ended_with(1);
    assert!(
        unwrapped(&seen.text()).contains("compile_memory limit, which wardian.policy.hcl:3 sets"),
        "{}",
        seen.text()
    );
}

#[test]
fn component_with_too_many_functions_is_rejected_by_each_command() {
    let project = project(&wasm::empty_functions(150_000));
    for line in [
        "init",
        "plugin inspect terraform.d/plugins/example.com/test/hostile/1.0.0/wasm32_wasip2/terraform-provider-hostile_v1.0.0.wasm",
    ] {
        let seen = project.run(line).ended_with(1);
        assert!(
            unwrapped(&seen.text()).contains("functions: 150000, and the limit is 100000"),
            "{}",
            seen.text()
        );
    }
}

#[test]
fn plugin_is_compiled_once() {
    let Some(guest) = test_guest("hostile") else { return };
    let project = project(&std::fs::read(guest).unwrap());
    // Other tests share a cache, and may have compiled the component.
    let cache = tempfile::tempdir().unwrap();
    let variables = [("WARDIAN_CACHE_DIR", cache.path().to_str().unwrap())];
    project.run_with("init", "", &variables).success();
    let written = || {
        let entries = std::fs::read_dir(cache.path().join("code")).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().modified().unwrap())).collect()
    };
    let initialized: BTreeMap<_, _> = written();
    assert!(!initialized.is_empty());
    project.run_with("plan", "", &variables).success();
    assert_eq!(written(), initialized, "a compilation writes its code");
}

#[test]
fn interrupt_ends_compilation() {
    // This component uses most of its time limit.
    let project = project(&wasm::locals_in_each_loop(2_000, 10, 1_000));
    let mut init = project.start("init");
    init.wait_for("Compiling");
    init.interrupt();
    let (status, seen) = init.finish(Duration::from_mins(1));
    assert_eq!(status.code(), Some(1), "{seen}");
    assert!(seen.contains("Interrupted"), "{seen}");
}
