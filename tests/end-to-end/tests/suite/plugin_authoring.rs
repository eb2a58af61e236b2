//! The commands for authors of plugins: a new project, declarations, checks, documentation, core modules,
//! and releases.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wardian_end_to_end::{Project, assert_seen_text, test_guest};

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Lists the files below a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<String> {
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
fn plugin_componentize_writes_a_component() {
    let project = Project::new(&[]);
    project.write("dns.wasm", b"\0asm\x01\0\0\0");
    project.write(
        "dns.capabilities.json",
        "[{\"environment\": {\"names\": [\"DNS_TOKEN\"], \"reason\": \"the API key\"}}]\n",
    );
    let mut text = project.run("plugin componentize dns.wasm -world=provider-plugin").success().text();
    let line = "plugin componentize dns.wasm -world=provider-plugin -out=other.wasm";
    text += &project.run(line).success().text();
    // The result can be inspected. It is no provider, because the core module exports nothing.
    text += &project.run("plugin inspect ./dns.component.wasm").success().text();
    text += &project.run("plugin check dns.component.wasm").ended_with(1).text();
    let read = |file: &str| std::fs::read(project.path(file)).unwrap_or_default();
    // The bytes of the component depend on the version of a library.
    let size = format!("{} bytes", read("dns.component.wasm").len());
    let shown =
        |line: &str| if line.starts_with("  sha256 ") { "  sha256    [HASH]" } else { line }.to_owned();
    let lines: String = text.replace(&size, "[SIZE] bytes").lines().map(|line| shown(line) + "\n").collect();
    assert_seen_text!("plugin_componentize", lines);
    assert!(read("dns.component.wasm").starts_with(COMPONENT));
    assert_eq!(read("dns.component.wasm"), read("other.wasm"));
    assert_eq!(read("dns.wasm"), b"\0asm\x01\0\0\0");
}

#[test]
fn plugin_publish_writes_the_files_of_a_release() {
    let Some(fleet) = test_guest("fleet") else { return };
    let project = Project::new(&[("CHANGES.md", "# Changes\n")]);
    std::fs::copy(fleet, project.path("fleet.wasm")).unwrap_or_default();
    let line =
        "plugin publish -address=acme/fleet -version=1.2.0 -component=fleet.wasm -component-zip -dir=release";
    let mut text = project.run(line).success().text();
    // The same files are not written again.
    text += &project.run(line).success().text();
    for line in [
        "plugin publish -address=acme/fleet -version=1.2.0 -component=fleet.wasm",
        "plugin publish -address=acme/fleet -version=one -component=fleet.wasm -dir=other",
        "plugin publish -address=acme/fleet -version=1.2.0 -component=CHANGES.md -dir=other",
        "plugin publish -address=acme/fleet -version=1.2.0 -component=missing.wasm -dir=other",
    ] {
        text += &project.run(line).ended_with(1).text();
    }
    let mut names = files(&project.path("release"));
    names.sort();
    let _ = writeln!(text, "----- release\n{}", names.join("\n"));
    assert_seen_text!("plugin_publish", without_sizes(&text));
}

/// Replaces the sizes of files in parentheses.
fn without_sizes(text: &str) -> String {
    let shown = |line: &str| match line.rsplit_once(" (") {
        Some((start, end)) if end.ends_with(" bytes)") => format!("{start} ([SIZE] bytes)"),
        _ => line.to_owned(),
    };
    text.lines().map(|line| shown(line) + "\n").collect()
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
pub(crate) fn embedded_guest(name: &str) -> Option<PathBuf> {
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
