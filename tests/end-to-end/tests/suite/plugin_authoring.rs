//! The commands for authors of plugins: a new project, its development, declarations, checks,
//! documentation, and core modules.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{Project, assert_seen_text, component_toolchain, test_guest};

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The directory of the SDK in this repository.
fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/sdk").canonicalize().unwrap_or_default()
}

/// Lists the files below a directory, sorted.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(one) = pending.pop() {
        for entry in std::fs::read_dir(&one).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if let Ok(relative) = path.strip_prefix(directory) {
                found.push(relative.display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// The languages of `plugin new`, each with the file that names its dependencies.
const LANGUAGES: [(&str, &str); 4] =
    [("rust", "Cargo.toml"), ("go", "go.mod"), ("js", "package.json"), ("python", "pyproject.toml")];

#[test]
fn plugin_new_creates_a_project_in_each_language() {
    for (language, manifest) in LANGUAGES {
        let project = Project::new(&[]);
        let created = project.run(&format!("plugin new acme/dns -language={language}")).success();
        let read = |file: &str| project.read(&format!("terraform-provider-dns/{file}"));
        let mut text = format!("{}\n----- {manifest}\n{}", created.text(), read(manifest));
        if language != "rust" {
            let _ = write!(text, "----- wardian.json\n{}", read("wardian.json"));
        }
        assert_seen_text!(format!("plugin_new_{language}"), text);
        // Each file that is printed exists, and no other file.
        let files = files(&project.path("terraform-provider-dns"));
        let printed: Vec<&str> = created.out.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(files, printed[..files.len()], "{language}");
        for file in [".github/workflows/ci.yml", ".github/workflows/release.yml", ".gitignore", "README.md"] {
            assert!(files.iter().any(|one| one == file), "{language}: {file}");
        }
        // The created configurations are valid and formatted.
        project.run("fmt -check -recursive terraform-provider-dns").success();
        project.run("policy check terraform-provider-dns/examples/basic/wardian.policy.hcl").success();
    }
}

#[test]
fn plugin_new_explains_why_a_project_cannot_be_created() {
    let project = Project::new(&[("taken/notes.txt", "keep"), ("file", "")]);
    let mut text = String::new();
    for line in [
        "plugin new dns taken",
        "plugin new dns file",
        "plugin new my-cloud",
        "plugin new Dns",
        "plugin new terraform",
        "plugin new dns -language=cobol",
        "plugin new dns -sdk-path=taken",
        "plugin new dns -language=python -sdk-path=taken",
    ] {
        let _ = writeln!(text, "{}", project.run(line).ended_with(1).text());
    }
    assert_seen_text!("plugin_new_errors", text);
    assert_eq!(files(&project.path("")), ["file", "taken/notes.txt"]);
}

#[test]
fn plugin_declare_adds_requests_to_a_component() {
    let project = Project::new(&[(
        "other.capabilities.json",
        "[\n  {\"environment\": {\"names\": [\"DNS_TOKEN\"], \"reason\": \"the API key\"}}\n]\n",
    )]);
    project.write("dns.wasm", COMPONENT);
    project.write("other.wasm", COMPONENT);
    let line = "plugin declare dns.wasm -network-host=api.example.com,*.example.org -network-method=GET \
        '-reason=manages zones'";
    let mut text = project.run(line).success().text();
    for (line, code) in [
        (line, 1),
        ("plugin declare other.wasm -out=declared.wasm", 0),
        ("plugin declare dns.wasm", 1),
        ("plugin declare dns.wasm -network-host=a.example", 1),
        ("plugin declare dns.wasm -network-method=GET -reason=x", 1),
        ("plugin declare dns.wasm '-network-host=a b' -reason=x", 1),
        ("plugin declare other.capabilities.json -environment-name=A -reason=x", 1),
        ("plugin declare missing.wasm -environment-name=A -reason=x", 1),
    ] {
        let _ = write!(text, "\n{}", project.run(line).ended_with(code).text());
    }
    assert_seen_text!("plugin_declare", text);
    assert_eq!(std::fs::read(project.path("other.wasm")).unwrap_or_default(), COMPONENT);
    let inspected = project.run("plugin inspect -json ./declared.wasm").success().out;
    assert!(inspected.contains("DNS_TOKEN"), "{inspected}");
}

#[test]
fn plugin_componentize_explains_why_a_file_cannot_be_converted() {
    let project = Project::new(&[("text.wasm", "text")]);
    project.write("component.wasm", COMPONENT);
    project.write("empty.wasm", b"\0asm\x01\0\0\0");
    let mut text = String::new();
    for line in [
        "plugin componentize text.wasm",
        "plugin componentize component.wasm",
        "plugin componentize empty.wasm",
        "plugin componentize empty.wasm -world=magic",
        "plugin componentize missing.wasm",
    ] {
        let _ = writeln!(text, "{}", project.run(line).ended_with(1).text());
    }
    assert_seen_text!("plugin_componentize_errors", text);
}

#[test]
fn plugin_check_reports_files_that_are_no_plugins() {
    let project = Project::new(&[("text.wasm", "text")]);
    project.write("nothing.wasm", COMPONENT);
    let mut text = String::new();
    for line in ["plugin check text.wasm", "plugin check nothing.wasm", "plugin check nothing.wasm -json"] {
        let _ = writeln!(text, "{}", project.run(line).ended_with(1).text());
    }
    assert_seen_text!("plugin_check_errors", text);
}

/// Replaces numbers, which change whenever a component is built.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        // Sizes of parts, and the list of crates.
        if line.starts_with("    ") && line.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let is_size = |word: &&str| word.len() > 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = words.iter().map(|word| if is_size(word) { "[SIZE]" } else { word }).collect();
        shown.push_str(&words.join(" "));
        shown.push('\n');
    }
    shown
}

