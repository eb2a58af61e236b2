//! Systems without confinement: every attempt to confine a program is an error.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tokio::net::UnixStream;
use tokio::process::Command;
use wardian_process::Spawner;

use crate::confinement::{ConfinedChild, Confinement};
use crate::landlock::ConfinementError;
use crate::level::{ConfinementLevel, SupportedLevel};

/// The first argument of the mode that represents a granted program, which exists only on Linux.
pub const SHIM_ARGUMENT: &str = "--run-granted-program";

const REASON: &str = "only Linux supports confinement";

static SUPPORTED: std::sync::OnceLock<SupportedLevel> = std::sync::OnceLock::new();

/// Returns the lowest level.
pub fn supported_level() -> &'static SupportedLevel {
    SUPPORTED
        .get_or_init(|| SupportedLevel { level: ConfinementLevel::None, missing: Some(REASON.to_owned()) })
}

impl Confinement {
    /// Returns an error.
    ///
    /// # Errors
    /// Always returns an error, since only Linux supports confinement.
    pub fn prepare(&self) -> Result<PreparedConfinement, ConfinementError> {
        Err(ConfinementError::Unsupported(REASON.to_owned()))
    }
}

/// A confinement that is ready to be applied. There is none on this system.
pub enum PreparedConfinement {}

impl PreparedConfinement {
    /// Cannot be called.
    ///
    /// # Errors
    /// Returns no error, since it cannot be called.
    pub async fn spawn(self, _: Command, _: &Spawner) -> io::Result<ConfinedChild> {
        match self {}
    }
}

/// The supervision of a program. There is none on this system.
#[derive(Debug)]
pub enum SupervisionHandle {}

/// Returns nothing, since there are no confined programs on this system.
///
/// # Errors
/// Returns no error.
pub async fn connect_within(_: &Path, _: &Path) -> io::Result<Option<UnixStream>> {
    Ok(None)
}

/// Reports that the mode does not exist on this system.
pub fn run_shim(_: &[OsString]) -> ExitCode {
    // An error in printing the error cannot be reported.
    let _ = writeln!(io::stderr(), "wardian: {REASON}");
    ExitCode::FAILURE
}
