//! The environment variables that a plugin may set for the programs that it runs.
//!
//! Many programs execute, load or trust files named by environment variables: `LD_PRELOAD` runs
//! code in any program, `GIT_SSH_COMMAND` in git. If a plugin could set these variables, a rule
//! that grants a program would grant the execution of arbitrary code. Therefore, a rule grants no
//! variables by default, and a wildcard grants none of the variables in [`CONTROLLING`]: a rule
//! must name each of these variables.

use wardian_access::EnvironmentName;

use super::Effect;
use crate::glob::Glob;

/// Variables that change what programs execute, load, trust or connect to. An asterisk matches any
/// characters. Case is ignored, because some programs ignore it.
///
/// docs/policy.md contains this table.
pub(crate) const CONTROLLING: &[(&str, &[&str])] = &[
    (
        "the dynamic linker and the C library",
        &[
            "LD_*",
            "DYLD_*",
            "_RLD*",
            "GLIBC_TUNABLES",
            "MALLOC_*",
            "GETCONF_DIR",
            "RES_OPTIONS",
            "RESOLV_*",
            "LOCALDOMAIN",
            "HOSTALIASES",
            "TZDIR",
            "LANGUAGE",
            "TEXTDOMAINDIR",
            "GMON_OUT_PREFIX",
            "GCOV_*",
            "LLVM_*",
        ],
    ),
    (
        "shells",
        &["BASH*", "ENV", "SHELL", "SHELLOPTS", "IFS", "PS0", "PS1", "PS2", "PS4", "ZDOTDIR", "GLOBIGNORE"],
    ),
    (
        "name patterns of many programs",
        &[
            "*PATH",
            "*HOME",
            "*DIR",
            "*RC",
            "*OPTIONS",
            "*OPTS",
            "*OPT",
            "*FLAGS",
            "*COMMAND",
            "*CMD",
            "*PRELOAD",
            "*PLUGIN",
            "*PLUGINS",
            "*CONFIG",
            "*CONFIG_FILE",
            "*RSH",
            "*_PROXY",
            "*_BUNDLE",
            "*_CERT",
            "*_CERTS",
        ],
    ),
    ("pagers and editors", &["*PAGER", "*EDITOR", "VISUAL", "*BROWSER", "LESS*", "VIM*", "EXINIT", "EMACS*"]),
    ("passwords and privileges", &["*ASKPASS", "SSH_*", "SUDO_*", "DOAS_*", "KRB5*", "GNUPG*", "GPG_*"]),
    (
        "users and files",
        &["USER", "LOGNAME", "PWD", "OLDPWD", "TMP", "TEMP", "XDG_*", "TERMINFO*", "TERMCAP", "NETRC"],
    ),
    ("version control", &["GIT_*", "GH_*", "HG*", "SVN_*", "CVS*", "BZR_*", "FOSSIL_*"]),
    (
        "languages and their package managers",
        &[
            "PYTHON*",
            "PIP_*",
            "UV_*",
            "POETRY_*",
            "CONDA_*",
            "VIRTUAL_ENV",
            "PERL*",
            "RUBY*",
            "GEM_*",
            "BUNDLE_*",
            "RAILS_*",
            "NODE_*",
            "NPM_*",
            "YARN_*",
            "PNPM_*",
            "BUN_*",
            "DENO_*",
            "JAVA_*",
            "_JAVA_*",
            "JDK_*",
            "JVM_*",
            "MAVEN_*",
            "GRADLE_*",
            "GO*",
            "CGO_*",
            "CARGO*",
            "RUST*",
            "PHP*",
            "LUA*",
            "TCL*",
            "GUILE_*",
            "JULIA_*",
            "R_*",
            "ERL_*",
            "DOTNET_*",
            "CORECLR_*",
            "COMPLUS_*",
            "MONO_*",
            "NIX_*",
        ],
    ),
    (
        "compilers and build tools",
        &["CC", "CXX", "CPP", "AR", "AS", "LD", "MAKE*", "CMAKE_*", "GCC_*", "COMPILER_*", "PKG_CONFIG*"],
    ),
    ("TLS and HTTP", &["OPENSSL_*", "SSL*", "CURL_*", "WGET*", "GIO_*", "P11_*", "PKCS11_*"]),
    (
        "desktop libraries and sessions",
        &["GTK_*", "QT_*", "GST_*", "DBUS_*", "SYSTEMD_*", "NOTIFY_SOCKET", "LISTEN_*", "DISPLAY"],
    ),
    (
        "clouds, containers and clusters",
        &[
            "AWS_*",
            "AZURE_*",
            "ARM_*",
            "GOOGLE_*",
            "CLOUDSDK_*",
            "OCI_*",
            "DOCKER_*",
            "BUILDKIT_*",
            "COMPOSE_*",
            "CONTAINER*",
            "PODMAN_*",
            "KUBE*",
            "HELM_*",
        ],
    ),
    (
        "automation",
        &[
            "TF_*",
            "TOFU_*",
            "TERRAFORM_*",
            "WARDIAN_*",
            "ANSIBLE_*",
            "VAULT_*",
            "CONSUL_*",
            "NOMAD_*",
            "PACKER_*",
        ],
    ),
    (
        "other tools",
        &[
            "TAR_*",
            "GZIP",
            "BZIP*",
            "ZIP*",
            "XZ_*",
            "RSYNC_*",
            "RCLONE_*",
            "PG*",
            "MYSQL_*",
            "POSIXLY_CORRECT",
        ],
    ),
];

