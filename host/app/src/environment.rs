//! Every environment variable that Wardian reads, except for those that replace the arguments of
//! backends (`docs/state.md`). No other module of this crate contains the name of an environment
//! variable.
//!
//! The variables are read once, at the start. Their values therefore remain the same during the
//! whole run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wardian_legacy_grpc_bridge::server::HostHandshake;
use wardian_policy::{POLICY_FILE_NAME, PolicyPaths};
use wardian_process::variable_matches;

/// The directory of the organisation's policy. No variable can change it.
const SYSTEM_DIRECTORY: &str = if cfg!(windows) { r"C:\ProgramData\wardian" } else { "/etc/wardian" };

/// How often an apply stores its unfinished state in a remote backend, in seconds.
const DEFAULT_PERSIST_INTERVAL: u64 = 20;

#[derive(Clone, Copy, Debug)]
pub struct EnvironmentVariable {
    /// The variable's name. If it ends with `_`, it is a prefix.
    pub name: &'static str,
    pub purpose: &'static str,
}

macro_rules! variables {
    ($($constant:ident = $name:literal: $purpose:literal;)*) => {
        $(const $constant: &str = $name;)*

        /// All variables, in the order of the help text.
        pub const VARIABLES: &[EnvironmentVariable] =
            &[$(EnvironmentVariable { name: $name, purpose: $purpose }),*];
    };
}

