//! Creates the project of a new provider.
//!
//! A project consists of the files of a template, in which placeholders of the form `@@name@@` are
//! replaced. Files are created only in a directory that is empty or does not exist; an existing file
//! is never overwritten.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use wardian_address::{ProviderAddress, ProviderAddressError};
use wardian_diagnostic::system_reason;

use crate::templates::{COMMON_FILES, GO, JAVASCRIPT, PYTHON, RUST, Template};

/// The prefix of the name of a provider's repository and of its files.
pub const PROVIDER_PREFIX: &str = "terraform-provider-";

/// The namespace of a provider whose name contains none.
pub const EXAMPLE_NAMESPACE: &str = "example";

/// Maximum length of a provider's type name, so that names of files and resource types stay usable.
const MAX_NAME_LENGTH: usize = 40;

/// A programming language in which a provider can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    Go,
    JavaScript,
    Python,
}

impl Language {
    /// All languages, each with its name in options.
    pub const ALL: [(&'static str, Self); 4] =
        [("rust", Self::Rust), ("go", Self::Go), ("js", Self::JavaScript), ("python", Self::Python)];

    /// Returns the language with this name in options.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, language)| *language)
    }

    fn template(self) -> &'static Template {
        match self {
            Self::Rust => &RUST,
            Self::Go => &GO,
            Self::JavaScript => &JAVASCRIPT,
            Self::Python => &PYTHON,
        }
    }
}

/// The source of the SDK that a project depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdkSource {
    /// The released version that belongs to this version of Wardian.
    Release,
    /// A directory with the SDK's source code.
    Directory(PathBuf),
}

/// The address of a new provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProvider {
    address: ProviderAddress,
}

impl NewProvider {
    /// Parses a name of the form `dns`, `terraform-provider-dns`, `acme/dns` or
    /// `registry.example.com/acme/dns`.
    ///
    /// # Errors
    /// Returns an error if the name cannot be a provider's name, or if resource types cannot begin
    /// with it.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let (parents, last) = match name.rsplit_once('/') {
            Some((parents, last)) => (parents, last),
            None => (EXAMPLE_NAMESPACE, name),
        };
        let type_name = last.strip_prefix(PROVIDER_PREFIX).unwrap_or(last);
        let invalid = |reason| NameError::Invalid { name: name.to_owned(), reason };
        if type_name.is_empty() {
            return Err(invalid("it is empty"));
        }
        if type_name.len() > MAX_NAME_LENGTH {
            return Err(invalid("it is longer than 40 characters"));
        }
        if type_name.contains(['-', '_']) {
            let suggestion = type_name.replace(['-', '_'], "");
            return Err(NameError::Separator { name: type_name.to_owned(), suggestion });
        }
        let mut bytes = type_name.bytes();
        if !bytes.next().is_some_and(|first| first.is_ascii_lowercase()) {
            return Err(invalid("it must begin with a lower-case letter"));
        }
        if !bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            return Err(invalid("it must consist of lower-case letters and digits"));
        }
        if type_name == "terraform" {
            return Err(invalid("the resource types of the built-in provider begin with it"));
        }
        let address = ProviderAddress::parse(&format!("{parents}/{type_name}"))
            .map_err(|source| NameError::Address { name: name.to_owned(), source })?;
        Ok(Self { address })
    }

    /// Returns the provider's address.
    pub fn address(&self) -> &ProviderAddress {
        &self.address
    }

    /// Returns the name of the project's directory.
    pub fn directory_name(&self) -> String {
        format!("{PROVIDER_PREFIX}{}", self.address.type_name())
    }
}

/// The reason why a name cannot be the name of a new provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    #[error(
        "\"{name}\" cannot be the name of a provider: {reason}; choose a name such as \"dns\" or \"acme/dns\""
    )]
    Invalid { name: String, reason: &'static str },
    #[error(
        "the name \"{name}\" contains a separator, but each resource type begins with the provider's name, up to \
         the first \"_\"; choose a name without separators, such as \"{suggestion}\""
    )]
    Separator { name: String, suggestion: String },
    #[error("\"{name}\" is not a provider address: {source}")]
    Address { name: String, source: ProviderAddressError },
}

