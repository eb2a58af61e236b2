//! A proxy in front of a PostgreSQL server that interrupts connections.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::state_server::Fault;

/// The fault of the next messages that contain a text, with the number of messages.
type NextFault = Arc<Mutex<Option<(String, Fault, usize)>>>;

/// A running proxy. It stops when the test's process ends.
pub struct DatabaseProxy {
    port: u16,
    fault: NextFault,
}

impl DatabaseProxy {
    /// Starts a proxy for the server at a port of this machine.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), fault: Arc::default() };
        let fault = Arc::clone(&proxy.fault);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let fault = Arc::clone(&fault);
                thread::spawn(move || connection(client, server, &fault));
            }
        });
        proxy
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sets the fault of the next messages of clients that contain a text: `CutBefore`, `CutDuring`,
    /// `CutAfter` or `Hang`.
    pub fn fail_next(&self, text: &str, fault: Fault, count: usize) {
        *self.fault.lock().unwrap() = Some((text.to_owned(), fault, count));
    }

    /// Returns the number of faults that have not occurred yet.
    pub fn pending_faults(&self) -> usize {
        self.fault.lock().unwrap().as_ref().map_or(0, |(_, _, count)| *count)
    }

    pub fn clear_faults(&self) {
        *self.fault.lock().unwrap() = None;
    }
}

/// Returns the fault of a message.
fn take(next: &NextFault, message: &[u8]) -> Option<Fault> {
    let mut next = next.lock().unwrap();
    let (text, fault, count) = next.as_mut()?;
    let text = text.as_bytes();
    if *count == 0 || !message.windows(text.len()).any(|part| part == text) {
        return None;
    }
    *count -= 1;
    Some(fault.clone())
}

fn connection(mut client: TcpStream, mut server: TcpStream, next: &NextFault) {
    let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let is_mute = Arc::new(Mutex::new(false));
    let mute = Arc::clone(&is_mute);
    thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = answers.read(&mut buffer) {
            // The response was received, and the connection is lost before it is passed on.
            if *mute.lock().unwrap() || to_client.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        let message = &buffer[..count];
        match take(next, message) {
            None => {}
            Some(Fault::CutDuring) => {
                let _ = server.write_all(&message[..count / 2]);
                break;
            }
            // The rest of the message follows. The connection is cut when the server responds.
            Some(Fault::CutAfter) => *is_mute.lock().unwrap() = true,
            Some(Fault::Hang) => {
                // There is no response until the client ends the connection.
                while let Ok(1..) = client.read(&mut buffer) {}
                break;
            }
            Some(_) => break,
        }
        if server.write_all(message).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}