variables! {
    ROOT_VARIABLE = "TF_VAR_": "TF_VAR_name sets the root module's variable `name`";
    ARGUMENTS = "TF_CLI_ARGS": "additional arguments for every command";
    COMMAND_ARGUMENTS = "TF_CLI_ARGS_": "TF_CLI_ARGS_plan: additional arguments for `plan` (spaces and dashes become `_`)";
    DATA_DIRECTORY = "TF_DATA_DIR": "the directory used instead of .terraform";
    PERSIST_INTERVAL = "TF_STATE_PERSIST_INTERVAL": "how often an apply stores its unfinished state in a remote backend, in seconds (default: 20)";
    INPUT = "TF_INPUT": "`0` or `false`: never prompt for variable values";
    IN_AUTOMATION = "TF_IN_AUTOMATION": "not empty: do not suggest the next commands";
    WORKSPACE = "TF_WORKSPACE": "the selected workspace (overrides `workspace select`)";
    CLI_CONFIG_FILE = "TF_CLI_CONFIG_FILE": "the CLI configuration file used instead of ~/.terraformrc";
    TOKEN = "TF_TOKEN_": "TF_TOKEN_app_example_com: the API token for the host app.example.com";
    PLUGIN_CACHE = "TF_PLUGIN_CACHE_DIR": "the cache directory for provider packages, shared by all configurations";
    PLUGIN_CACHE_MAY_BREAK = "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE": "not empty: use cached packages whose hash is not in the lock file";
    REGISTRY_RETRIES = "TF_REGISTRY_DISCOVERY_RETRY": "how many times a failed request to a registry is retried";
    REGISTRY_TIMEOUT = "TF_REGISTRY_CLIENT_TIMEOUT": "the timeout of requests to registries, in seconds";
    USER_AGENT = "TF_APPEND_USER_AGENT": "text that is appended to the user agent of requests";
    AWS_ACCESS_KEY_ID = "AWS_ACCESS_KEY_ID": "the access key for modules in S3, with AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN";
    AWS_SECRET_ACCESS_KEY = "AWS_SECRET_ACCESS_KEY": "the secret of the access key for modules in S3";
    AWS_SESSION_TOKEN = "AWS_SESSION_TOKEN": "the session token of the access key for modules in S3";
    AWS_PROFILE = "AWS_PROFILE": "the profile for modules in S3, in ~/.aws/credentials and ~/.aws/config";
    AWS_CREDENTIALS_FILE = "AWS_SHARED_CREDENTIALS_FILE": "the file used instead of ~/.aws/credentials, for modules in S3";
    AWS_CONFIG_FILE = "AWS_CONFIG_FILE": "the file used instead of ~/.aws/config, for modules in S3";
    GOOGLE_ACCESS_TOKEN = "GOOGLE_OAUTH_ACCESS_TOKEN": "the access token for modules in Google Cloud Storage";
    GOOGLE_CREDENTIALS = "GOOGLE_APPLICATION_CREDENTIALS": "the file with the credentials for modules in Google Cloud Storage";
    OFFLINE = "WARDIAN_OFFLINE": "not empty: no command sends requests to registries, mirrors and module sources";
    OCI_PLAIN_HTTP = "WARDIAN_OCI_PLAIN_HTTP": "the OCI registries on this machine that are accessed without TLS: comma-separated, such as localhost:5000";
    SOURCE_DATE = "SOURCE_DATE_EPOCH": "the timestamp of files in published releases, in seconds since 1970, instead of 1980-01-01";
    NETRC = "NETRC": "the netrc file with credentials for downloads, instead of ~/.netrc";
    LOG = "WARDIAN_LOG": "the log level for standard error: trace, debug, info, warn, error, or a filter such as `wardian_engine=debug`";
    TERRAFORM_LOG = "TF_LOG": "the log level if WARDIAN_LOG is not set; `JSON`: level trace, in JSON format";
    CORE_LOG = "TF_LOG_CORE": "the log level of everything except plugins, if WARDIAN_LOG and TF_LOG are not set";
    PROVIDER_LOG = "TF_LOG_PROVIDER": "the log level of plugins";
    LOG_PATH = "TF_LOG_PATH": "the file to which log lines are appended, instead of standard error";
    TRACES = "OTEL_TRACES_EXPORTER": "`otlp`: send traces to an OpenTelemetry collector; the other variables of OTLP exporters apply, such as OTEL_EXPORTER_OTLP_ENDPOINT (default: http://localhost:4318)";
    ENCRYPTION = "TF_ENCRYPTION": "the configuration of the encryption of states and plans, in addition to the encryption block";
    PLAN_PASSPHRASE = "WARDIAN_PLAN_PASSPHRASE": "the passphrase of encrypted plan files";
    POLICY = "WARDIAN_POLICY": "a policy of the organisation, in addition to the one in /etc/wardian";
    AUDIT = "WARDIAN_AUDIT": "the audit log file, for commands without -audit-log";
    CALL_LOG = "WARDIAN_CALL_LOG": "the file to which the calls of plugins are appended with their arguments, for `plugin debug`";
    CONFIGURATION_HOME = "XDG_CONFIG_HOME": "the parent of the user's policy directory `wardian`, instead of ~/.config";
    RUNTIME_DIRECTORY = "XDG_RUNTIME_DIR": "the parent of `containers/auth.json`, the credentials file of container tools";
    PROGRAMS = "PATH": "the directories in which git, hg and the credential helpers of container tools are found";
    OUTPUT = "WARDIAN_OUTPUT": "`terraform` or `tofu`: print exactly that program's lines, as if called by its name";
    NO_COLOR = "NO_COLOR": "not empty: no color";
    TERMINAL = "TERM": "`dumb`: no color and no live progress";
    EDITOR = "EDITOR": "the editor that the terminal view of a plan starts, with VISUAL";
    VISUAL = "VISUAL": "the editor that takes precedence over EDITOR";
    COMPLETION_LINE = "COMP_LINE": "the command line to complete, set by `complete -C wardian wardian` in bash";
    COMPLETION_POINT = "COMP_POINT": "the position of the cursor in COMP_LINE";
    COLUMNS = "COLUMNS": "the line width of output if there is no terminal";
    NATIVE_ENVIRONMENT = "WARDIAN_NATIVE_ENVIRONMENT": "additional variables that native plugins receive: \
        comma-separated names; `FOO_*` for all with that prefix";
    REATTACH = "TF_REATTACH_PROVIDERS": "running providers to connect to: the JSON object that a provider in \
        debug mode prints";
    DISABLE_PLUGIN_TLS = "TF_DISABLE_PLUGIN_TLS": "not empty: connections to native plugins do not use TLS";
    STRICT = "WARDIAN_STRICT_PLUGINS": "not empty: every run hashes native plugins and requests their \
        schemas again, without the cache";
    PLUGIN_COOKIE = "TF_PLUGIN_MAGIC_COOKIE": "the value that a host passes to the plugins that it starts, \
        for `wardian serve`";
    PLUGIN_VERSIONS = "PLUGIN_PROTOCOL_VERSIONS": "the protocol versions that the host supports";
    PLUGIN_CERTIFICATE = "PLUGIN_CLIENT_CERT": "the host's certificate";
    PLUGIN_SOCKETS = "PLUGIN_UNIX_SOCKET_DIR": "the directory in which a plugin creates its socket";
    SSH_AGENT = "SSH_AUTH_SOCK": "the SSH agent for the connections of provisioners";
    TEMPORARY = "TMPDIR": "the directory of native plugins' sockets, instead of /tmp";
    CACHE_DIRECTORY = "WARDIAN_CACHE_DIR": "the directory of compiled plugins";
    CACHE_HOME = "XDG_CACHE_HOME": "the parent of the cache directory, instead of ~/.cache";
    DATA_HOME = "XDG_DATA_HOME": "the user's data directory (cache key, plugin mirror), instead of \
        ~/.local/share";
    DATA_DIRECTORIES = "XDG_DATA_DIRS": "the parents of additional plugin mirrors, instead of \
        /usr/local/share:/usr/share";
    SDK_DIRECTORY = "WARDIAN_SDK_PATH": "the directory of the SDK for `plugin new`, instead of the released SDK";
    HOME = "HOME": "the home directory";
    USER = "USER": "the user name in the lock information of a state";
    LOGIN = "LOGNAME": "the user name if USER is not set";
}