/// The reason why a project cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaffoldError {
    #[error(
        "the directory {} is not empty; choose a directory that does not exist, or remove its {count} entries",
        .directory.display()
    )]
    NotEmpty { directory: PathBuf, count: usize },
    #[error("the path {} is not a directory; choose a directory that does not exist", .0.display())]
    NotADirectory(PathBuf),
    #[error(
        "{} does not contain the SDK: {missing} is missing; name the directory plugins/{sdk} of Wardian's sources",
        .directory.display()
    )]
    NoSdk { directory: PathBuf, missing: &'static str, sdk: &'static str },
    #[error("the path {} of the SDK cannot be written to a project file, because it contains unusual characters", .0.display())]
    SdkPath(PathBuf),
    #[error("{} cannot be created: {}", .path.display(), system_reason(.source))]
    Write { path: PathBuf, source: io::Error },
}

/// A created project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedProject {
    pub directory: PathBuf,
    /// The paths of the files, relative to the directory, in alphabetical order.
    pub files: Vec<String>,
    /// The commands that install the dependencies, if the build does not install them.
    pub setup_commands: &'static [&'static str],
    /// The command that builds the component.
    pub build_command: &'static str,
}

/// Creates a project. The directory must be empty or must not exist.
///
/// # Errors
/// Returns an error if the directory is not empty, or a file cannot be written.
pub fn create(
    provider: &NewProvider,
    language: Language,
    directory: &Path,
    sdk: &SdkSource,
) -> Result<CreatedProject, ScaffoldError> {
    let template = language.template();
    let placeholders = placeholders(provider, template, sdk)?;
    check_empty(directory)?;
    let mut files = Vec::with_capacity(template.files.len() + COMMON_FILES.len());
    for (name, text) in template.files.iter().chain(COMMON_FILES) {
        let name = replace(name, &placeholders);
        let path = directory.join(&name);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ScaffoldError::Write { path, source }
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        let mut file = fs::File::create_new(&path).map_err(failed(&path))?;
        file.write_all(replace(text, &placeholders).as_bytes()).map_err(failed(&path))?;
        files.push(name);
    }
    files.sort_unstable();
    Ok(CreatedProject {
        directory: directory.to_owned(),
        files,
        setup_commands: template.setup_commands,
        build_command: template.build_command,
    })
}