/// A custom section with this number of bytes, which a component can end with.
fn custom_section(bytes: usize) -> Vec<u8> {
    // The number in LEB128 with a fixed length of five bytes.
    let length = bytes + 5;
    let mut section = vec![0];
    section.extend((0..4).map(|part| u8::try_from(length >> (7 * part) & 0x7f).unwrap_or_default() | 0x80));
    section.push(u8::try_from(length >> 28).unwrap_or_default());
    section.extend(b"\x04test");
    section.resize(section.len() + bytes, 0);
    section
}

/// The four parts of the check: contract, capabilities, schemas, size.
#[test]
fn plugin_check_reports_each_subject() {
    let (Some(fleet), Some(hostile)) = (test_guest("fleet"), test_guest("hostile")) else { return };
    let project = Project::new(&[(
        "audit.jsonl",
        "{\"time\":\"2026-01-01T00:00:00.000Z\",\"plugin\":\"example.com/test/fleet\",\"call\":\"read-resource\",\
         \"capability\":\"environment\",\"target\":\"HOME\",\"decision\":\"denied\"}\n",
    )]);
    let large = [std::fs::read(fleet).unwrap(), custom_section(5 << 20)].concat();
    project.write("terraform-provider-fleet.wasm", large);
    project.write("terraform-provider-hostile.wasm", std::fs::read(hostile).unwrap());
    // An import of WASI 0.3, and no exports.
    let import = b"\x00\x17wasi:clocks/types@0.3.0\x05\x00";
    let section = [&[10, u8::try_from(import.len() + 1).unwrap(), 1][..], import].concat();
    project.write("asynchronous.wasm", [COMPONENT, &section].concat());
    let mut text = String::new();
    for (line, code) in [
        ("plugin check asynchronous.wasm", 1),
        ("plugin check terraform-provider-hostile.wasm", 1),
        ("plugin check terraform-provider-fleet.wasm -audit=audit.jsonl", 0),
        ("plugin check terraform-provider-fleet.wasm -audit=missing.jsonl", 1),
    ] {
        text += &project.run(line).ended_with(code).text();
    }
    assert_seen_text!("plugin_check_subjects", without_numbers(&text));
}

