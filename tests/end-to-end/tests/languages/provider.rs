//! The provider in one language.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use wardian_end_to_end::{Project, test_guest};

pub(crate) const ADDRESS: &str = "example.com/acme/inventory";

/// What to do if a component is missing or stale.
pub(crate) const REMEDY: &str = "run `cargo xtask interop languages`, which builds and records it";

/// A configuration that only requires the provider.
const REQUIREMENT: &str = r#"
terraform {
  required_providers {
    inventory = {
      source = "example.com/acme/inventory"
    }
  }
}
"#;

/// Whether the component in each language has been compiled.
static COMPILED: [OnceLock<()>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Go,
    JavaScript,
    Python,
}

impl Language {
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Go, Self::JavaScript, Self::Python];

    /// The languages whose components are recorded.
    pub(crate) const RECORDED: [Self; 2] = [Self::Go, Self::JavaScript];

    /// The directory of the SDK in `plugins`.
    pub(crate) fn sdk(self) -> &'static str {
        match self {
            Self::Rust => "sdk",
            Self::Go => "sdk-go",
            Self::JavaScript => "sdk-js",
            Self::Python => "sdk-python",
        }
    }

    /// The name of the component's file.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Rust => "rust.wasm",
            Self::Go => "go.wasm",
            Self::JavaScript => "javascript.wasm",
            Self::Python => "python.wasm",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        })
    }
}

/// A component, with a directory that contains it under the name of a provider.
pub(crate) struct Provider {
    pub(crate) language: Language,
    component: PathBuf,
}

impl Provider {
    /// Returns the provider in a language, whose component is compiled. Prints the reason if the component
    /// does not exist; the recorded components must exist.
    pub(crate) fn find(language: Language) -> Option<Self> {
        let built = std::env::var_os("WARDIAN_TEST_LANGUAGES")
            .and_then(|directory| existing(PathBuf::from(directory).join(language.file())));
        let component = built.or_else(|| match language {
            Language::Rust => test_guest("inventory"),
            _ => existing(recordings().join(language.file())),
        });
        let is_recorded = Language::RECORDED.contains(&language);
        assert!(component.is_some() || !is_recorded, "there is no component in {language}: {REMEDY}");
        let provider = Self { language, component: component? };
        // Otherwise, tests that run at the same time would all compile the component.
        let compiled = Language::ALL.iter().position(|one| *one == language).map(|index| &COMPILED[index]);
        if let Some(compiled) = compiled {
            compiled.get_or_init(|| {
                let project = provider.project();
                project.write("main.tf", REQUIREMENT);
                project.run("providers schema -json").success();
            });
        }
        Some(provider)
    }

    /// Creates a project that uses the provider.
    pub(crate) fn project(&self) -> Project {
        let project = Project::new(&[]);
        let directory = project.path("plugins");
        project.write(
            "home/.terraformrc",
            format!(
                "provider_installation {{\n  dev_overrides {{\n    \"{ADDRESS}\" = \"{}\"\n  }}\n  direct {{}}\n}}\n",
                directory.display()
            ),
        );
        project.write("plugins/README", "");
        let file = directory.join("terraform-provider-inventory.wasm");
        let linked = std::os::unix::fs::symlink(&self.component, &file);
        assert!(linked.is_ok(), "{}: {linked:?}", file.display());
        project
    }
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    if path.is_file() {
        return path.canonicalize().ok();
    }
    println!("{} does not exist: {REMEDY}", path.display());
    None
}

pub(crate) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/components")
}