/// Returns an error if the directory exists and contains an entry.
fn check_empty(directory: &Path) -> Result<(), ScaffoldError> {
    match fs::read_dir(directory) {
        Ok(entries) => match entries.count() {
            0 => Ok(()),
            count => Err(ScaffoldError::NotEmpty { directory: directory.to_owned(), count }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(ScaffoldError::NotADirectory(directory.to_owned()))
        }
        Err(source) => Err(ScaffoldError::Write { path: directory.to_owned(), source }),
    }
}

type Placeholders = Vec<(&'static str, String)>;

fn placeholders(
    provider: &NewProvider,
    template: &Template,
    sdk: &SdkSource,
) -> Result<Placeholders, ScaffoldError> {
    let address = provider.address();
    let mut all = vec![
        ("name", address.type_name().to_owned()),
        ("namespace", address.namespace().to_owned()),
        // A configuration requires the provider under this name, and files contain the full one.
        ("source", address.for_display().to_string()),
        ("address", address.to_string()),
    ];
    match sdk {
        SdkSource::Release => {
            all.extend(template.sdk_packages.iter().map(|each| (each.placeholder, each.release.to_owned())));
        }
        SdkSource::Directory(directory) => {
            let directory = sdk_directory(template, directory)?;
            let path = directory.to_str().filter(|path| is_plain(path));
            let path = path.ok_or_else(|| ScaffoldError::SdkPath(directory.clone()))?;
            let in_url = url_path(path);
            let packages = template.sdk_packages.iter();
            all.extend(packages.map(|each| {
                let dependency = each.directory.replace("@@path_in_url@@", &in_url);
                (each.placeholder, dependency.replace("@@path@@", path))
            }));
        }
    }
    Ok(all)
}

/// Returns the directory of the template's SDK: the named one, or the SDK in it if it contains the SDKs
/// of all languages.
fn sdk_directory(template: &Template, directory: &Path) -> Result<PathBuf, ScaffoldError> {
    let missing = |directory: &Path| template.sdk_files.iter().find(|file| !directory.join(file).is_file());
    let below = directory.join(template.sdk_directory);
    match missing(directory) {
        None => Ok(directory.to_owned()),
        Some(_) if missing(&below).is_none() => Ok(below),
        Some(missing) => Err(ScaffoldError::NoSdk {
            directory: directory.to_owned(),
            missing,
            sdk: template.sdk_directory,
        }),
    }
}

/// Returns a path in the encoding of URLs.
fn url_path(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Whether a path can be written between quotation marks in any of the project files.
fn is_plain(path: &str) -> bool {
    !path.chars().any(|character| character.is_control() || "\"'\\".contains(character))
}

/// Replaces placeholders. Cost: O(length of the text * number of placeholders).
fn replace(text: &str, placeholders: &Placeholders) -> String {
    let mut replaced = text.to_owned();
    for (name, value) in placeholders {
        replaced = replaced.replace(&format!("@@{name}@@"), value);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(name: &str) -> NewProvider {
        NewProvider::parse(name).unwrap()
    }

    #[test]
    fn names_are_completed_to_addresses() {
        for (name, address) in [
            ("dns", "registry.terraform.io/example/dns"),
            ("terraform-provider-dns", "registry.terraform.io/example/dns"),
            ("acme/dns", "registry.terraform.io/acme/dns"),
            ("acme/terraform-provider-dns", "registry.terraform.io/acme/dns"),
            ("registry.example.com/acme/dns2", "registry.example.com/acme/dns2"),
        ] {
            assert_eq!(provider(name).address().to_string(), address, "{name}");
        }
        assert_eq!(provider("acme/dns").directory_name(), "terraform-provider-dns");
    }

    #[test]
    fn invalid_names_are_rejected_with_the_remedy() {
        for (name, part) in [
            ("", "it is empty"),
            ("terraform-provider-", "it is empty"),
            ("acme/", "it is empty"),
            ("my-cloud", "such as \"mycloud\""),
            ("my_cloud", "such as \"mycloud\""),
            ("Dns", "begin with a lower-case letter"),
            ("2dns", "begin with a lower-case letter"),
            ("dnS", "lower-case letters and digits"),
            ("..", "begin with a lower-case letter"),
            ("dns\n", "lower-case letters and digits"),
            ("terraform", "built-in provider"),
            ("a/b/c/dns", "not a provider address"),
            ("-/dns", "not a provider address"),
            ("../dns", "not a provider address"),
        ] {
            let error = NewProvider::parse(name).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
        assert!(NewProvider::parse(&"a".repeat(41)).is_err());
    }

    #[test]
    fn project_files_contain_no_placeholder() {
        let parent = tempfile::tempdir().unwrap();
        for (name, language) in Language::ALL {
            let directory = parent.path().join(name);
            let project = create(&provider("acme/dns"), language, &directory, &SdkSource::Release).unwrap();
            assert!(!project.files.is_empty());
            for file in &project.files {
                let text = fs::read_to_string(directory.join(file)).unwrap();
                assert!(!text.contains("@@") && !file.contains("@@"), "{file}:\n{text}");
            }
        }
    }

    /// The settings of rustfmt in this repository do not apply to the projects of authors, and the width of
    /// lines depends on the name.
    #[test]
    fn rust_files_have_the_default_style() {
        let parent = tempfile::tempdir().unwrap();
        let names = ["a".to_owned(), "dns".to_owned(), "database".to_owned(), "a".repeat(MAX_NAME_LENGTH)];
        for name in names {
            let directory = parent.path().join(&name);
            create(&provider(&name), Language::Rust, &directory, &SdkSource::Release).unwrap();
            let mut command = std::process::Command::new("rustfmt");
            command.args(["--check", "--edition=2024", "src/lib.rs", "tests/acceptance.rs"]);
            let Ok(output) = command.current_dir(&directory).output() else {
                println!("skipped: rustfmt is not installed");
                return;
            };
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }

    #[test]
    fn existing_files_are_never_changed() {
        let directory = tempfile::tempdir().unwrap();
        let existing = directory.path().join("notes.txt");
        fs::write(&existing, "keep").unwrap();
        let create = |path: &Path| create(&provider("dns"), Language::Rust, path, &SdkSource::Release);
        let error = create(directory.path()).unwrap_err();
        assert!(matches!(error, ScaffoldError::NotEmpty { count: 1, .. }), "{error}");
        assert!(matches!(create(&existing).unwrap_err(), ScaffoldError::NotADirectory(_)));
        assert_eq!(fs::read_to_string(&existing).unwrap(), "keep");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn sdk_directory_is_checked() {
        let directory = tempfile::tempdir().unwrap();
        let sdk = |path: &Path| SdkSource::Directory(path.to_owned());
        let target = directory.path().join("new");
        let failed = create(&provider("dns"), Language::Rust, &target, &sdk(directory.path())).unwrap_err();
        assert!(matches!(failed, ScaffoldError::NoSdk { .. }), "{failed}");
        assert!(!target.exists());
        let unusual = directory.path().join("a\"b");
        create_sdk(&unusual, Language::Rust);
        let failed = create(&provider("dns"), Language::Rust, &target, &sdk(&unusual)).unwrap_err();
        assert!(matches!(failed, ScaffoldError::SdkPath(_)), "{failed}");
    }

    /// Creates the files by which the SDK of a language is found.
    fn create_sdk(directory: &Path, language: Language) {
        for file in language.template().sdk_files {
            fs::create_dir_all(directory.join(file).parent().unwrap()).unwrap();
            fs::write(directory.join(file), "").unwrap();
        }
    }

    #[test]
    fn each_language_depends_on_its_sdk_in_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let plugins = directory.path().join("my plugins");
        for (name, language) in Language::ALL {
            let sdk = plugins.join(language.template().sdk_directory);
            create_sdk(&sdk, language);
            let (manifest, path) = match language {
                Language::Rust => ("Cargo.toml", sdk.display().to_string()),
                Language::Go => ("go.mod", sdk.display().to_string()),
                Language::JavaScript => ("package.json", format!("file:{}", sdk.display())),
                Language::Python => ("pyproject.toml", url_path(sdk.to_str().unwrap())),
            };
            // The directory of the SDK, and the directory of all SDKs.
            for (number, source) in [&sdk, &plugins].into_iter().enumerate() {
                let target = directory.path().join(format!("{name}-{number}"));
                let source = SdkSource::Directory(source.clone());
                create(&provider("acme/dns"), language, &target, &source).unwrap();
                let text = fs::read_to_string(target.join(manifest)).unwrap();
                assert!(text.contains(&path), "{path} is not in:\n{text}");
            }
        }
        assert_eq!(url_path("/a b/ä~-._"), "/a%20b/%C3%A4~-._");
    }

    #[test]
    fn sdk_packages_contain_the_interface_definitions() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut names: Vec<PathBuf> = fs::read_dir(root.join("wit"))
            .unwrap()
            .map(|entry| PathBuf::from(entry.unwrap().file_name()))
            .filter(|name| name.extension().is_some())
            .collect();
        names.push(PathBuf::from("deps/io/poll.wit"));
        for package in ["plugins/sdk-js/wit", "plugins/sdk-python/wardian_sdk/wit"] {
            for name in &names {
                let copy = root.join(package).join(name);
                let equal = fs::read(&copy).ok() == fs::read(root.join("wit").join(name)).ok();
                assert!(
                    equal,
                    "{} differs from wit/{}; `cargo xtask interop languages --bindings` writes it",
                    copy.display(),
                    name.display()
                );
            }
        }
    }
}
