//! The templates of projects, one for each language. A template is data: its files are in
//! `templates/`, under names that do not affect this repository (`gitignore`, not `.gitignore`).

/// The template of a project.
pub(crate) struct Template {
    /// The path of each file in the project, and its text. Both can contain placeholders.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The packages of the SDK on which a project depends.
    pub(crate) sdk_packages: &'static [SdkPackage],
    /// The name of the SDK's directory in `plugins/`.
    pub(crate) sdk_directory: &'static str,
    /// Files that the SDK's directory contains.
    pub(crate) sdk_files: &'static [&'static str],
    /// The commands that install the dependencies, if the build does not install them.
    pub(crate) setup_commands: &'static [&'static str],
    /// The command that builds the component.
    pub(crate) build_command: &'static str,
}

/// A package of the SDK.
pub(crate) struct SdkPackage {
    /// The placeholder for the dependency.
    pub(crate) placeholder: &'static str,
    /// The dependency on the released package.
    pub(crate) release: &'static str,
    /// The dependency on the package if the SDK is in the directory `@@path@@`, which `@@path_in_url@@`
    /// contains in the encoding of URLs.
    pub(crate) directory: &'static str,
}

/// Files of a template: the path in the project, and the path below `templates/`.
macro_rules! files {
    ($($path:literal = $file:literal,)*) => {
        &[$(($path, include_str!(concat!("../templates/", $file)))),*]
    };
}

/// Files of the projects in all languages: the examples and the documentation.
pub(crate) const COMMON_FILES: &[(&str, &str)] = files! {
    "docs/data-sources/greeting.md" = "docs/data-source.md",
    "docs/index.md" = "docs/index.md",
    "docs/resources/note.md" = "docs/resource.md",
    "examples/basic/main.tf" = "examples/basic/main.tf",
    "examples/basic/tests/basic.tftest.hcl" = "examples/basic/tests/basic.tftest.hcl",
    "examples/basic/wardian.policy.hcl" = "examples/basic/wardian.policy.hcl",
    "examples/data-sources/@@name@@_greeting/data-source.tf" = "examples/data-source.tf",
    "examples/provider/provider.tf" = "examples/provider.tf",
    "examples/resources/@@name@@_note/import.sh" = "examples/import.sh",
    "examples/resources/@@name@@_note/resource.tf" = "examples/resource.tf",
    "templates/index.md.tmpl" = "templates/index.md.tmpl",
};

pub(crate) const RUST: Template = Template {
    files: files! {
        ".cargo/config.toml" = "rust/cargo-config.toml",
        ".github/workflows/ci.yml" = "rust/ci.yml",
        ".github/workflows/release.yml" = "rust/release.yml",
        ".gitignore" = "rust/gitignore",
        "Cargo.toml" = "rust/Cargo.toml",
        "README.md" = "rust/README.md",
        "rust-toolchain.toml" = "rust/rust-toolchain.toml",
        "src/greeting.rs" = "rust/src/greeting.rs",
        "src/lib.rs" = "rust/src/lib.rs",
        "src/note.rs" = "rust/src/note.rs",
        "tests/acceptance.rs" = "rust/tests/acceptance.rs",
    },
    sdk_packages: &[
        SdkPackage {
            placeholder: "sdk",
            release: concat!("\"", env!("CARGO_PKG_VERSION"), "\""),
            directory: "{ path = \"@@path@@\" }",
        },
        SdkPackage {
            placeholder: "acceptance",
            release: concat!("\"", env!("CARGO_PKG_VERSION"), "\""),
            directory: "{ path = \"@@path@@/acceptance\" }",
        },
    ],
    sdk_directory: "sdk",
    sdk_files: &["Cargo.toml", "acceptance/Cargo.toml"],
    setup_commands: &[],
    build_command: "cargo component-release",
};

