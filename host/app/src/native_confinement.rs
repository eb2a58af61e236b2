//! Confines native plugins with kernel features, if a policy requires it.

use wardian_address::ProviderAddress;
use wardian_diagnostic::Diagnostic;
use wardian_legacy_grpc_bridge::{Confinement, ConfinementError, Reattachment, TcpPorts};
use wardian_policy::{NativePlugins, PluginPolicy};

use crate::error::AppError;
use crate::frontend::Frontend;

/// Returns the confinement of a program; `None` if the policy does not require confinement, or
/// allows the program to run unconfined on a kernel that does not support it.
///
/// # Errors
/// Returns an error if the program must be confined but cannot be.
pub fn for_program(
    address: &ProviderAddress,
    policy: &PluginPolicy,
    frontend: &dyn Frontend,
) -> Result<Option<Confinement>, AppError> {
    let native = policy.native();
    if !is_wanted(native) {
        return Ok(None);
    }
    let granted = policy.native_confinement().map_err(|denial| {
        refused(
            address,
            &format!(
                "the kernel cannot exclude files from a granted directory, and {denial}. Grant directories \
                 that contain no denied files"
            ),
        )
    })?;
    let tcp = granted.ports.map_or(TcpPorts::Any, TcpPorts::Only);
    let confinement = Confinement { read: granted.read, execute: Vec::new(), write: granted.write, tcp };
    match confinement.prepare() {
        Ok(_) => Ok(Some(confinement)),
        Err(problem @ ConfinementError::Unsupported(_)) if native == NativePlugins::ConfineOrWarn => {
            warn(address, &problem.to_string(), frontend);
            Ok(None)
        }
        Err(problem) => Err(refused(address, &problem.to_string())),
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
        NativePlugins::Confine => Err(refused(address, &problem)),
        NativePlugins::ConfineOrWarn => {
            warn(address, &problem, frontend);
            Ok(())
        }
        NativePlugins::Allow | NativePlugins::Warn | NativePlugins::Deny => Ok(()),
    }
}

/// Returns whether the policy requires or prefers confinement.
pub fn is_wanted(native: NativePlugins) -> bool {
    matches!(native, NativePlugins::Confine | NativePlugins::ConfineOrWarn)
}

fn refused(address: &ProviderAddress, problem: &str) -> AppError {
    let detail = format!(
        "Policy allows {} to run only if the kernel confines it to its grants: {problem}. To run it anyway, \
         set native = \"confine-or-warn\" or \"warn\" for it in the policy.",
        address.for_display()
    );
    AppError::new("Native plugin cannot be confined", detail)
}

fn warn(address: &ProviderAddress, problem: &str, frontend: &dyn Frontend) {
    let detail = format!(
        "{} runs with all of your permissions, although the policy requires its confinement: {problem}.",
        address.for_display()
    );
    frontend.warn(&Diagnostic::warning("Native plugin is not confined", detail).into());
}
