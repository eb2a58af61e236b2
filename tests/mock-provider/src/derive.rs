//! `wardian-mock-provider derive`: writes a mirror with mock providers for a configuration.
//!
//! hcl-rs parses the configuration, not Wardian's own front end. Therefore, an error in the front
//! end does not also change the schemas with which it is compared.

mod guess;
mod inference;
mod inputs;
mod modules;
mod references;
mod schemas;
mod test_files;
mod usage;
mod versions;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use self::modules::Modules;
use self::usage::ProviderUsage;

pub(crate) const USAGE: &str = "\
Usage: wardian-mock-provider derive [options] DIRECTORY

Writes a mock provider for each provider that the configuration in DIRECTORY uses, and prints a
JSON document that lists them.

  --into MIRROR         the filesystem mirror to write the providers to (required)
  --inputs FILE         write values for the required variables of the root module
  --fill                write values for variables whose default is null or empty, too
  --available NAME@VERSION   a provider that is installed: no mock is written if all version
                        constraints of the configuration accept this version
  --schemas FILE        take the schemas of the providers in this file, which has the format of
                        `terraform providers schema -json`, instead of deriving them
  --complete            add what the configuration uses to these schemas if they lack it
  --tests DIRECTORY     also read the test files in DIRECTORY, which is below the configuration's
                        directory, and those beside the configuration
";

#[derive(Default)]
struct Options {
    directory: PathBuf,
    mirror: PathBuf,
    inputs: Option<PathBuf>,
    is_filling: bool,
    is_completing: bool,
    tests: Option<String>,
    available: BTreeMap<String, String>,
    /// Schemas by the provider's address.
    schemas: Map<String, Value>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let (mut mirror, mut directory) = (None, None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                directory = Some(PathBuf::from(argument));
                continue;
            }
            if argument == "--fill" {
                options.is_filling = true;
                continue;
            }
            if argument == "--complete" {
                options.is_completing = true;
                continue;
            }
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--into" => mirror = Some(PathBuf::from(value)),
                "--tests" => options.tests = Some(value.clone()),
                "--inputs" => options.inputs = Some(value.into()),
                "--available" => {
                    let (name, version) = value.split_once('@').context("--available needs NAME@VERSION")?;
                    options.available.insert(name.to_owned(), version.to_owned());
                }
                "--schemas" => {
                    let text = fs::read(value).with_context(|| format!("cannot read {value}"))?;
                    let document: Value =
                        serde_json::from_slice(&text).with_context(|| format!("{value} is not JSON"))?;
                    let schemas = document["provider_schemas"].as_object();
                    let schemas = schemas.with_context(|| format!("{value} has no provider_schemas"))?;
                    options.schemas.extend(schemas.clone());
                }
                _ => bail!("unknown option {argument}\n\n{USAGE}"),
            }
        }
        options.mirror = mirror.with_context(|| format!("--into is missing\n\n{USAGE}"))?;
        options.directory = directory.with_context(|| format!("DIRECTORY is missing\n\n{USAGE}"))?;
        Ok(options)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let modules = match &options.tests {
        Some(tests) => Modules::load_with_tests(&options.directory, tests)?,
        None => Modules::load(&options.directory)?,
    };
    let mut providers = Map::new();
    for (address, usage) in usage::collect(&modules) {
        let available = options.available.get(&address);
        let available = available.filter(|version| versions::accept(&usage.constraints, version));
        let (version, source) = match available {
            Some(version) => (version.clone(), "installed"),
            None => {
                let version = versions::choose(&usage.constraints);
                let (schemas, source) = match options.schemas.get(&address) {
                    Some(schemas) => {
                        let mut schemas = used_part(schemas, &usage);
                        if options.is_completing {
                            complete(&mut schemas, &schemas::document(&usage));
                        }
                        (schemas, "mock with given schemas")
                    }
                    None => (schemas::document(&usage), "mock"),
                };
                write_package(&options.mirror, &address, &version, &schemas)?;
                (version, source)
            }
        };
        providers.insert(address, json!({ "version": version, "source": source }));
    }
    if let Some(file) = &options.inputs {
        let values = Value::Object(inputs::values(&modules, options.is_filling));
        fs::write(file, values.to_string()).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let summary = json!({
        "providers": providers,
        "remote_modules": modules.remote_sources,
        "unread_files": modules.unread_files,
        "module_directories": modules.directories,
        "has_backend": modules.has_backend(),
    });
    println!("{summary}");
    Ok(())
}

