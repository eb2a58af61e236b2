//! The templates of projects, one for each language. A template is data: its files are in
//! `templates/`, under names that do not affect this repository (`gitignore`, not `.gitignore`).

/// The template of a project.
pub(crate) struct Template {
    /// The path of each file in the project, and its text. Both can contain placeholders.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// The packages of the SDK on which a project depends.
    pub(crate) sdk_packages: &'static [SdkPackage],
    /// Files that the SDK's directory contains.
    pub(crate) sdk_files: &'static [&'static str],
    /// The command that builds the component.
    pub(crate) build_command: &'static str,
}

/// A package of the SDK.
pub(crate) struct SdkPackage {
    /// The placeholder for the dependency.
    pub(crate) placeholder: &'static str,
    /// The dependency on the released package.
    pub(crate) release: &'static str,
    /// The dependency on the package if the SDK is in the directory `@@path@@`.
    pub(crate) directory: &'static str,
}

/// Files of a template: the path in the project, and the path below `templates/`.
macro_rules! files {
    ($($path:literal = $file:literal,)*) => {
        &[$(($path, include_str!(concat!("../templates/", $file)))),*]
    };
}

pub(crate) const RUST: Template = Template {
    files: files! {
        ".cargo/config.toml" = "rust/cargo-config.toml",
        ".github/workflows/ci.yml" = "rust/ci.yml",
        ".github/workflows/release.yml" = "rust/release.yml",
        ".gitignore" = "rust/gitignore",
        "Cargo.toml" = "rust/Cargo.toml",
        "README.md" = "rust/README.md",
        "examples/basic/main.tf" = "examples/basic/main.tf",
        "examples/basic/tests/basic.tftest.hcl" = "examples/basic/tests/basic.tftest.hcl",
        "examples/basic/wardian.policy.hcl" = "examples/basic/wardian.policy.hcl",
        "examples/data-sources/@@name@@_greeting/data-source.tf" = "examples/data-source.tf",
        "examples/provider/provider.tf" = "examples/provider.tf",
        "examples/resources/@@name@@_note/import.sh" = "examples/import.sh",
        "examples/resources/@@name@@_note/resource.tf" = "examples/resource.tf",
        "rust-toolchain.toml" = "rust/rust-toolchain.toml",
        "src/greeting.rs" = "rust/src/greeting.rs",
        "src/lib.rs" = "rust/src/lib.rs",
        "src/note.rs" = "rust/src/note.rs",
        "templates/index.md.tmpl" = "templates/index.md.tmpl",
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
    sdk_files: &["Cargo.toml", "acceptance/Cargo.toml"],
    build_command: "cargo component-release",
};