/// The user's credentials for modules in object stores.
pub(crate) struct ModuleCredentials {
    pub(crate) aws_access_key_id: Option<String>,
    pub(crate) aws_secret_access_key: Option<String>,
    pub(crate) aws_session_token: Option<String>,
    pub(crate) aws_profile: Option<String>,
    pub(crate) aws_credentials_file: Option<PathBuf>,
    pub(crate) aws_config_file: Option<PathBuf>,
    pub(crate) google_access_token: Option<String>,
    pub(crate) google_credentials_file: Option<PathBuf>,
}

/// The environment when Wardian started.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnvironment {
    variables: BTreeMap<String, String>,
    account_home: Option<PathBuf>,
    own_program: Option<PathBuf>,
}

impl ProcessEnvironment {
    /// Sets the home directory that the system has recorded for the account. It is used if `HOME`
    /// is not set.
    pub fn with_account_home(mut self, home: Option<PathBuf>) -> Self {
        self.account_home = home;
        self
    }

    /// Sets the file of the running program. Started with
    /// [`COMPILER_ARGUMENT`](wardian_sandbox::COMPILER_ARGUMENT), the program is the separate
    /// process that compiles components.
    pub fn with_own_program(mut self, program: Option<PathBuf>) -> Self {
        self.own_program = program;
        self
    }

    /// Returns the executable of the running program, if it can compile components.
    pub(crate) fn own_program(&self) -> Option<&Path> {
        self.own_program.as_deref()
    }

