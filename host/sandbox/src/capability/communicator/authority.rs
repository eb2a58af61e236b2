//! Checks each access over a connection, and records it.

use std::fs::Metadata;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use wardian_access::{
    AccessExtent, AccessRequest, CommunicatorConnection, ConnectProgress, ConnectionAuthority, Denied,
    FileOperation, FinishedConnection,
};
use wardian_monitor::{Capability, Use};

use crate::capability::filesystem::{FileError, FileGuard};

/// A call that uses a connection. The monitor of its plugin checks the accesses, and records them
/// for the call's resource.
pub(super) struct CallAuthority {
    guard: FileGuard,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    machines: Vec<Machine>,
    attempts: Option<mpsc::UnboundedSender<Attempt>>,
}

/// The destination, or a bastion or proxy on the route to it.
struct Machine {
    host: String,
    port: u16,
    begun: Use,
}

/// The start of an attempt to connect.
pub(super) struct Attempt;

impl CallAuthority {
    pub(super) fn new(guard: FileGuard) -> Self {
        Self { guard, used: Mutex::default() }
    }

    /// Returns a receiver for all attempts from now on.
    pub(super) fn attempts(&self) -> mpsc::UnboundedReceiver<Attempt> {
        let (heard, attempts) = mpsc::unbounded_channel();
        self.used().attempts = Some(heard);
        attempts
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn machine(&mut self, host: &str, port: u16) -> Option<&mut Machine> {
        self.machines.iter_mut().find(|known| known.host == host && known.port == port)
    }
}

impl ConnectionAuthority for CallAuthority {
    fn may_connect(&self, host: &str, port: u16) -> Result<(), Denied> {
        let mut used = self.used();
        // Repeated attempts count as one access.
        if used.machine(host, port).is_some() {
            return Ok(());
        }
        let (monitor, call) = (self.guard.monitor(), self.guard.call());
        let request = CommunicatorConnection::new(host, port).map_err(|problem| {
            monitor.reject(&call, Capability::Communicator, format!("{host} port {port}"), problem)
        });
        let begun = request.and_then(|request| monitor.begin(&call, AccessRequest::Communicator(request)));
        let begun = begun?;
        used.machines.push(Machine { host: host.to_owned(), port, begun });
        Ok(())
    }

    fn may_connect_at(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Denied> {
        let mut used = self.used();
        let Some(machine) = used.machine(host, port) else {
            return Err(Denied::new("access to this machine was not authorized by host name"));
        };
        let checked = self.guard.monitor().check_at(&self.guard.call(), machine.begun.request(), address);
        checked?;
        machine.begun.set_address(address);
        Ok(())
    }

    fn may_read(&self, path: &Path) -> Result<(), Denied> {
        self.guard.begin(path, FileOperation::Read, AccessExtent::Path).map(drop).map_err(denied)
    }

    fn may_look(&self, path: &Path) -> Result<(), Denied> {
        self.guard.look(path).map_err(denied)
    }

    fn may_read_opened(&self, path: &Path, metadata: &Metadata) -> Result<(), Denied> {
        self.guard.check_hard_links(path, metadata, FileOperation::Read).map_err(denied)
    }

    fn writable_directories(&self) -> Vec<PathBuf> {
        self.guard.files().writable_directories().iter().map(Path::to_owned).collect()
    }

    fn report_progress(&self, progress: &ConnectProgress<'_>) {
        if let (ConnectProgress::Connecting { .. }, Some(attempts)) = (progress, &self.used().attempts) {
            // If there is no receiver, attempts do not need to be reported.
            let _ = attempts.send(Attempt);
        }
    }

    fn finished(&self, ended: &FinishedConnection) {
        let mut used = self.used();
        if let Some(machine) = used.machine(&ended.host, ended.port) {
            machine.begun.add_sent(ended.sent);
            machine.begun.add_received(ended.received);
        }
        used.machines.clear();
    }
}

fn denied(error: FileError) -> Denied {
    match error {
        FileError::Denied(denied) => denied,
        FileError::System(error) => Denied::new(error.to_string()),
        FileError::TooMuch(problem) => Denied::new(problem.to_string()),
    }
}
