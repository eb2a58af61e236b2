//! Confines native plugins, if a policy requires it.
//!
//! | `native` | level |
//! |---|---|
//! | `confine` | *full*, *filtered* or *namespaced*: files, host names, sockets and programs |
//! | `confine-files` | *files and ports*: directories and TCP ports |
//! | `confine-or-warn` | the highest one that this machine supports, with a warning if it is less than *namespaced* |

use std::ffi::OsString;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wardian_access::{Denied, FinishedProgram, NativeAuthority, ProcessAuthority, ProgramLaunch};
use wardian_address::ProviderAddress;
use wardian_diagnostic::Diagnostic;
pub use wardian_legacy_grpc_bridge::{ConfinementLevel, SHIM_ARGUMENT, run_shim};
use wardian_legacy_grpc_bridge::{
    DirectoryView, LandlockRules, NativePackage, NativeSupervisor, ProcessConfinement, ProcessNamespaces,
    ProgramAccess, Reattachment, SupportedLevel, TcpPorts, supported_level,
};
use wardian_monitor::{AuditLog, Monitor, NativeMonitor, PluginIdentity};
use wardian_network::proxy::{ProxyError, ProxySettings};
use wardian_network::{Resolver, SystemResolver};
use wardian_plugin::CallsInFlight;
use wardian_policy::{NativePlugins, PluginPolicy};
use wardian_process::Launcher;

use crate::directory_view::readable_part;
use crate::error::AppError;
use crate::frontend::Frontend;

/// A native plugin that may have to be confined.
pub struct NativeProgram<'a> {
    pub address: &'a ProviderAddress,
    /// The name in messages.
    pub name: Arc<str>,
    pub version: Option<String>,
    pub policy: &'a PluginPolicy,
    pub audit_log: &'a Arc<AuditLog>,
    /// The user's proxies.
    pub proxies: Result<ProxySettings, ProxyError>,
    /// The host's program, and the search path for programs that the plugin may start.
    pub host_program: Option<PathBuf>,
    pub search_path: OsString,
}

/// Returns the confinement of a program; `None` if the policy does not require confinement, or
/// allows the program to run unconfined on a machine that does not support it.
///
/// # Errors
/// Returns an error if the program must be confined but cannot be.
pub fn for_program(
    program: NativeProgram<'_>,
    frontend: &dyn Frontend,
) -> Result<Option<ProcessConfinement>, AppError> {
    let NativeProgram { address, policy, .. } = program;
    let native = policy.native();
    if policy.is_learning() {
        check_learning(address)?;
    }
    let Some(level) = level_for(address, native, frontend)? else { return Ok(None) };
    let granted = policy.native_confinement().map_err(|denial| {
        refused(
            address,
            &format!(
                "the kernel cannot exclude files from a directory that is granted for writing, and {denial}. \
                 Grant directories that contain no denied files"
            ),
        )
    })?;
    let namespaces = match level {
        ConfinementLevel::Full => ProcessNamespaces::Additional,
        ConfinementLevel::Namespaced => {
            ProcessNamespaces::Alone { ports: listed_ports(address, granted.ports.clone())? }
        }
        _ => ProcessNamespaces::Shared,
    };
    if namespaces == ProcessNamespaces::Shared
        && let Some((_, denial)) = granted.partly_readable.first()
    {
        let problem = format!(
            "at the level \"{level}\", the kernel cannot exclude files from a granted directory, and {denial}. \
             Grant directories that contain no denied files"
        );
        return Err(refused(address, &problem));
    }
    check_rules(address, native, policy, frontend)?;
    let is_supervised = level >= ConfinementLevel::Namespaced;
    let tcp = match granted.ports {
        _ if is_supervised => TcpPorts::NoneIfSupported,
        Some(ports) => TcpPorts::Only(ports),
        None => TcpPorts::Any,
    };
    // Another plugin could later replace a directory with a link, so links are resolved only here: to the
    // recorded target, if there is one.
    let real = |paths: Vec<PathBuf>| {
        paths
            .into_iter()
            .map(|path| match policy.target(&path) {
                Some(target) => target.to_owned(),
                None => path.canonicalize().unwrap_or(path),
            })
            .collect()
    };
    let rules = LandlockRules {
        real_read: real(granted.read),
        real_write: real(granted.write),
        tcp,
        ..LandlockRules::default()
    };
    if level != ConfinementLevel::Namespaced {
        rules.check().map_err(|problem| refused(address, &problem.to_string()))?;
    }
    let limits = &policy.settings().limits;
    let max_memory = limits.memory.as_ref().map(|set| set.value);
    let max_file_size = limits.bytes_written.as_ref().map(|set| set.value);
    let max_connections =
        limits.concurrent_requests.as_ref().map(|set| usize::try_from(set.value).unwrap_or(usize::MAX));
    let partly_readable = real(granted.partly_readable.into_iter().map(|(directory, _)| directory).collect());
    let supervisor = is_supervised.then(|| supervisor(program, level, partly_readable)).transpose()?;
    Ok(Some(ProcessConfinement {
        rules,
        supervisor,
        namespaces,
        max_cpu_time: limits.cpu_time.as_ref().map(|set| set.value),
        max_memory,
        max_file_size,
        max_connections,
    }))
}