#[test]
fn plugin_check_and_docs_describe_a_component() {
    let Some(guest) = test_guest("http-state") else { return };
    let project = Project::new(&[("audit.jsonl", "")]);
    std::fs::copy(guest, project.path("terraform-provider-httpstate.wasm")).unwrap_or_default();
    let checked = project.run("plugin check terraform-provider-httpstate.wasm -audit=audit.jsonl");
    assert_seen_text!("plugin_check", without_numbers(&checked.text()));
    let json = project.run("plugin check -json terraform-provider-httpstate.wasm").out;
    let report: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    assert!(report["size"]["code"].as_u64().is_some_and(|bytes| bytes > 0), "{json}");
    let mut text = project.run("plugin docs terraform-provider-httpstate.wasm -check").ended_with(1).text();
    text += &project.run("plugin docs terraform-provider-httpstate.wasm").success().text();
    text += &project.run("plugin docs terraform-provider-httpstate.wasm -check").success().text();
    text += &project.read("docs/index.md");
    project.write("templates/index.md.tmpl", "# {{ .ProviderShortName }}\n\n{{ .Nonsense }}\n");
    text += &project.run("plugin docs terraform-provider-httpstate.wasm -check").ended_with(1).text();
    assert_seen_text!("plugin_docs", text);
}

/// The guests that are embedded in the binary.
fn embedded_guest(name: &str) -> Option<PathBuf> {
    let guests = test_guest("http-state")?.parent()?.parent()?.to_owned();
    let file = guests.join(format!("{name}.wasm"));
    if !file.exists() {
        println!("skipped: the provider {name} is not built");
    }
    file.exists().then_some(file)
}

/// The pages that the public registry publishes for two providers, with their headings and the beginnings of
/// their attributes, as far as the embedded providers have the same types.
const PUBLISHED: [(&str, &str, &[&str]); 9] = [
    ("time", "docs/index.md", &["# time Provider", "## Schema"]),
    (
        "time",
        "docs/resources/sleep.md",
        &[
            "# time_sleep (Resource)",
            "## Schema",
            "### Optional",
            "- `create_duration` (String) ",
            "- `destroy_duration` (String) ",
            "- `triggers` (Map of String) ",
            "### Read-Only",
            "- `id` (String) ",
        ],
    ),
    (
        "time",
        "docs/resources/offset.md",
        &["# time_offset (Resource)", "## Schema", "### Optional", "- `base_rfc3339` (String) "],
    ),
    (
        "time",
        "docs/functions/rfc3339_parse.md",
        &[
            "# function: rfc3339_parse",
            "## Signature",
            "rfc3339_parse(timestamp string) object",
            "## Arguments",
            "1. `timestamp` (String) ",
        ],
    ),
    ("time", "docs/functions/duration_parse.md", &["# function: duration_parse", "## Signature"]),
    ("random", "docs/index.md", &["# random Provider", "## Schema"]),
    (
        "random",
        "docs/resources/pet.md",
        &[
            "# random_pet (Resource)",
            "## Schema",
            "### Optional",
            "- `keepers` (Map of String) ",
            "- `length` (Number) ",
            "- `prefix` (String) ",
            "- `separator` (String) ",
            "### Read-Only",
            "- `id` (String) ",
        ],
    ),
    (
        "random",
        "docs/resources/password.md",
        &[
            "# random_password (Resource)",
            "## Schema",
            "### Required",
            "- `length` (Number) ",
            "### Optional",
        ],
    ),
    (
        "random",
        "docs/ephemeral-resources/password.md",
        &[
            "# random_password (Ephemeral Resource)",
            "## Schema",
            "### Required",
            "- `length` (Number) ",
            "### Optional",
            "- `lower` (Boolean) ",
        ],
    ),
];

#[test]
fn plugin_docs_has_the_layout_of_published_pages() {
    for provider in ["time", "random"] {
        let Some(guest) = embedded_guest(provider) else { return };
        let project = Project::new(&[]);
        std::fs::copy(guest, project.path(&format!("{provider}.wasm"))).unwrap();
        project.run(&format!("plugin docs {provider}.wasm")).success();
        for (_, path, expected) in PUBLISHED.iter().filter(|(name, ..)| *name == provider) {
            let page = project.read(path);
            let mut lines = page.lines();
            for start in *expected {
                assert!(lines.any(|line| line.starts_with(start)), "{path}: {start:?} in:\n{page}");
            }
        }
        let created = files(&project.path("docs"));
        let expected: &[&str] = match provider {
            "time" => &[
                "functions/duration_parse.md",
                "functions/rfc3339_parse.md",
                "functions/unix_timestamp_parse.md",
                "index.md",
                "resources/offset.md",
                "resources/rotating.md",
                "resources/sleep.md",
                "resources/static.md",
            ],
            _ => &[
                "ephemeral-resources/password.md",
                "index.md",
                "resources/bytes.md",
                "resources/id.md",
                "resources/integer.md",
                "resources/password.md",
                "resources/pet.md",
                "resources/shuffle.md",
                "resources/string.md",
                "resources/uuid.md",
            ],
        };
        assert_eq!(created, expected);
    }
}

