//! What the kernel holds native plugins to, where a policy has them confined.

use wardian_address::ProviderAddress;
use wardian_diagnostic::Diagnostic;
use wardian_legacy_grpc_bridge::{Confinement, ConfinementError, Reattachment, TcpPorts};
use wardian_policy::{NativePlugins, PluginPolicy};

use crate::failure::{Failure, Outcome};
use crate::shell::Shell;

/// What a program is held to; nothing where no policy wants that, or one puts up with a
/// kernel that cannot.
///
/// # Errors
/// Where it has to be confined and cannot be.
pub(crate) fn of_program(
    address: &ProviderAddress,
    policy: &PluginPolicy,
    shell: &Shell,
) -> Outcome<Option<Confinement>> {
    let native = policy.native();
    if !is_wanted(native) {
        return Ok(None);
    }
    let granted = policy.native_confinement().map_err(|denial| {
        refused(
            address,
            &format!(
                "the kernel cannot except a part of a directory, and {denial}. Grant directories in which nothing is \
                 denied"
            ),
        )
    })?;
    let tcp = granted.ports.map_or(TcpPorts::Any, TcpPorts::Only);
    let confinement = Confinement { read: granted.read, execute: Vec::new(), write: granted.write, tcp };
    match confinement.prepare() {
        Ok(_) => Ok(Some(confinement)),
        Err(problem @ ConfinementError::Unsupported(_)) if native == NativePlugins::ConfineOrWarn => {
            warn(address, &problem.to_string(), shell);
            Ok(None)
        }
        Err(problem) => Err(refused(address, &problem.to_string())),
    }
}

/// Whether a process that somebody else started may be used: nobody can confine it any
/// more.
///
/// # Errors
/// Where it has to be confined.
pub(crate) fn of_running(
    address: &ProviderAddress,
    running: &Reattachment,
    policy: &PluginPolicy,
    shell: &Shell,
) -> Outcome<()> {
    let problem = format!("it runs already ({running})");
    match policy.native() {
        NativePlugins::Confine => Err(refused(address, &problem)),
        NativePlugins::ConfineOrWarn => {
            warn(address, &problem, shell);
            Ok(())
        }
        NativePlugins::Allow | NativePlugins::Warn | NativePlugins::Deny => Ok(()),
    }
}

/// Whether the kernel is to hold a program to what is granted.
pub(crate) fn is_wanted(native: NativePlugins) -> bool {
    matches!(native, NativePlugins::Confine | NativePlugins::ConfineOrWarn)
}

fn refused(address: &ProviderAddress, problem: &str) -> Failure {
    let detail = format!(
        "Policy has {} run only if the kernel holds it to what is granted: {problem}. Where it may run nevertheless, \
         have the policy say native = \"confine-or-warn\" or \"warn\" for it.",
        address.for_display()
    );
    Failure::error("Native plugin cannot be confined", detail)
}

fn warn(address: &ProviderAddress, problem: &str, shell: &Shell) {
    let detail = format!(
        "{} runs with all rights that you have, although policy would have it confined: {problem}.",
        address.for_display()
    );
    shell.diagnostics(&Diagnostic::warning("Native plugin is not confined", detail).into());
}
