//! Every environment variable that the program looks at, and no other place
//! looks at any.
//!
//! The variables are read once, at the start: what a run does cannot depend on
//! when it looks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wardian_legacy_grpc_bridge::server::Host;
use wardian_policy::{POLICY_FILE_NAME, PolicyPlaces};

/// Where the organisation's policy is, whatever the environment says.
const SYSTEM_DIRECTORY: &str = if cfg!(windows) { r"C:\ProgramData\wardian" } else { "/etc/wardian" };

/// A variable and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
}

macro_rules! variables {
    ($($constant:ident = $name:literal: $purpose:literal;)*) => {
        $(const $constant: &str = $name;)*

        /// All of them, in the order in which they are explained.
        pub(crate) const VARIABLES: &[Variable] =
            &[$(Variable { name: $name, purpose: $purpose }),*];
    };
}

variables! {
    ROOT_VARIABLE = "TF_VAR_": "TF_VAR_name gives the root module's variable `name` a value";
    ARGUMENTS = "TF_CLI_ARGS": "further arguments of every command";
    COMMAND_ARGUMENTS = "TF_CLI_ARGS_": "TF_CLI_ARGS_plan: further arguments of `plan` (spaces and dashes become `_`)";
    DATA_DIRECTORY = "TF_DATA_DIR": "the directory used instead of .terraform";
    INPUT = "TF_INPUT": "`0` or `false`: never ask for values of variables";
    IN_AUTOMATION = "TF_IN_AUTOMATION": "not empty: leave out what to type next";
    WORKSPACE = "TF_WORKSPACE": "the workspace, whatever `workspace select` selected";
    CLI_CONFIG_FILE = "TF_CLI_CONFIG_FILE": "the CLI configuration file used instead of ~/.terraformrc";
    LOG = "WARDIAN_LOG": "what is logged to standard error: trace, debug, info, warn, error, or filters as `wardian_engine=debug`";
    TERRAFORM_LOG = "TF_LOG": "the same, where WARDIAN_LOG is not set; JSON means trace as JSON";
    CORE_LOG = "TF_LOG_CORE": "a level for what is not of plugins, where neither of them is set";
    PROVIDER_LOG = "TF_LOG_PROVIDER": "a level for what plugins say, whatever else is set";
    LOG_PATH = "TF_LOG_PATH": "a file that log lines are appended to, instead of standard error";
    PLAN_PASSPHRASE = "WARDIAN_PLAN_PASSPHRASE": "the passphrase of encrypted plan files";
    POLICY = "WARDIAN_POLICY": "a policy of the organisation, besides the one in /etc/wardian";
    AUDIT = "WARDIAN_AUDIT": "a file to record in what plugins touch, for commands that are given no -audit-log";
    CONFIGURATION_HOME = "XDG_CONFIG_HOME": "where the person's own policy is (in wardian/), instead of ~/.config";
    NO_COLOR = "NO_COLOR": "not empty: no colour";
    TERMINAL = "TERM": "`dumb`: no colour";
    COLUMNS = "COLUMNS": "the width that text is wrapped to where no terminal says";
    NATIVE_ENVIRONMENT = "WARDIAN_NATIVE_ENVIRONMENT": "further variables that native plugins are given: names with commas between; `FOO_*` for all that begin so";
    REATTACH = "TF_REATTACH_PROVIDERS": "providers that run already, as one under a debugger prints it: JSON with their addresses";
    DISABLE_PLUGIN_TLS = "TF_DISABLE_PLUGIN_TLS": "not empty: connections to native plugins are not secured";
    STRICT = "WARDIAN_STRICT_PLUGINS": "not empty: native plugins are hashed and asked for their schemas in every run, whatever was kept of earlier ones";
    PLUGIN_COOKIE = "TF_PLUGIN_MAGIC_COOKIE": "what a host says to a plugin that it starts, for `wardian serve`";
    PLUGIN_VERSIONS = "PLUGIN_PROTOCOL_VERSIONS": "the versions of the protocol that the host speaks";
    PLUGIN_CERTIFICATE = "PLUGIN_CLIENT_CERT": "the host's certificate";
    PLUGIN_SOCKETS = "PLUGIN_UNIX_SOCKET_DIR": "where the host wants the socket of a plugin";
    SSH_AGENT = "SSH_AUTH_SOCK": "the SSH agent that connections with machines to be provisioned may use";
    TEMPORARY = "TMPDIR": "where the sockets of native plugins are, instead of /tmp";
    CACHE_DIRECTORY = "WARDIAN_CACHE_DIR": "where compiled plugins are kept";
    CACHE_HOME = "XDG_CACHE_HOME": "the parent of that, instead of ~/.cache";
    DATA_HOME = "XDG_DATA_HOME": "where the key to compiled plugins and a mirror of plugins are, instead of ~/.local/share";
    DATA_DIRECTORIES = "XDG_DATA_DIRS": "where further mirrors of plugins are, instead of /usr/local/share:/usr/share";
    HOME = "HOME": "the home directory";
    USER = "USER": "who holds a lock on a state";
    LOGIN = "LOGNAME": "the same, where USER is not set";
}