/// Maximum number of ports at which the host listens for a program.
const MAX_PORTS: usize = 1_000;

/// Returns the ports at which the host must listen for a program that only namespaces confine.
fn listed_ports(
    address: &ProviderAddress,
    ports: Option<Vec<RangeInclusive<u16>>>,
) -> Result<Vec<u16>, AppError> {
    let ports = ports.map(|ranges| ranges.into_iter().flatten().collect::<Vec<u16>>());
    ports.filter(|ports| ports.len() <= MAX_PORTS).ok_or_else(|| {
        let problem = format!(
            "at the level \"{}\", the host listens at each port that network rules grant, and at most at {MAX_PORTS}. \
             List the ports in the rules",
            ConfinementLevel::Namespaced
        );
        refused(address, &problem)
    })
}

/// The levels at which a policy lets a plugin run.
struct WantedLevel {
    /// The lowest level that enforces all rules of the policy.
    least: ConfinementLevel,
    /// The level at which the plugin runs if the machine supports it.
    best: ConfinementLevel,
}

/// Returns the levels that a policy requires or prefers; `None` if it requires no confinement.
fn wanted_level(native: NativePlugins) -> Option<WantedLevel> {
    use ConfinementLevel::{FilesAndPorts, Full, Namespaced};
    match native {
        NativePlugins::Confine | NativePlugins::ConfineOrWarn => {
            Some(WantedLevel { least: Namespaced, best: Full })
        }
        NativePlugins::ConfineFiles => Some(WantedLevel { least: FilesAndPorts, best: FilesAndPorts }),
        NativePlugins::Allow | NativePlugins::Warn | NativePlugins::Deny => None,
    }
}

/// Returns the level at which a plugin runs; `None` if it is not confined.
fn level_for(
    address: &ProviderAddress,
    native: NativePlugins,
    frontend: &dyn Frontend,
) -> Result<Option<ConfinementLevel>, AppError> {
    let Some(wanted) = wanted_level(native) else { return Ok(None) };
    let supported = supported_level();
    if supported.level >= wanted.least {
        return Ok(Some(wanted.best.min(supported.level)));
    }
    let missing = missing_support(supported);
    if native != NativePlugins::ConfineOrWarn {
        return Err(refused(
            address,
            &format!("this machine supports the level \"{}\" only: {missing}", supported.level),
        ));
    }
    match supported.level {
        ConfinementLevel::None => {
            warn(address, missing, frontend);
            Ok(None)
        }
        level => {
            let detail = format!(
                "{} runs at the level \"{level}\": its directories and TCP ports are enforced, but host \
                 names, other sockets, programs and other system calls are not: {missing}.",
                address.for_display()
            );
            frontend.warn(&Diagnostic::warning("Native plugin is only partially confined", detail).into());
            Ok(Some(level))
        }
    }
}

/// Checks that the rules can be enforced.
fn check_rules(
    address: &ProviderAddress,
    native: NativePlugins,
    policy: &PluginPolicy,
    frontend: &dyn Frontend,
) -> Result<(), AppError> {
    let problems = match native {
        NativePlugins::Confine | NativePlugins::ConfineOrWarn => policy.unenforceable_for_native_code(),
        _ => Vec::new(),
    };
    let describe = |problem: &wardian_policy::UnenforceableRule| {
        format!("{}: {}, because {}", problem.location, problem.subject, problem.reason)
    };
    let listed: Vec<String> = problems.iter().map(describe).collect();
    if listed.is_empty() {
        return Ok(());
    }
    let listed = listed.join("\n  - ");
    if native == NativePlugins::ConfineOrWarn {
        let detail = format!(
            "These rules cannot be enforced for {}, which is a native plugin:\n  - {listed}",
            address.for_display()
        );
        frontend.warn(&Diagnostic::warning("Native plugin is only partially confined", detail).into());
        return Ok(());
    }
    Err(refused(address, &format!("these rules cannot be enforced for native plugins:\n  - {listed}\n")))
}

fn supervisor(
    program: NativeProgram<'_>,
    level: ConfinementLevel,
    partly_readable: Vec<PathBuf>,
) -> Result<Arc<dyn NativeSupervisor>, AppError> {
    let proxies = program.proxies.map_err(|error| refused(program.address, &error.to_string()))?;
    let identity = PluginIdentity {
        address: program.address.clone(),
        version: program.version,
        sha256: None,
        confinement: Some(level.as_str()),
    };
    let monitor = Monitor::new(program.policy.clone(), identity, Arc::clone(program.audit_log));
    let programs = program.policy.programs_for_native_code();
    let programs = match program.host_program.map(|host| host.canonicalize()) {
        _ if programs.is_empty() => None,
        Some(Ok(host_program)) => {
            let launcher = Launcher::new(Arc::new(DenyPrograms), program.search_path);
            Some(Programs { names: programs, host_program, launcher: Arc::new(launcher) })
        }
        _ => return Err(refused(program.address, "the host's own program file cannot be found")),
    };
    Ok(Arc::new(PolicySupervisor { monitor, name: program.name, proxies, programs, partly_readable }))
}

