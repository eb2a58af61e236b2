//! Converts entries to settings, and checks their names and values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wardian_address::ProviderAddress;

use super::syntax::{Entry, SettingValue};
use super::{
    CliConfig, CliConfigError, CliConfigWarning, CredentialsHelper, HostToken, LoadedCliConfig,
    OciCredential, OciCredentialsBlock, OciDefaultCredentials, Variables,
};
use crate::file_position::FilePosition;
use crate::mirror::FilesystemMirror;
use crate::network_source::NetworkMethod;
use crate::sources::{
    AddressPattern, InstallationMethod, InstallationMethodKind, ProviderFilter, ProviderInstallation,
};

type Result<T> = std::result::Result<T, CliConfigError>;

pub(super) fn read(
    entries: &[Entry],
    text: &str,
    path: &Path,
    variables: Variables<'_>,
) -> Result<LoadedCliConfig> {
    let mut reader = Reader { text, path, variables, loaded: LoadedCliConfig::default() };
    for entry in entries.iter().filter(|entry| entry.value != SettingValue::Null) {
        reader.setting(entry)?;
    }
    Ok(reader.loaded)
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    variables: Variables<'a>,
    loaded: LoadedCliConfig,
}

impl Reader<'_> {
    fn setting(&mut self, entry: &Entry) -> Result<()> {
        match entry.key.as_str() {
            "provider_installation" => {
                let installation = self.installation(entry)?;
                let config = self.config();
                if config.provider_installation.replace(installation).is_some() {
                    return Err(self.invalid(entry, "only one provider_installation block is allowed"));
                }
            }
            "plugin_cache_dir" => {
                let directory = expand(self.string(entry)?, self.variables);
                self.config().plugin_cache_dir = (!directory.is_empty()).then(|| directory.into());
            }
            "plugin_cache_may_break_dependency_lock_file" => {
                self.config().plugin_cache_may_break_dependency_lock_file = self.boolean(entry)?;
            }
            "disable_checkpoint" => self.config().disable_checkpoint = self.boolean(entry)?,
            "disable_checkpoint_signature" => {
                self.config().disable_checkpoint_signature = self.boolean(entry)?;
            }
            "credentials" => {
                for (host, settings) in self.labelled(entry)? {
                    let Some(token) = settings.into_iter().find(|setting| setting.key == "token") else {
                        continue;
                    };
                    let token = HostToken::new(self.string(token)?);
                    self.config().credentials.insert(host.key.clone(), token);
                }
            }
            "credentials_helper" => {
                for (name, settings) in self.labelled(entry)? {
                    let arguments = settings.into_iter().find(|setting| setting.key == "args");
                    let arguments = arguments.map_or(Ok(Vec::new()), |entry| self.strings(entry))?;
                    let helper = CredentialsHelper { name: name.key.clone(), arguments };
                    if self.config().credentials_helper.replace(helper).is_some() {
                        return Err(self.invalid(name, "only one credentials_helper block is allowed"));
                    }
                }
            }
            "host" => {
                for (host, settings) in self.labelled(entry)? {
                    let services = self.services(&settings)?;
                    self.config().hosts.insert(host.key.clone(), services);
                }
            }
            "oci_credentials" => {
                for (scope, settings) in self.labelled(entry)? {
                    let credential = self.oci_credential(scope, &settings)?;
                    let block = OciCredentialsBlock { scope: scope.key.clone(), credential };
                    self.config().oci_credentials.push(block);
                }
            }
            "oci_default_credentials" => {
                let settings = self.block(entry)?;
                let defaults = self.oci_defaults(entry, &settings)?;
                if self.config().oci_default_credentials.replace(defaults).is_some() {
                    return Err(self.invalid(entry, "only one oci_default_credentials block is allowed"));
                }
            }
            "sigstore_trust_root" => {
                let file = PathBuf::from(expand(self.string(entry)?, self.variables));
                if !file.is_absolute() {
                    return Err(self.invalid(entry, "sigstore_trust_root must be an absolute path"));
                }
                self.config().sigstore_trust_root = Some(file);
            }
            name => {
                let warning = CliConfigWarning::UnknownSetting {
                    name: name.to_owned(),
                    position: self.position(entry),
                };
                self.loaded.warnings.push(warning);
            }
        }
        Ok(())
    }

    fn installation(&mut self, entry: &Entry) -> Result<ProviderInstallation> {
        let mut installation = ProviderInstallation::default();
        for method in self.block(entry)? {
            if method.key == "dev_overrides" {
                if !installation.methods.is_empty() {
                    return Err(
                        self.invalid(method, "dev_overrides must come before all installation methods")
                    );
                }
                installation.overrides.extend(self.overrides(method)?);
                continue;
            }
            for settings in self.blocks(method)? {
                installation.methods.push(self.method(method, settings)?);
            }
        }
        Ok(installation)
    }

    fn overrides(&self, entry: &Entry) -> Result<BTreeMap<ProviderAddress, PathBuf>> {
        let mut overrides = BTreeMap::new();
        for one in self.block(entry)? {
            let address =
                ProviderAddress::parse(&one.key).map_err(|error| self.invalid(one, &error.to_string()))?;
            overrides.insert(address, PathBuf::from(self.string(one)?));
        }
        Ok(overrides)
    }

    fn method(&mut self, method: &Entry, settings: &[Entry]) -> Result<InstallationMethod> {
        let mut location = None;
        let mut scope = ProviderFilter::default();
        let needed = match method.key.as_str() {
            "filesystem_mirror" => Some("path"),
            "network_mirror" => Some("url"),
            "oci_mirror" => Some("repository_template"),
            "direct" | "embedded" => None,
            other => {
                let message = format!(
                    "\"{other}\" is not an installation method; use filesystem_mirror, network_mirror, oci_mirror, direct, embedded or dev_overrides"
                );
                return Err(self.invalid(method, &message));
            }
        };
        for setting in settings.iter().filter(|setting| setting.value != SettingValue::Null) {
            match setting.key.as_str() {
                "include" => scope.include = Some(self.patterns(setting)?),
                "exclude" => scope.exclude = self.patterns(setting)?,
                name if Some(name) == needed => location = Some(self.string(setting)?.to_owned()),
                name => {
                    let message = format!("a {} block has no argument \"{name}\"", method.key);
                    return Err(self.invalid(setting, &message));
                }
            }
        }
        let kind = match (method.key.as_str(), location) {
            ("filesystem_mirror", Some(path)) => {
                InstallationMethodKind::Filesystem(FilesystemMirror::new(path))
            }
            ("network_mirror", Some(url)) => {
                if !url.starts_with("https://") || !url.ends_with('/') {
                    let message =
                        "the url of a network_mirror must begin with \"https://\" and end with \"/\"";
                    return Err(self.invalid(method, message));
                }
                InstallationMethodKind::Network(NetworkMethod::Mirror { url })
            }
            ("oci_mirror", Some(repository_template)) => {
                InstallationMethodKind::Network(NetworkMethod::OciMirror { repository_template })
            }
            ("direct", _) => InstallationMethodKind::Network(NetworkMethod::Registry),
            ("embedded", _) => InstallationMethodKind::Embedded,
            (name, _) => {
                let message = format!("a {name} block needs the argument \"{}\"", needed.unwrap_or_default());
                return Err(self.invalid(method, &message));
            }
        };
        Ok(InstallationMethod { kind, scope })
    }

    fn patterns(&self, entry: &Entry) -> Result<Vec<AddressPattern>> {
        let parse = |text: String| {
            AddressPattern::parse(&text).map_err(|error| {
                let message = format!("invalid provider pattern \"{text}\": {error}");
                self.invalid(entry, &message)
            })
        };
        self.strings(entry)?.into_iter().map(parse).collect()
    }

    /// Parses the services of a host.
    fn services(&self, settings: &[&Entry]) -> Result<BTreeMap<String, Value>> {
        let mut services = BTreeMap::new();
        for setting in settings.iter().filter(|setting| setting.key == "services") {
            for service in self.block(setting)? {
                services.insert(service.key.clone(), service.value.to_json());
            }
        }
        Ok(services)
    }

    fn oci_credential(&self, block: &Entry, settings: &[&Entry]) -> Result<OciCredential> {
        let mut values = BTreeMap::new();
        for setting in settings {
            values.insert(setting.key.as_str(), self.string(setting)?);
        }
        let mut take = |name| values.remove(name).map(str::to_owned);
        let (username, password) = (take("username"), take("password").map(HostToken::new));
        let (access, refresh) =
            (take("access_token").map(HostToken::new), take("refresh_token").map(HostToken::new));
        let helper = take("docker_credentials_helper");
        if let Some(name) = values.keys().next() {
            let message = format!("an oci_credentials block has no argument \"{name}\"");
            return Err(self.invalid(block, &message));
        }
        match (username, password, access, refresh, helper) {
            (Some(username), Some(password), None, None, None) => {
                Ok(OciCredential::Password { username, password })
            }
            (None, None, Some(access), refresh, None) => Ok(OciCredential::Token { access, refresh }),
            (None, None, None, None, Some(_)) if block.key.contains('/') => {
                Err(self.invalid(block, "docker_credentials_helper is allowed only for a whole registry"))
            }
            (None, None, None, None, Some(helper)) => Ok(OciCredential::Helper(helper)),
            _ => Err(self.invalid(
                block,
                "an oci_credentials block needs either username and password, or access_token, or \
                 docker_credentials_helper",
            )),
        }
    }

    fn oci_defaults(&self, block: &Entry, settings: &[&Entry]) -> Result<OciDefaultCredentials> {
        let mut defaults = OciDefaultCredentials { discover: true, files: None, helper: None };
        for setting in settings {
            match setting.key.as_str() {
                "discover_ambient_credentials" => defaults.discover = self.boolean(setting)?,
                "docker_style_config_files" => {
                    let parent = self.path.parent().unwrap_or(Path::new(""));
                    let files = self.strings(setting)?.into_iter().map(|file| parent.join(file));
                    defaults.files = Some(files.collect());
                }
                "docker_credentials_helper" => defaults.helper = Some(self.string(setting)?.to_owned()),
                name => {
                    let message = format!("an oci_default_credentials block has no argument \"{name}\"");
                    return Err(self.invalid(setting, &message));
                }
            }
        }
        if !defaults.discover && defaults.files.is_some() {
            let message = "docker_style_config_files has no effect if discover_ambient_credentials is false";
            return Err(self.invalid(block, message));
        }
        Ok(defaults)
    }

    /// Returns the blocks of a setting with one label, such as `host "x" { … }`.
    fn labelled<'e>(&self, entry: &'e Entry) -> Result<Vec<(&'e Entry, Vec<&'e Entry>)>> {
        let mut blocks = Vec::new();
        for label in self.block(entry)? {
            blocks.push((label, self.block(label)?));
        }
        Ok(blocks)
    }

    /// Returns the entries of a block, or of all blocks in a JSON list.
    fn block<'e>(&self, entry: &'e Entry) -> Result<Vec<&'e Entry>> {
        Ok(self.blocks(entry)?.into_iter().flatten().collect())
    }

    fn blocks<'e>(&self, entry: &'e Entry) -> Result<Vec<&'e [Entry]>> {
        let wrong = || self.invalid(entry, &format!("\"{}\" must be a block", entry.key));
        match &entry.value {
            SettingValue::Object(entries) => Ok(vec![entries]),
            SettingValue::List(values) => values
                .iter()
                .map(|value| match value {
                    SettingValue::Object(entries) => Ok(entries.as_slice()),
                    _ => Err(wrong()),
                })
                .collect(),
            _ => Err(wrong()),
        }
    }

    fn string<'e>(&self, entry: &'e Entry) -> Result<&'e str> {
        match &entry.value {
            SettingValue::Text(text) => Ok(text),
            _ => Err(self.invalid(entry, &format!("\"{}\" must be a quoted string", entry.key))),
        }
    }

    fn strings(&self, entry: &Entry) -> Result<Vec<String>> {
        let wrong = || self.invalid(entry, &format!("\"{}\" must be a list of quoted strings", entry.key));
        let SettingValue::List(values) = &entry.value else { return Err(wrong()) };
        let text = |value: &SettingValue| match value {
            SettingValue::Text(text) => Ok(text.clone()),
            _ => Err(wrong()),
        };
        values.iter().map(text).collect()
    }

    fn boolean(&self, entry: &Entry) -> Result<bool> {
        match &entry.value {
            SettingValue::Bool(value) => Ok(*value),
            SettingValue::Text(text) if text == "true" || text == "1" => Ok(true),
            SettingValue::Text(text) if text == "false" || text == "0" => Ok(false),
            SettingValue::Number(number) if number == "1" || number == "0" => Ok(number == "1"),
            _ => Err(self.invalid(entry, &format!("\"{}\" must be true or false", entry.key))),
        }
    }

    fn config(&mut self) -> &mut CliConfig {
        &mut self.loaded.config
    }

    fn position(&self, entry: &Entry) -> FilePosition {
        FilePosition::from_offset(self.path, self.text, entry.offset)
    }

    fn invalid(&self, entry: &Entry, message: &str) -> CliConfigError {
        CliConfigError::Invalid { position: self.position(entry), message: message.to_owned() }
    }
}

/// Replaces `$NAME` and `${NAME}`; a variable that is not set is empty.
fn expand(text: &str, variables: Variables<'_>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        if let Some((name, following)) = braced {
            expanded.push_str(&variables(name).unwrap_or_default());
            rest = following;
            continue;
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let length = after.find(|character| !is_name(character)).unwrap_or(after.len());
        let (name, following) = after.split_at(length);
        if name.is_empty() {
            expanded.push('$');
        } else {
            expanded.push_str(&variables(name).unwrap_or_default());
        }
        rest = following;
    }
    expanded.push_str(rest);
    expanded
}