    /// Returns the value of any variable, for settings that can refer to variables.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(PathBuf::from)
    }

    /// Returns the names and values of the input variables that `TF_VAR_name` variables set.
    pub fn root_variables(&self) -> Vec<(String, String)> {
        self.variables
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(ROOT_VARIABLE)?.to_owned(), value.clone())))
            .collect()
    }

    /// Returns the additional arguments for a command, each with the name of its environment
    /// variable: first the arguments for this command, then the arguments for all commands. The
    /// command's name includes its parent commands.
    pub fn arguments(&self, command: &str) -> Vec<(String, &str)> {
        let own = format!("{COMMAND_ARGUMENTS}{}", command.replace([' ', '-'], "_"));
        [own, ARGUMENTS.to_owned()]
            .into_iter()
            .filter_map(|name| self.text(&name).map(|text| (name.clone(), text)))
            .collect()
    }

    /// Returns the data directory of a configuration, which contains plugins among other files.
    pub fn data_directory(&self) -> PathBuf {
        self.path(DATA_DIRECTORY).unwrap_or_else(|| PathBuf::from(".terraform"))
    }

    /// Returns the configuration of the encryption of states and plans, if it is set.
    pub(crate) fn encryption(&self) -> Option<&str> {
        self.text(ENCRYPTION).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns the passphrase of encrypted plan files, if it is set.
    pub fn plan_passphrase(&self) -> Option<String> {
        self.text(PLAN_PASSPHRASE).map(str::to_owned)
    }

    /// Returns whether Wardian may prompt the user for values.
    pub fn may_ask(&self) -> bool {
        !matches!(self.text(INPUT), Some("0" | "false" | "FALSE" | "False" | "f" | "F"))
    }

    /// Returns how often an apply stores its unfinished state in a remote backend.
    pub(crate) fn persist_interval(&self) -> Duration {
        let seconds = self.text(PERSIST_INTERVAL).and_then(|text| text.trim().parse().ok());
        Duration::from_secs(seconds.unwrap_or(DEFAULT_PERSIST_INTERVAL))
    }

    /// Returns whether `TF_IN_AUTOMATION` is set.
    pub fn in_automation(&self) -> bool {
        self.text(IN_AUTOMATION).is_some()
    }

    /// Returns the variables whose names match one of the patterns.
    pub fn matching<'a>(&'a self, patterns: &'a [String]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let fits = |name: &str| patterns.iter().any(|pattern| variable_matches(pattern, name));
        self.all().filter(move |(name, _)| fits(name))
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns patterns of additional variables that native plugins receive.
    pub fn native_plugin_patterns(&self) -> Vec<String> {
        let listed = self.text(NATIVE_ENVIRONMENT).unwrap_or_default().split(',').map(str::trim);
        listed.filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the list of running providers to which Wardian attaches.
    pub fn reattached(&self) -> &str {
        self.text(REATTACH).unwrap_or_default()
    }

    /// Returns whether connections to native plugins are secured with TLS.
    pub fn secures_plugins(&self) -> bool {
        self.text(DISABLE_PLUGIN_TLS).is_none()
    }

    /// Returns whether cached data about native plugins is ignored.
    pub fn distrusts_caches(&self) -> bool {
        self.text(STRICT).is_some()
    }

    /// Returns the file in which the calls of plugins are recorded, if it is set.
    pub(crate) fn call_log(&self) -> Option<PathBuf> {
        self.path(CALL_LOG)
    }

    /// Returns the directory of the SDK that new projects use, if it is set.
    pub fn sdk_directory(&self) -> Option<PathBuf> {
        self.path(SDK_DIRECTORY)
    }

    /// Returns the directory for files that are required only during the run.
    pub fn temporary_directory(&self) -> PathBuf {
        self.path(TEMPORARY).unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    /// Returns the variables in which a host passes settings to this process, if the host started
    /// it as a plugin.
    pub fn host(&self) -> HostHandshake {
        let text = |name| self.text(name).map(str::to_owned);
        HostHandshake {
            cookie: text(PLUGIN_COOKIE),
            versions: text(PLUGIN_VERSIONS),
            certificate: text(PLUGIN_CERTIFICATE),
            socket_directory: self.path(PLUGIN_SOCKETS).unwrap_or_else(|| self.temporary_directory()),
        }
    }

    /// Returns the environment for a process that a host started as its plugin. The environment
    /// does not contain the variables that the user set for the host's command line.
    pub fn for_plugin(mut self) -> Self {
        let meant_for_the_host = |name: &str| {
            name.starts_with(ARGUMENTS)
                || [LOG_PATH, DATA_DIRECTORY, CLI_CONFIG_FILE, WORKSPACE, REATTACH].contains(&name)
        };
        self.variables.retain(|name, _| !meant_for_the_host(name));
        self
    }

    pub fn workspace(&self) -> Option<&str> {
        self.text(WORKSPACE)
    }

    pub fn cli_config_file(&self) -> Option<PathBuf> {
        self.path(CLI_CONFIG_FILE)
    }

    /// Returns the names and values of the variables with API tokens.
    pub(crate) fn registry_tokens(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let tokens = self.variables.iter().filter(|(name, _)| name.starts_with(TOKEN));
        tokens.map(|(name, value)| (name.clone(), value.clone()))
    }

    /// Returns the plugin cache that overrides the cache in the CLI configuration.
    pub(crate) fn plugin_cache(&self) -> Option<PathBuf> {
        self.path(PLUGIN_CACHE)
    }

    /// Returns whether cached packages may be used although the lock file has no hash of them.
    pub(crate) fn plugin_cache_may_break_lock_file(&self) -> bool {
        self.text(PLUGIN_CACHE_MAY_BREAK).is_some()
    }

    /// Returns the netrc file that overrides the file in the home directory.
    pub(crate) fn netrc(&self) -> Option<PathBuf> {
        self.path(NETRC)
    }

    /// Returns whether no requests to registries, mirrors and module sources are sent.
    pub(crate) fn is_offline(&self) -> bool {
        self.text(OFFLINE).is_some()
    }

    /// Returns the user's credentials for modules in object stores.
    pub(crate) fn module_credentials(&self) -> ModuleCredentials {
        let text = |name| self.text(name).map(str::to_owned);
        let file = |name, path: &str| self.path(name).or_else(|| Some(self.home()?.join(path)));
        ModuleCredentials {
            aws_access_key_id: text(AWS_ACCESS_KEY_ID),
            aws_secret_access_key: text(AWS_SECRET_ACCESS_KEY),
            aws_session_token: text(AWS_SESSION_TOKEN),
            aws_profile: text(AWS_PROFILE),
            aws_credentials_file: file(AWS_CREDENTIALS_FILE, ".aws/credentials"),
            aws_config_file: file(AWS_CONFIG_FILE, ".aws/config"),
            google_access_token: text(GOOGLE_ACCESS_TOKEN),
            google_credentials_file: file(
                GOOGLE_CREDENTIALS,
                ".config/gcloud/application_default_credentials.json",
            ),
        }
    }

    /// Returns the OCI registries that are accessed without TLS.
    pub(crate) fn oci_plain_http(&self) -> impl Iterator<Item = &str> {
        let listed = self.text(OCI_PLAIN_HTTP).unwrap_or_default().split(',').map(str::trim);
        listed.filter(|registry| !registry.is_empty())
    }

    /// Returns the timestamp of published releases.
    pub fn source_date(&self) -> Option<&str> {
        self.text(SOURCE_DATE)
    }

    /// Returns how many times a failed request to a registry is retried.
    pub(crate) fn registry_retries(&self) -> Option<u32> {
        self.text(REGISTRY_RETRIES)?.parse().ok()
    }

    /// Returns the time limit of requests to registries.
    pub(crate) fn registry_timeout(&self) -> Option<Duration> {
        let seconds: u64 = self.text(REGISTRY_TIMEOUT)?.parse().ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Returns the text that is appended to the user agent.
    pub(crate) fn user_agent_suffix(&self) -> Option<&str> {
        let suffix = self.text(USER_AGENT)?.trim();
        let is_printable = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        (!suffix.is_empty() && suffix.bytes().all(is_printable)).then_some(suffix)
    }

    pub(crate) fn runtime_directory(&self) -> Option<PathBuf> {
        self.absolute(RUNTIME_DIRECTORY)
    }

    /// Returns the parent of the configuration directories of the user's programs, if it is set.
    pub fn configuration_home(&self) -> Option<PathBuf> {
        self.absolute(CONFIGURATION_HOME)
    }

    /// Returns the directories in which programs are searched.
    pub(crate) fn program_directories(&self) -> Vec<PathBuf> {
        std::env::split_paths(self.text(PROGRAMS).unwrap_or_default()).collect()
    }

    pub fn log(&self) -> Option<&str> {
        self.text(LOG).or_else(|| self.text(TERRAFORM_LOG))
    }

    /// Returns the log level of everything except plugins. It applies if no general filter is set.
    pub fn core_log(&self) -> Option<&str> {
        self.text(CORE_LOG)
    }

    /// Returns the log level of plugins, if it is set.
    pub fn provider_log(&self) -> Option<&str> {
        self.text(PROVIDER_LOG)
    }

    /// Returns the traces exporter, if one is set.
    pub fn traces_exporter(&self) -> Option<&str> {
        self.text(TRACES)
    }

    pub fn log_path(&self) -> Option<PathBuf> {
        self.path(LOG_PATH)
    }

    /// Returns the name of the product whose name and commands the output contains, if it is set.
    pub fn output_product(&self) -> Option<&str> {
        self.text(OUTPUT)
    }

    /// Returns whether a terminal can move its cursor.
    pub fn terminal_has_cursor(&self) -> bool {
        self.text(TERMINAL) != Some("dumb")
    }

    /// Returns whether colors may be shown on a terminal.
    pub fn wants_color(&self) -> bool {
        self.text(NO_COLOR).is_none() && self.terminal_has_cursor()
    }

    /// Returns the width of output that is not written to a terminal.
    pub fn columns(&self) -> Option<usize> {
        self.text(COLUMNS)?.parse().ok().filter(|columns| *columns > 20)
    }

    /// Returns the command line that a shell requests to complete, up to the cursor.
    pub fn completion_line(&self) -> Option<String> {
        let line = self.text(COMPLETION_LINE)?;
        let point = self.text(COMPLETION_POINT).and_then(|text| text.parse().ok()).unwrap_or(line.len());
        Some(line.chars().take(point).collect())
    }

    /// Returns the user's editor: a program and its options.
    pub fn editor(&self) -> Option<&str> {
        self.text(VISUAL).or_else(|| self.text(EDITOR))
    }

    pub fn ssh_agent(&self) -> Option<PathBuf> {
        self.path(SSH_AGENT)
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.path(HOME).or_else(|| self.account_home.clone())
    }

    /// Returns the directory of compiled plugins; `None` if there is no home directory.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        self.path(CACHE_DIRECTORY).or_else(|| {
            let caches = self.absolute(CACHE_HOME).or_else(|| Some(self.home()?.join(".cache")))?;
            Some(caches.join("wardian"))
        })
    }

    /// Returns the directory for data that must not be lost and that others must not be able to
    /// read.
    pub fn private_directory(&self) -> Option<PathBuf> {
        Some(self.data_home()?.join("wardian"))
    }

    /// Returns the `terraform/plugins` directory in each of the data directories: the user's first,
    /// then the system's.
    pub fn plugin_directories(&self) -> Vec<PathBuf> {
        let machine = self.text(DATA_DIRECTORIES).unwrap_or("/usr/local/share:/usr/share");
        let machine = machine.split(':').map(PathBuf::from).filter(|path| path.is_absolute());
        self.data_home().into_iter().chain(machine).map(|path| path.join("terraform/plugins")).collect()
    }

    /// Returns the user's name, for the lock information.
    pub fn user(&self) -> String {
        let named = self.text(USER).or_else(|| self.text(LOGIN)).map(ToOwned::to_owned);
        named.or_else(account_name).unwrap_or_else(|| "unknown".to_owned())
    }

    /// Returns the path of the audit log. It may be relative to the directory in which Wardian was
    /// started.
    pub fn audit_log(&self) -> Option<PathBuf> {
        self.path(AUDIT)
    }

    /// Returns the paths of policy files. A relative path in the variable is relative to the
    /// directory in which Wardian was started.
    pub fn policy_places(&self, root_module: &Path, started_in: &Path) -> PolicyPaths {
        let configurations = self.absolute(CONFIGURATION_HOME).or_else(|| Some(self.home()?.join(".config")));
        PolicyPaths {
            system: Some(Path::new(SYSTEM_DIRECTORY).join(POLICY_FILE_NAME)),
            from_environment: self.path(POLICY).map(|path| started_in.join(path)),
            user: configurations.map(|directory| directory.join("wardian").join(POLICY_FILE_NAME)),
            root_module: root_module.to_owned(),
        }
    }

    fn data_home(&self) -> Option<PathBuf> {
        self.absolute(DATA_HOME).or_else(|| Some(self.home()?.join(".local/share")))
    }

    /// Returns the path in a variable, unless the path is relative: the XDG specification requires
    /// relative paths to be ignored.
    fn absolute(&self, name: &str) -> Option<PathBuf> {
        self.path(name).filter(|path: &PathBuf| Path::is_absolute(path))
    }
}