/// Decides by policy.
struct PolicySupervisor {
    monitor: Monitor,
    name: Arc<str>,
    proxies: ProxySettings,
    programs: Option<Programs>,
    /// The real paths of the readable directories that contain denied paths.
    partly_readable: Vec<PathBuf>,
}

/// The programs that policy allows by name.
struct Programs {
    names: Vec<String>,
    host_program: PathBuf,
    launcher: Arc<Launcher>,
}

/// The authority of the launcher itself. Each start has its own authority.
struct DenyPrograms;

impl ProcessAuthority for DenyPrograms {
    fn may_start(&self, _: &ProgramLaunch<'_>) -> Result<(), Denied> {
        Err(Denied { reason: "no plugin call starts it".to_owned(), rule_to_add: None })
    }

    fn may_execute(&self, launch: &ProgramLaunch<'_>, _: &Path) -> Result<(), Denied> {
        self.may_start(launch)
    }

    fn finished(&self, _: &FinishedProgram) {}
}

impl NativeSupervisor for PolicySupervisor {
    fn authority(&self, calls: Arc<CallsInFlight>) -> Arc<dyn NativeAuthority> {
        Arc::new(NativeMonitor::new(self.monitor.clone(), Arc::clone(&self.name), calls))
    }

    fn resolver(&self) -> Arc<dyn Resolver> {
        Arc::new(SystemResolver)
    }

    fn proxies(&self) -> ProxySettings {
        self.proxies.clone()
    }

    fn programs(&self, package: &NativePackage) -> Option<ProgramAccess> {
        let Programs { names, host_program, launcher } = self.programs.as_ref()?;
        Some(ProgramAccess {
            programs: names.clone(),
            host_program: host_program.clone(),
            launcher: Arc::clone(launcher),
            environment: package.environment.clone(),
        })
    }

    fn views(&self) -> io::Result<Vec<DirectoryView>> {
        self.partly_readable.iter().map(|directory| readable_part(self.monitor.policy(), directory)).collect()
    }
}

/// Checks whether a running process that another program started may be used although it can no
/// longer be confined.
///
/// # Errors
/// Returns an error if the process must be confined.
pub fn check_running(
    address: &ProviderAddress,
    running: &Reattachment,
    policy: &PluginPolicy,
    frontend: &dyn Frontend,
) -> Result<(), AppError> {
    let problem = format!("it is already running ({running})");
    match policy.native() {
        NativePlugins::Confine | NativePlugins::ConfineFiles => Err(refused(address, &problem)),
        NativePlugins::ConfineOrWarn => {
            warn(address, &problem, frontend);
            Ok(())
        }
        NativePlugins::Allow | NativePlugins::Warn | NativePlugins::Deny => Ok(()),
    }
}

/// Returns the level at which a plugin would run on this machine, for display; `None` if the policy
/// does not require or prefer confinement.
pub fn displayed_level(native: NativePlugins) -> Option<ConfinementLevel> {
    wanted_level(native).map(|wanted| wanted.best.min(supported_level().level))
}

fn refused(address: &ProviderAddress, problem: &str) -> AppError {
    let detail = format!(
        "Policy allows {} to run only if it is confined to its grants: {problem}. To run it anyway, set native \
         = \"confine-files\", \"confine-or-warn\" or \"warn\" for it in the policy.",
        address.for_display()
    );
    AppError::new("Native plugin cannot be confined", detail)
}

/// Checks that the access of a native plugin can be learnt.
fn check_learning(address: &ProviderAddress) -> Result<(), AppError> {
    let supported = supported_level();
    if supported.level >= ConfinementLevel::Filtered {
        return Ok(());
    }
    let detail = format!(
        "{} is a native plugin. Its accesses can be observed only at the level \"{}\", but this machine supports \
         the level \"{}\" only: {}.",
        address.for_display(),
        ConfinementLevel::Filtered,
        supported.level,
        missing_support(supported)
    );
    Err(AppError::new("Policy cannot be learnt", detail))
}

/// Returns the reason why a machine does not support a higher level.
fn missing_support(supported: &SupportedLevel) -> &str {
    supported.missing.as_deref().unwrap_or("this machine does not support it")
}

fn warn(address: &ProviderAddress, problem: &str, frontend: &dyn Frontend) {
    let detail = format!(
        "{} runs with all of your permissions, although the policy requires its confinement: {problem}.",
        address.for_display()
    );
    frontend.warn(&Diagnostic::warning("Native plugin is not confined", detail).into());
}