/// The environment as it was at the start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The process's own. Variables that are not UTF-8 are passed over.
    pub(crate) fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// Any variable, for settings whose text may mention one.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// `TF_VAR_name` as names and texts.
    pub(crate) fn root_variables(&self) -> Vec<(String, String)> {
        self.variables
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(ROOT_VARIABLE)?.to_owned(), value.clone())))
            .collect()
    }

    /// Further arguments of a command, which is named with its parents: those of
    /// the command, then those of all. Returned with the variable's name.
    pub(crate) fn arguments(&self, command: &str) -> Vec<(String, &str)> {
        let own = format!("{COMMAND_ARGUMENTS}{}", command.replace([' ', '-'], "_"));
        [own, ARGUMENTS.to_owned()]
            .into_iter()
            .filter_map(|name| self.text(&name).map(|text| (name.clone(), text)))
            .collect()
    }

    /// Where plugins and other data of a configuration are.
    pub(crate) fn data_directory(&self) -> PathBuf {
        self.path(DATA_DIRECTORY).unwrap_or_else(|| PathBuf::from(".terraform"))
    }

    /// The passphrase of encrypted plan files, where it is given.
    pub(crate) fn plan_passphrase(&self) -> Option<String> {
        self.text(PLAN_PASSPHRASE).map(str::to_owned)
    }

    /// Whether values may be asked for.
    pub(crate) fn may_ask(&self) -> bool {
        !matches!(self.text(INPUT), Some("0" | "false" | "FALSE" | "False" | "f" | "F"))
    }

    /// Whether a machine reads along.
    pub(crate) fn in_automation(&self) -> bool {
        self.text(IN_AUTOMATION).is_some()
    }

    /// The variables whose names fit one of some patterns, for another program.
    pub(crate) fn fitting<'a>(&'a self, patterns: &'a [String]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fits = |name: &str| {
            patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == pattern,
            })
        };
        self.all().filter(move |(name, _)| fits(name))
    }

    /// All variables.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Patterns of what native plugins are given besides.
    pub(crate) fn for_native_plugins(&self) -> Vec<String> {
        let listed = self.text(NATIVE_ENVIRONMENT).unwrap_or_default().split(',').map(str::trim);
        listed.filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
    }

    /// Which providers run already.
    pub(crate) fn reattached(&self) -> &str {
        self.text(REATTACH).unwrap_or_default()
    }

    /// Whether connections to native plugins are secured.
    pub(crate) fn secures_plugins(&self) -> bool {
        self.text(DISABLE_PLUGIN_TLS).is_none()
    }

    /// Whether nothing that was kept of native plugins is believed.
    pub(crate) fn distrusts_what_was_kept(&self) -> bool {
        self.text(STRICT).is_some()
    }

    /// Where what is of no use after the run is kept.
    pub(crate) fn temporary_directory(&self) -> PathBuf {
        self.path(TEMPORARY).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// What a host that started us as its plugin says.
    pub(crate) fn host(&self) -> Host {
        let text = |name| self.text(name).map(str::to_owned);
        Host {
            cookie: text(PLUGIN_COOKIE),
            versions: text(PLUGIN_VERSIONS),
            certificate: text(PLUGIN_CERTIFICATE),
            socket_directory: self.path(PLUGIN_SOCKETS).unwrap_or_else(|| self.temporary_directory()),
        }
    }

    /// The environment of a process that a host started as its plugin: what the person
    /// said in it to the host's own command line is not meant for us.
    pub(crate) fn of_plugin(mut self) -> Self {
        let meant_for_the_host = |name: &str| {
            name.starts_with(ARGUMENTS)
                || [LOG_PATH, DATA_DIRECTORY, CLI_CONFIG_FILE, WORKSPACE, REATTACH].contains(&name)
        };
        self.variables.retain(|name, _| !meant_for_the_host(name));
        self
    }

    /// The workspace, where one is asked for.
    pub(crate) fn workspace(&self) -> Option<&str> {
        self.text(WORKSPACE)
    }

    /// The CLI configuration file that is asked for.
    pub(crate) fn cli_config_file(&self) -> Option<PathBuf> {
        self.path(CLI_CONFIG_FILE)
    }

    /// What to log.
    pub(crate) fn log(&self) -> Option<&str> {
        self.text(LOG).or_else(|| self.text(TERRAFORM_LOG))
    }

    /// What to log of all but the plugins, where nothing says it of everything.
    pub(crate) fn core_log(&self) -> Option<&str> {
        self.text(CORE_LOG)
    }

    /// What to log of plugins, where they are not to be like the rest.
    pub(crate) fn provider_log(&self) -> Option<&str> {
        self.text(PROVIDER_LOG)
    }

    /// Where to log to.
    pub(crate) fn log_path(&self) -> Option<PathBuf> {
        self.path(LOG_PATH)
    }

    /// Whether colour is welcome on a terminal.
    pub(crate) fn wants_color(&self) -> bool {
        self.text(NO_COLOR).is_none() && self.text(TERMINAL) != Some("dumb")
    }

    /// How wide to write where no terminal says.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.text(COLUMNS)?.parse().ok().filter(|columns| *columns > 20)
    }

    /// The socket of the SSH agent, if there is one.
    pub(crate) fn ssh_agent(&self) -> Option<PathBuf> {
        self.path(SSH_AGENT)
    }

    /// The home directory.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.path(HOME).or_else(std::env::home_dir)
    }

    /// Where compiled plugins are kept; nowhere without a home.
    pub(crate) fn cache_directory(&self) -> Option<PathBuf> {
        self.path(CACHE_DIRECTORY).or_else(|| {
            let caches = self.absolute(CACHE_HOME).or_else(|| Some(self.home()?.join(".cache")))?;
            Some(caches.join("wardian"))
        })
    }

    /// Where what must not be lost or read by others is kept.
    pub(crate) fn private_directory(&self) -> Option<PathBuf> {
        Some(self.data_home()?.join("wardian"))
    }

    /// `terraform/plugins` of the data directories: the person's, then the
    /// machine's.
    pub(crate) fn plugin_directories(&self) -> Vec<PathBuf> {
        let machine = self.text(DATA_DIRECTORIES).unwrap_or("/usr/local/share:/usr/share");
        let machine = machine.split(':').map(PathBuf::from).filter(|path| path.is_absolute());
        self.data_home().into_iter().chain(machine).map(|path| path.join("terraform/plugins")).collect()
    }

    /// Who is at work: a name for other people.
    pub(crate) fn user(&self) -> String {
        let named = self.text(USER).or_else(|| self.text(LOGIN)).map(ToOwned::to_owned);
        named.or_else(account_name).unwrap_or_else(|| "unknown".to_owned())
    }

    /// Where it is to be recorded what plugins touch; maybe relative to where the program
    /// was started.
    pub(crate) fn audit_log(&self) -> Option<PathBuf> {
        self.path(AUDIT)
    }

    /// Where policies are. A relative path in the variable begins where the program was
    /// started.
    pub(crate) fn policy_places(&self, root_module: &Path, started_in: &Path) -> PolicyPlaces {
        let configurations = self.absolute(CONFIGURATION_HOME).or_else(|| Some(self.home()?.join(".config")));
        PolicyPlaces {
            system: Some(Path::new(SYSTEM_DIRECTORY).join(POLICY_FILE_NAME)),
            named: self.path(POLICY).map(|path| started_in.join(path)),
            user: configurations.map(|directory| directory.join("wardian").join(POLICY_FILE_NAME)),
            root_module: root_module.to_owned(),
        }
    }

    fn data_home(&self) -> Option<PathBuf> {
        self.absolute(DATA_HOME).or_else(|| Some(self.home()?.join(".local/share")))
    }

    /// The specification of these directories says to ignore relative ones.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.path(name).filter(|path: &PathBuf| Path::is_absolute(path))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().collect() }
    }
}

