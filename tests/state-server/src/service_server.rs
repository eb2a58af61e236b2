//! A server for the API of a service, with faults and a record of its requests.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::request::{Request, Response};
use crate::state_server::{Fault, take_fault};
use crate::tls::TestAuthority;

/// How long a test waits for a request.
const WAIT_LIMIT: Duration = Duration::from_mins(1);

/// Processes the requests of one API.
pub trait Service: Send + Sync + 'static {
    fn respond(&self, request: &Request) -> Response;
}

#[derive(Default)]
struct Record {
    requests: Vec<Request>,
    /// The faults of the next requests with a method whose target contains a text.
    faults: VecDeque<(String, String, Fault)>,
}

/// A running server. It stops when the test's process ends.
pub struct ServiceServer<S> {
    origin: String,
    service: Arc<S>,
    record: Arc<(Mutex<Record>, Condvar)>,
}

impl<S> Clone for ServiceServer<S> {
    fn clone(&self) -> Self {
        Self {
            origin: self.origin.clone(),
            service: Arc::clone(&self.service),
            record: Arc::clone(&self.record),
        }
    }
}

impl<S: Service> ServiceServer<S> {
    pub fn start(build: impl FnOnce(&str) -> S) -> Self {
        Self::start_with(build, None)
    }

    /// Starts a server with TLS that requires a certificate of the client from the same authority.
    pub fn start_with_tls(build: impl FnOnce(&str) -> S, authority: &TestAuthority) -> Self {
        Self::start_with(build, Some(authority.server_config()))
    }

    fn start_with(build: impl FnOnce(&str) -> S, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", listener.local_addr().unwrap());
        let server = Self { service: Arc::new(build(&origin)), origin, record: Arc::default() };
        let running = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, tls) = (running.clone(), tls.clone());
                thread::spawn(move || server.connection(stream, tls));
            }
        });
        server
    }

    /// Returns the scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the host and port.
    pub fn address(&self) -> &str {
        self.origin.split_once("://").unwrap().1
    }

    pub fn service(&self) -> &S {
        &self.service
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.0.lock().unwrap()
    }

    /// Adds a fault for the next request with a method whose target contains a text.
    pub fn fail_next(&self, method: &str, target: &str, fault: Fault) {
        self.lock().faults.push_back((method.to_owned(), target.to_owned(), fault));
    }

    /// Returns the number of faults that have not occurred yet.
    pub fn pending_faults(&self) -> usize {
        self.lock().faults.len()
    }

    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    /// Removes the next fault of a request if it cuts the connection before the body has been read.
    fn is_cut(&self, request: &Request) -> bool {
        let mut record = self.lock();
        let fault = take_fault(&mut record.faults, request, |fault| matches!(fault, Fault::CutDuring));
        if fault.is_some() {
            record.requests.push(request.clone());
            self.record.1.notify_all();
        }
        fault.is_some()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// Returns the number of requests with a method whose target contains a text.
    pub fn count(&self, method: &str, target: &str) -> usize {
        self.lock().requests.iter().filter(|request| is_match(request, method, target)).count()
    }

    /// Waits until a number of such requests have been received.
    pub fn wait_for(&self, method: &str, target: &str, count: usize) {
        let deadline = Instant::now() + WAIT_LIMIT;
        let mut record = self.lock();
        while record.requests.iter().filter(|request| is_match(request, method, target)).count() < count {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{count} requests {method} {target} were not received");
            record = self.record.1.wait_timeout(record, left).unwrap().0;
        }
    }

    fn connection(&self, mut stream: TcpStream, tls: Option<Arc<rustls::ServerConfig>>) {
        let _ = stream.set_nodelay(true);
        match tls {
            None => {
                self.serve(&mut stream);
                let _ = stream.shutdown(Shutdown::Both);
            }
            Some(config) => {
                let connection = rustls::ServerConnection::new(config).unwrap();
                let mut stream = rustls::StreamOwned::new(connection, stream);
                self.serve(&mut stream);
                stream.conn.send_close_notify();
                let _ = stream.flush();
                let _ = stream.sock.shutdown(Shutdown::Both);
            }
        }
    }

    fn serve<T: Read + Write>(&self, stream: &mut T) {
        let Ok(Some(request)) = Request::read_unless(stream, |request| self.is_cut(request)) else { return };
        let fault = {
            let mut record = self.lock();
            record.requests.push(request.clone());
            self.record.1.notify_all();
            take_fault(&mut record.faults, &request, |_| true)
        };
        let mut limit = usize::MAX;
        match fault {
            Some(Fault::CutBefore | Fault::CutDuring) => return,
            Some(Fault::CutAfter) => {
                self.service.respond(&request);
                return;
            }
            Some(Fault::CutInBody(bytes)) => limit = bytes,
            Some(Fault::Hang) => loop {
                thread::park();
            },
            Some(Fault::Answer(response)) => {
                let _ = response.write(stream, usize::MAX);
                return;
            }
            Some(Fault::Delay(delay)) => thread::sleep(delay),
            None => {}
        }
        let _ = self.service.respond(&request).write(stream, limit);
    }
}

fn is_match(request: &Request, method: &str, target: &str) -> bool {
    request.method == method && request.target.contains(target)
}