/// Returns the given schemas without the types that the configuration does not use, since some
/// providers have more than a thousand types. Missing schemas are derived.
fn used_part(schemas: &Value, usage: &ProviderUsage) -> Value {
    let mut schemas = schemas.clone();
    let derived = schemas::document(usage);
    for part in ["provider", "functions", "provider_meta"] {
        if schemas[part].is_null() {
            schemas[part] = derived[part].clone();
        }
    }
    for part in ["resource_schemas", "data_source_schemas", "ephemeral_resource_schemas"] {
        if let Some(types) = schemas.get_mut(part).and_then(Value::as_object_mut) {
            types.retain(|name, _| usage.types.keys().any(|(_, used)| used == name));
            for (name, schema) in derived[part].as_object().into_iter().flatten() {
                types.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
    }
    schemas
}

/// Adds the attributes and blocks of derived schemas that given schemas lack, because the configuration
/// uses another version of the provider.
fn complete(schemas: &mut Value, derived: &Value) {
    for part in ["resource_schemas", "data_source_schemas", "ephemeral_resource_schemas"] {
        for (name, schema) in derived[part].as_object().into_iter().flatten() {
            if let Some(given) = schemas[part].get_mut(name) {
                complete_block(&mut given["block"], &schema["block"]);
            }
        }
    }
}

fn complete_block(given: &mut Value, derived: &Value) {
    let has = |given: &Value, member: &str, name: &str| given[member].get(name).is_some();
    for (name, attribute) in derived["attributes"].as_object().into_iter().flatten() {
        if !has(given, "attributes", name) && !has(given, "block_types", name) {
            given["attributes"][name] = attribute.clone();
        }
    }
    for (name, nested) in derived["block_types"].as_object().into_iter().flatten() {
        if has(given, "block_types", name) {
            complete_block(&mut given["block_types"][name]["block"], &nested["block"]);
        } else if !has(given, "attributes", name) {
            given["block_types"][name] = nested.clone();
        }
    }
}

/// Writes a package of the mirror: a script that serves the schemas in the file beside it.
fn write_package(mirror: &Path, address: &str, version: &str, schemas: &Value) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let name = address.rsplit('/').next().unwrap_or_default();
    let package = mirror.join(address).join(version).join(platform()?);
    fs::create_dir_all(&package).with_context(|| format!("cannot create {}", package.display()))?;
    let schema_file = package.join("schemas.json");
    fs::write(&schema_file, schemas.to_string())
        .with_context(|| format!("cannot write {}", schema_file.display()))?;
    let script = package.join(format!("terraform-provider-{name}_v{version}"));
    let text = format!("#!/bin/sh\nexec {} serve {}\n", quoted(&program), quoted(&schema_file));
    fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", script.display()))
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Returns this machine's platform as in the file names of a mirror.
fn platform() -> Result<String> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => bail!("there are no mock providers for the processor {other}"),
    };
    Ok(format!("{system}_{processor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_contains_script_and_schemas() {
        let directory = tempfile::tempdir().unwrap();
        let address = "registry.terraform.io/example/acme";
        write_package(directory.path(), address, "1.2.3", &json!({})).unwrap();
        let package = directory.path().join(address).join("1.2.3").join(platform().unwrap());
        let script = fs::read_to_string(package.join("terraform-provider-acme_v1.2.3")).unwrap();
        assert!(script.contains(&format!("serve '{}/schemas.json'", package.display())), "{script}");
        assert_eq!(fs::read_to_string(package.join("schemas.json")).unwrap(), "{}");
    }

    #[test]
    fn shell_quotes_are_escaped() {
        assert_eq!(quoted(Path::new("/a/it's")), "'/a/it'\\''s'");
    }
}