impl FromIterator<(String, String)> for ProcessEnvironment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().collect(), account_home: None, own_program: None }
    }
}

/// Returns the name of the account under which the process runs.
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

    fn environment(variables: &[(&str, &str)]) -> ProcessEnvironment {
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn tf_var_prefix_is_removed() {
        let environment = environment(&[("TF_VAR_a", "1"), ("TF_VAR_b_c", ""), ("TF_VARIABLE", "2")]);
        let expected = [("a".to_owned(), "1".to_owned()), ("b_c".to_owned(), String::new())];
        assert_eq!(environment.root_variables(), expected);
    }

    #[test]
    fn command_specific_arguments_precede_general_arguments() {
        let environment = environment(&[("TF_CLI_ARGS", "-no-color"), ("TF_CLI_ARGS_state_list", "-id=x")]);
        let texts = |command| -> Vec<&str> {
            environment.arguments(command).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts("state list"), ["-id=x", "-no-color"]);
        assert_eq!(texts("plan"), ["-no-color"]);
    }

    #[test]
    fn patterns_match_names_and_prefixes() {
        let environment = environment(&[
            ("AWS_REGION", "eu"),
            ("AWSX", ""),
            ("HOME", "/h"),
            ("HOMELY", ""),
            ("WARDIAN_NATIVE_ENVIRONMENT", " HOME, AWS_*,,"),
        ]);
        let patterns = environment.native_plugin_patterns();
        let found: Vec<_> = environment.matching(&patterns).collect();
        assert_eq!(found, [("AWS_REGION", "eu"), ("HOME", "/h")]);
    }

    #[test]
    fn directories_default_to_home() {
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
    fn environment_variables_determine_policy_locations() {
        let places = |variables: &[(&str, &str)]| {
            environment(variables).policy_places(Path::new("/srv/project"), Path::new("/srv"))
        };
        let own = places(&[("HOME", "/h")]);
        assert_eq!(own.from_environment, None);
        assert_eq!(own.user, Some("/h/.config/wardian/wardian.policy.hcl".into()));
        assert!(own.system.is_some_and(|path| path.is_absolute()));
        let named = places(&[("HOME", "/h"), ("WARDIAN_POLICY", "p.hcl"), ("XDG_CONFIG_HOME", "/c")]);
        assert_eq!(named.from_environment, Some("/srv/p.hcl".into()));
        assert_eq!(named.user, Some("/c/wardian/wardian.policy.hcl".into()));
    }

    #[test]
    fn every_variable_is_documented_once() {
        let mut names: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
        assert!(VARIABLES.iter().all(|variable| !variable.purpose.is_empty()));
    }
}
