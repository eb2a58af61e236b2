//! The servers of a test: one that is granted, and others that no attack may reach.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the test has failed")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub struct Servers {
    pub allowed: u16,
    /// The port of the forbidden server, for TCP and for UDP.
    pub forbidden: u16,
    pub abstract_name: String,
    pub shared_memory_key: u32,
    arrived: Arc<Mutex<Vec<String>>>,
}

/// The number of the next server names, which are different in each test.
static NEXT: AtomicU32 = AtomicU32::new(1);

impl Servers {
    /// Starts the servers. The forbidden Unix socket is at the given path.
    pub fn start(socket: &Path) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let arrived = Arc::<Mutex<Vec<String>>>::default();
        let allowed = TcpListener::bind("127.0.0.1:0").unwrap();
        let allowed_port = allowed.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in allowed.incoming() {
                let Ok(mut stream) = stream else { break };
                thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                    let mut bytes = [0; 1024];
                    while let Ok(1..) = stream.read(&mut bytes) {
                        if stream.write_all(b"allowed").is_err() {
                            break;
                        }
                    }
                });
            }
        });
        let forbidden = TcpListener::bind("127.0.0.1:0").unwrap();
        let forbidden_port = forbidden.local_addr().unwrap().port();
        let record = |arrived: &Arc<Mutex<Vec<String>>>, text: String| arrived.lock().unwrap().push(text);
        let seen = Arc::clone(&arrived);
        thread::spawn(move || {
            for stream in forbidden.incoming() {
                let Ok(mut stream) = stream else { break };
                record(&seen, "a TCP connection".to_owned());
                let _ = stream.write_all(b"forbidden");
            }
        });
        if let Ok(socket) = UdpSocket::bind(("127.0.0.1", forbidden_port)) {
            let seen = Arc::clone(&arrived);
            thread::spawn(move || {
                let mut bytes = [0; 2048];
                while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                    record(&seen, format!("a datagram of {length} bytes"));
                    let _ = socket.send_to(b"forbidden", from);
                }
            });
        }
        let abstract_name = format!("wardian-hostile-{}-{number}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        for listener in [UnixListener::bind_addr(&address), UnixListener::bind(socket)] {
            let (listener, seen) = (listener.unwrap(), Arc::clone(&arrived));
            thread::spawn(move || {
                for stream in listener.incoming() {
                    let Ok(mut stream) = stream else { break };
                    record(&seen, "a connection to a Unix socket".to_owned());
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                    let _ = stream.read(&mut [0; 64]);
                    let _ = stream.write_all(b"forbidden");
                }
            });
        }
        let datagrams = UnixDatagram::bind(socket.with_extension("datagram")).unwrap();
        let seen = Arc::clone(&arrived);
        thread::spawn(move || {
            let mut bytes = [0; 2048];
            while let Ok(length) = datagrams.recv(&mut bytes) {
                record(&seen, format!("a Unix datagram of {length} bytes"));
            }
        });
        let shared_memory_key = 0x5741_0000 + std::process::id() % 0x1000 * 16 + number;
        Self { allowed: allowed_port, forbidden: forbidden_port, abstract_name, shared_memory_key, arrived }
    }

    /// Returns the data that the forbidden servers received.
    pub fn arrived(&self) -> Vec<String> {
        thread::sleep(Duration::from_millis(20));
        self.arrived.lock().unwrap().clone()
    }
}