/// The name of the account that the process runs as.
#[cfg(unix)]
fn account_name() -> Option<String> {
    let account = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??;
    Some(account.name)
}

#[cfg(not(unix))]
fn account_name() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn root_variables_lose_their_prefix() {
        let environment = environment(&[("TF_VAR_a", "1"), ("TF_VAR_b_c", ""), ("TF_VARIABLE", "2")]);
        let expected = [("a".to_owned(), "1".to_owned()), ("b_c".to_owned(), String::new())];
        assert_eq!(environment.root_variables(), expected);
    }

    #[test]
    fn arguments_of_the_command_come_before_those_of_all() {
        let environment = environment(&[("TF_CLI_ARGS", "-no-color"), ("TF_CLI_ARGS_state_list", "-id=x")]);
        let texts = |command| -> Vec<&str> {
            environment.arguments(command).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts("state list"), ["-id=x", "-no-color"]);
        assert_eq!(texts("plan"), ["-no-color"]);
    }

    #[test]
    fn patterns_find_names_and_beginnings() {
        let environment = environment(&[
            ("AWS_REGION", "eu"),
            ("AWSX", ""),
            ("HOME", "/h"),
            ("HOMELY", ""),
            ("WARDIAN_NATIVE_ENVIRONMENT", " HOME, AWS_*,,"),
        ]);
        let patterns = environment.for_native_plugins();
        let found: Vec<_> = environment.fitting(&patterns).collect();
        assert_eq!(found, [("AWS_REGION", "eu"), ("HOME", "/h")]);
    }

    #[test]
    fn directories_follow_the_home() {
        let with_home = environment(&[("HOME", "/h")]);
        assert_eq!(with_home.cache_directory(), Some("/h/.cache/wardian".into()));
        assert_eq!(with_home.private_directory(), Some("/h/.local/share/wardian".into()));
        let elsewhere =
            environment(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative"), ("WARDIAN_CACHE_DIR", "/c")]);
        assert_eq!(elsewhere.cache_directory(), Some("/c".into()));
        assert_eq!(
            with_home.plugin_directories(),
            [
                PathBuf::from("/h/.local/share/terraform/plugins"),
                "/usr/local/share/terraform/plugins".into(),
                "/usr/share/terraform/plugins".into()
            ]
        );
    }

    #[test]
    fn policies_are_in_fixed_places_and_where_the_variable_says() {
        let places = |variables: &[(&str, &str)]| {
            environment(variables).policy_places(Path::new("/srv/project"), Path::new("/srv"))
        };
        let own = places(&[("HOME", "/h")]);
        assert_eq!(own.named, None);
        assert_eq!(own.user, Some("/h/.config/wardian/wardian.policy.hcl".into()));
        assert!(own.system.is_some_and(|path| path.is_absolute()));
        let named = places(&[("HOME", "/h"), ("WARDIAN_POLICY", "p.hcl"), ("XDG_CONFIG_HOME", "/c")]);
        assert_eq!(named.named, Some("/srv/p.hcl".into()));
        assert_eq!(named.user, Some("/c/wardian/wardian.policy.hcl".into()));
    }

    #[test]
    fn every_variable_is_explained_once() {
        let mut names: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
        assert!(VARIABLES.iter().all(|variable| !variable.purpose.is_empty()));
    }
}