/// Returns whether a rule must name a variable to grant it. The cost is linear in the size of the
/// table.
pub(crate) fn is_controlling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CONTROLLING.iter().flat_map(|(_, patterns)| *patterns).any(|pattern| {
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (None, Some(beginning)) => name.starts_with(beginning),
            (None, None) => name == *pattern,
        }
    })
}

/// The `environment` argument of `allow process` and `deny process`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramVariables {
    patterns: Box<[Glob]>,
    /// The patterns of a denial, in upper case, since some programs, such as npm, read variables
    /// case-insensitively.
    folded: Box<[Glob]>,
    /// Whether wildcards also grant controlling variables, because the rule grants every program
    /// with any arguments, and therefore arbitrary code.
    has_full_wildcards: bool,
}

impl ProgramVariables {
    /// Creates the patterns of a rule that allows. `grants_all_programs` specifies whether the rule
    /// grants every program with any arguments.
    pub(crate) fn granted(patterns: Vec<Glob>, grants_all_programs: bool) -> Self {
        Self { patterns: patterns.into(), folded: Box::default(), has_full_wildcards: grants_all_programs }
    }

    /// Creates the patterns of a rule that denies.
    pub(crate) fn denied(patterns: Vec<Glob>) -> Self {
        let fold = |pattern: &Glob| Glob::parse(&pattern.as_str().to_ascii_uppercase()).ok();
        let folded = patterns.iter().filter_map(fold).collect();
        Self { patterns: patterns.into(), folded, has_full_wildcards: true }
    }

    pub(crate) fn patterns(&self) -> &[Glob] {
        &self.patterns
    }

    /// Returns whether the condition is true for the variables that a plugin sets: a grant must
    /// include all of them, and a denial applies to any of them.
    pub(crate) fn matches(&self, names: &[EnvironmentName], effect: Effect) -> bool {
        match effect {
            Effect::Allow => names.iter().all(|name| self.grants(name.as_str())),
            Effect::Deny => names.iter().any(|name| {
                let name = name.as_str().to_ascii_uppercase();
                self.folded.iter().any(|pattern| pattern.matches(&name, effect.on_undecidable()))
            }),
        }
    }

    fn grants(&self, name: &str) -> bool {
        let applies = |pattern: &Glob| self.has_full_wildcards || pattern.literal().is_some();
        let mut matching =
            self.patterns.iter().filter(|one| one.matches(name, Effect::Allow.on_undecidable())).peekable();
        matching.peek().is_some() && (matching.any(applies) || !is_controlling(name))
    }