pub(crate) const GO: Template = Template {
    files: files! {
        ".github/workflows/ci.yml" = "go/ci.yml",
        ".github/workflows/release.yml" = "go/release.yml",
        ".gitignore" = "go/gitignore",
        "README.md" = "go/README.md",
        "go.mod" = "go/go.mod",
        "internal/provider/greeting.go" = "go/provider/greeting.go",
        "internal/provider/greeting_test.go" = "go/provider/greeting_test.go",
        "internal/provider/note.go" = "go/provider/note.go",
        "internal/provider/note_test.go" = "go/provider/note_test.go",
        "internal/provider/provider.go" = "go/provider/provider.go",
        "internal/provider/provider_test.go" = "go/provider/provider_test.go",
        "main.go" = "go/main.go",
        "wardian.json" = "wardian.json",
    },
    sdk_packages: &[SdkPackage {
        placeholder: "sdk",
        release: concat!("require wardian.dev/sdk-go v", env!("CARGO_PKG_VERSION")),
        directory: concat!(
            "require wardian.dev/sdk-go v",
            env!("CARGO_PKG_VERSION"),
            "\n\nreplace wardian.dev/sdk-go => \"@@path@@\""
        ),
    }],
    sdk_directory: "sdk-go",
    sdk_files: &["go.mod", "component/component.go"],
    setup_commands: &[],
    build_command: "wardian plugin build",
};

pub(crate) const JAVASCRIPT: Template = Template {
    files: files! {
        ".github/workflows/ci.yml" = "js/ci.yml",
        ".github/workflows/release.yml" = "js/release.yml",
        ".gitignore" = "js/gitignore",
        ".npmrc" = "js/npmrc",
        "README.md" = "js/README.md",
        "package.json" = "js/package.json",
        "src/component.js" = "js/src/component.js",
        "src/greeting.js" = "js/src/greeting.js",
        "src/note.js" = "js/src/note.js",
        "src/provider.js" = "js/src/provider.js",
        "test/greeting.test.js" = "js/test/greeting.test.js",
        "test/note.test.js" = "js/test/note.test.js",
        "test/provider.test.js" = "js/test/provider.test.js",
        "wardian.json" = "wardian.json",
    },
    sdk_packages: &[SdkPackage {
        placeholder: "sdk",
        release: env!("CARGO_PKG_VERSION"),
        directory: "file:@@path@@",
    }],
    sdk_directory: "sdk-js",
    sdk_files: &["package.json", "wit/worlds.wit"],
    setup_commands: &["npm install"],
    build_command: "npm run build",
};

pub(crate) const PYTHON: Template = Template {
    files: files! {
        ".github/workflows/ci.yml" = "python/ci.yml",
        ".github/workflows/release.yml" = "python/release.yml",
        ".gitignore" = "python/gitignore",
        "@@name@@_provider/__init__.py" = "python/provider/__init__.py",
        "@@name@@_provider/greeting.py" = "python/provider/greeting.py",
        "@@name@@_provider/note.py" = "python/provider/note.py",
        "README.md" = "python/README.md",
        "component.py" = "python/component.py",
        "pyproject.toml" = "python/pyproject.toml",
        "tests/__init__.py" = "python/tests/__init__.py",
        "tests/test_greeting.py" = "python/tests/test_greeting.py",
        "tests/test_note.py" = "python/tests/test_note.py",
        "tests/test_provider.py" = "python/tests/test_provider.py",
        "wardian.json" = "wardian.json",
    },
    sdk_packages: &[SdkPackage {
        placeholder: "sdk",
        release: concat!("== ", env!("CARGO_PKG_VERSION")),
        directory: "@ file://@@path_in_url@@",
    }],
    sdk_directory: "sdk-python",
    sdk_files: &["pyproject.toml", "wardian_sdk/wit/worlds.wit"],
    setup_commands: &["python3 -m venv .venv", ".venv/bin/pip install --editable '.[dev]'"],
    build_command: "wardian plugin build",
};