/// Returns the environment in which cargo builds a project with this repository's dependencies; [`None`] if
/// the compiler cannot build components.
fn cargo_environment(project: &Project) -> Option<Vec<(String, String)>> {
    let toolchain = component_toolchain()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The versions in this repository's lock file have been downloaded.
    std::fs::copy(root.join("Cargo.lock"), project.path("terraform-provider-dns/Cargo.lock")).ok()?;
    let target = root.join("target/end-to-end/authoring").display().to_string();
    let toolchain = toolchain.map(|(name, directory)| (name, directory.display().to_string()));
    let variables = [("CARGO_NET_OFFLINE", "true".to_owned()), ("CARGO_TARGET_DIR", target)];
    let all = toolchain.into_iter().chain(variables);
    Some(all.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Replaces durations, sizes and the path of the component, and removes the progress of the build.
fn without_times(text: &str) -> String {
    const COMPONENT: &str = "terraform_provider_dns.wasm";
    let mut shown = String::new();
    for line in text.lines().filter(|line| !line.starts_with("  compiling ")) {
        let line = match line.split_once(" in ") {
            Some((start, rest)) if rest.starts_with(|first: char| first.is_ascii_digit()) => {
                format!("{start} in [TIME]")
            }
            _ if line.ends_with(COMPONENT) => format!("│    [PROJECT]/{COMPONENT}"),
            _ => line.to_owned(),
        };
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

/// Functions that panic at depth.
const DEEP_PANIC: &str = r#"
fn find(name: &str) -> String {
    std::env::var(name).expect("no greeting")
}

#[inline(never)]
fn greetings(names: &str) -> String {
    let mut all: Vec<&str> = names.split(' ').collect();
    all.sort_by_key(|name| name.len());
    let found: Vec<String> = all.iter().flat_map(|name| [*name].into_iter().map(|name| find(name))).collect();
    found.join(", ")
}
"#;

#[test]
fn plugin_dev_builds_plans_and_tests_a_new_project() {
    let project = Project::new(&[]);
    let line = format!("plugin new acme/dns '-sdk-path={}'", sdk().display());
    project.run(&line).success();
    let Some(variables) = cargo_environment(&project) else { return };
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let run = |line: &str| project.run_with(line, "", &variables);
    let first = run("plugin dev terraform-provider-dns -once -no-color").success();
    assert_seen_text!("plugin_dev", without_times(&first.text()));
    run("plugin docs terraform-provider-dns").success();
    assert_eq!(
        files(&project.path("terraform-provider-dns/docs")),
        ["data-sources/greeting.md", "index.md", "resources/note.md"]
    );
    // A mistake in the provider.
    let note = project.read("terraform-provider-dns/src/note.rs");
    project.write("terraform-provider-dns/src/note.rs", note.replace("plan.title)", "plan.titel)"));
    let failed = run("plugin dev terraform-provider-dns -once -no-color").ended_with(1);
    assert!(failed.errors.contains("Build failed"), "{}", failed.text());
    assert!(failed.errors.contains("titel"), "{}", failed.text());
    // A panic in the provider, below closures and adaptors of the standard library, is reported with the
    // functions of the author, their files and lines, and nothing else.
    project.write("terraform-provider-dns/src/note.rs", &note);
    let greeting = project.read("terraform-provider-dns/src/greeting.rs");
    let call = greeting.replace("format!(\"Hello, {}!\", config.name)", "greetings(&config.name)");
    assert_ne!(call, greeting);
    project.write("terraform-provider-dns/src/greeting.rs", call + DEEP_PANIC);
    let failed = run("plugin dev terraform-provider-dns -once -no-color -no-tests").ended_with(1);
    let text: String =
        failed.errors.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(text.contains("no greeting"), "{}", failed.text());
    let frames = text.split_once("Guest functions, innermost first:").unwrap_or_default().1;
    for part in ["greeting::find at", "greeting::greetings", "DataSource>::read at", "src/greeting.rs:"] {
        assert!(frames.contains(part), "{part}: {}", failed.text());
    }
    for machinery in
        ["unwrap_failed", "panicking", "core::iter", "call_once", "alloc::", "wardian_sdk::service"]
    {
        assert!(!frames.contains(machinery), "{machinery}: {}", failed.text());
    }
    project.write("terraform-provider-dns/src/greeting.rs", greeting);
    // A test that fails.
    let wrong = note.replace("assert_eq!(note.get::<String>(\"id\"), \"note-a\")", "assert_eq!(1, 2)");
    project.write("terraform-provider-dns/src/note.rs", wrong);
    let failed = run("plugin dev terraform-provider-dns -once -no-color").ended_with(1);
    assert!(failed.errors.contains("text_is_changed_in_place"), "{}", failed.text());
}

#[test]
fn plugin_dev_explains_what_is_missing() {
    let project = Project::new(&[("empty/notes.txt", "")]);
    let mut text = project.run("plugin dev empty -once").ended_with(1).text();
    // Without toolchains: neither in PATH nor in the project.
    for (language, _) in LANGUAGES {
        project.run(&format!("plugin new dns {language} -language={language}")).success();
        for line in [format!("plugin dev {language} -once"), format!("plugin build {language}")] {
            text += &project.run_with(&line, "", &[("PATH", "/nonexistent")]).ended_with(1).text();
        }
    }
    assert_seen_text!("plugin_dev_errors", text);
}

#[test]
fn plugin_build_explains_wrong_settings() {
    let project = Project::new(&[("dns/go.mod", "module dns\n")]);
    let mut text = project.run("plugin build dns").ended_with(1).text();
    for settings in [
        "{ \"address\": \"acme/dns\",\n  \"capability\": [] }\n",
        "{ \"address\": \"a/b/c/d\" }\n",
        "{ \"capabilities\": [] }\n",
    ] {
        project.write("dns/wardian.json", settings);
        text += &project.run("plugin build dns").ended_with(1).text();
    }
    assert_seen_text!("plugin_build_settings", text);
}

const RANDOM: &str = "resource \"random_id\" \"a\" {\n  byte_length = 8\n}\n";

/// Removes the durations of calls.
fn without_milliseconds(text: &str) -> String {
    let shown = |line: &str| match line.split_once(" (") {
        Some((start, end)) if end.ends_with(" ms)") => format!("{start} ([TIME])"),
        _ => line.to_owned(),
    };
    text.lines().map(|line| shown(line) + "\n").collect()
}

#[test]
fn plugin_debug_prints_and_repeats_calls() {
    let project = Project::new(&[("main.tf", RANDOM)]);
    project.run("init").success();
    let recorded = project.run("plugin debug hashicorp/random -- plan -no-color").success();
    for part in ["plan-resource-change random_id.a", "\"byte_length\": 8", "(unknown)", "wardian-calls.jsonl"]
    {
        assert!(recorded.out.contains(part), "{part}:\n{}", recorded.text());
    }
    let calls = project.read("wardian-calls.jsonl");
    let number =
        calls.lines().position(|line| line.contains("\"plan-resource-change\"")).unwrap_or_default() + 1;
    let Some(random) = embedded_guest("random") else { return };
    std::fs::copy(random, project.path("random.wasm")).unwrap();
    let repeated = project.run(&format!("plugin debug random.wasm -replay={number}")).success();
    let mut text =
        without_milliseconds(&repeated.text()).replace(&format!("replay={number}"), "replay=[NUMBER]");
    text = text.replace(&format!("#{number} "), "#[NUMBER] ");
    project.write("damaged.jsonl", "{\"call\": 3}\n");
    for line in [
        "plugin debug random.wasm -replay=1 -recording=damaged.jsonl",
        "plugin debug random.wasm -replay=99",
        "plugin debug random.wasm -replay=1 -recording=missing.jsonl",
        "plugin debug random.wasm",
        "plugin debug 'not an address' -- version",
    ] {
        text += &project.run(line).ended_with(1).text();
    }
    assert_seen_text!("plugin_debug", text);
}