    /// Whether these patterns grant every variable that `other` grants. May return false negatives.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.patterns.iter().all(|inner| {
            self.patterns.iter().any(|pattern| {
                let includes_controlling = self.has_full_wildcards || pattern.literal().is_some();
                let inner_is_controlling = inner.literal().map_or(other.has_full_wildcards, is_controlling);
                pattern.covers(inner) && (includes_controlling || !inner_is_controlling)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<EnvironmentName> {
        names.iter().map(|name| EnvironmentName::new(name).unwrap()).collect()
    }

    fn globs(patterns: &[&str]) -> Vec<Glob> {
        patterns.iter().map(|pattern| Glob::parse(pattern).unwrap()).collect()
    }

    #[test]
    fn variables_that_control_programs_are_recognized() {
        for name in [
            "LD_PRELOAD",
            "LD_DEBUG_OUTPUT",
            "ld_preload",
            "DYLD_INSERT_LIBRARIES",
            "GIT_CONFIG_COUNT",
            "GIT_ALLOW_PROTOCOL",
            "GIT_SSH_COMMAND",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "ENV",
            "SHELLOPTS",
            "PATH",
            "Path",
            "IFS",
            "PAGER",
            "MANPAGER",
            "GIT_PAGER",
            "EDITOR",
            "KUBE_EDITOR",
            "VISUAL",
            "BROWSER",
            "SSH_ASKPASS",
            "SUDO_ASKPASS",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "PERLLIB",
            "RUBYOPT",
            "GEM_HOME",
            "NODE_OPTIONS",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
            "HOME",
            "XDG_CONFIG_HOME",
            "TMPDIR",
            "GCONV_PATH",
            "LOCPATH",
            "NLSPATH",
            "GLIBC_TUNABLES",
            "MALLOC_TRACE",
            "RES_OPTIONS",
            "HOSTALIASES",
            "OPENSSL_CONF",
            "SSL_CERT_FILE",
            "CURL_HOME",
            "https_proxy",
            "NO_PROXY",
            "DOCKER_HOST",
            "KUBECONFIG",
            "AWS_CONFIG_FILE",
            "npm_config_script_shell",
            "MAKEFLAGS",
            "TAR_OPTIONS",
            "RSYNC_RSH",
            "LESSOPEN",
            "PROMPT_COMMAND",
            "PS4",
            "CC",
            "GOFLAGS",
            "RUSTC_WRAPPER",
        ] {
            assert!(is_controlling(name), "{name}");
        }
        for name in ["ACME_TOKEN", "REGION", "LANG", "LC_ALL", "TZ", "TERM", "NO_COLOR", "DEBUG", "CI"] {
            assert!(!is_controlling(name), "{name}");
        }
    }

    #[test]
    fn wildcard_grants_no_controlling_variable() {
        let granted = ProgramVariables::granted(globs(&["ACME_*", "*_TOKEN", "GIT_TRACE", "**"]), false);
        let allows = |name| granted.matches(&names(&[name]), Effect::Allow);
        for good in ["ACME_REGION", "X_TOKEN", "GIT_TRACE", "LANG"] {
            assert!(allows(good), "{good}");
        }
        for bad in ["GIT_TRACE2", "git_trace", "LD_PRELOAD", "ACME_PATH", "AWS_TOKEN"] {
            assert!(!allows(bad), "{bad}");
        }
        assert!(!granted.matches(&names(&["ACME_REGION", "LD_PRELOAD"]), Effect::Allow));
        assert!(granted.matches(&[], Effect::Allow));
        let full = ProgramVariables::granted(globs(&["*"]), true);
        assert!(full.matches(&names(&["LD_PRELOAD"]), Effect::Allow));
        assert!(!full.matches(&names(&["A/B"]), Effect::Allow), "a star matches no slash");
    }

    #[test]
    fn denial_ignores_case() {
        let denied = ProgramVariables::denied(globs(&["npm_config_*", "LD_*"]));
        for name in ["NPM_CONFIG_X", "npm_config_x", "ld_preload"] {
            assert!(denied.matches(&names(&["A", name]), Effect::Deny), "{name}");
        }
        assert!(!denied.matches(&names(&["A"]), Effect::Deny));
        assert!(!denied.matches(&[], Effect::Deny));
    }

    #[test]
    fn coverage_has_no_false_positives() {
        let lists = [&["*"][..], &["LD_*"], &["LD_PRELOAD"], &["ACME_*", "LD_PRELOAD"], &["ACME_A"], &[]];
        let samples = ["LD_PRELOAD", "LD_X", "ACME_A", "ACME_PATH", "B"].map(|name| names(&[name]));
        let all: Vec<ProgramVariables> = lists
            .iter()
            .flat_map(|list| [false, true].map(|full| ProgramVariables::granted(globs(list), full)))
            .collect();
        for (one, two) in all.iter().flat_map(|one| all.iter().map(move |two| (one, two))) {
            for sample in &samples {
                let (by_one, by_two) =
                    (one.matches(sample, Effect::Allow), two.matches(sample, Effect::Allow));
                assert!(!(one.covers(two) && by_two && !by_one), "{one:?} covers {two:?}: {sample:?}");
            }
        }
        assert!(all.iter().all(|one| one.covers(one)));
    }

    #[test]
    fn documentation_lists_variables_that_control_programs() {
        let text = include_str!("../../../../docs/policy.md");
        for pattern in CONTROLLING.iter().flat_map(|(_, patterns)| *patterns) {
            assert!(text.contains(&format!("`{pattern}`")), "docs/policy.md lacks `{pattern}`");
        }
    }
}
