//! A server for the backend `http`: one state and one lock for each path, with faults.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::request::{Request, Response};
use crate::tls::TestAuthority;

/// How long a test waits for a request.
const WAIT_LIMIT: Duration = Duration::from_mins(1);

/// A fault of one request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection is closed before the request is processed.
    CutBefore,
    /// The connection is closed when a half of the request's body has been read.
    CutDuring,
    /// The request is processed, and the connection is closed without a response.
    CutAfter,
    /// The request is processed, and the connection is closed after some bytes of the body.
    CutInBody(usize),
    /// There is never a response. The request is not processed.
    Hang,
    /// Another response is sent, and the request is not processed.
    Answer(Response),
    /// The request is processed after this time.
    Delay(Duration),
}

#[derive(Default)]
struct Shared {
    states: BTreeMap<String, Vec<u8>>,
    /// The lock information by path.
    locks: BTreeMap<String, Vec<u8>>,
    requests: Vec<Request>,
    /// The faults of the next requests with a method whose target contains a text.
    faults: VecDeque<(String, String, Fault)>,
    credentials: Option<String>,
    response_headers: Vec<(String, String)>,
}

/// Processes the requests to a server in place of the backend `http`.
pub trait TestService: Send + Sync {
    fn process(&self, request: &Request) -> Response;
}

/// Removes and returns the first fault of a request that meets a condition.
pub(crate) fn take_fault(
    faults: &mut VecDeque<(String, String, Fault)>,
    request: &Request,
    condition: impl Fn(&Fault) -> bool,
) -> Option<Fault> {
    let matches = |method: &str, target: &str| {
        let is_target = match target.strip_suffix('$') {
            Some(end) => request.target.ends_with(end),
            None => request.target.contains(target),
        };
        request.method == method && is_target
    };
    let found = faults.iter().position(|(method, target, _)| matches(method, target))?;
    // The faults of equal requests occur in their order.
    if !condition(&faults[found].2) {
        return None;
    }
    faults.remove(found).map(|(_, _, fault)| fault)
}

/// A running server. It stops when the test's process ends.
#[derive(Clone)]
pub struct StateServer {
    origin: String,
    service: Option<Arc<dyn TestService>>,
    shared: Arc<(Mutex<Shared>, Condvar)>,
}

impl StateServer {
    pub fn start() -> Self {
        Self::start_with(None, None)
    }

    /// Starts a server for another service, with the same faults.
    pub fn start_service(service: Arc<dyn TestService>) -> Self {
        Self::start_with(None, Some(service))
    }

    /// Starts a server with TLS that requires a certificate of the client from the same authority.
    pub fn start_with_tls(authority: &TestAuthority) -> Self {
        Self::start_with(Some(authority.server_config()), None)
    }

    /// Starts an HTTP proxy that processes the requests to every host itself. It also processes
    /// requests that are sent to it directly.
    pub fn start_proxy(authority: &TestAuthority, names: &[&str], service: Arc<dyn TestService>) -> Self {
        let config = authority.config_for(names);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let origin = format!("http://127.0.0.1:{port}");
        let server = Self { origin, service: Some(service), shared: Arc::default() };
        let running = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, config) = (running.clone(), Arc::clone(&config));
                thread::spawn(move || server.proxied_connection(stream, config));
            }
        });
        server
    }

    fn proxied_connection(&self, mut stream: TcpStream, config: Arc<rustls::ServerConfig>) {
        let _ = stream.set_nodelay(true);
        let Ok(Some(request)) = Request::read(&mut stream) else { return };
        if request.method == "CONNECT" {
            if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_ok() {
                self.connection(stream, Some(config));
            }
            return;
        }
        self.answer(&mut stream, request);
        let _ = stream.shutdown(Shutdown::Both);
    }

    fn start_with(tls: Option<Arc<rustls::ServerConfig>>, service: Option<Arc<dyn TestService>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://127.0.0.1:{port}");
        let server = Self { origin, service, shared: Arc::default() };
        let running = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, tls) = (running.clone(), tls.clone());
                thread::spawn(move || server.connection(stream, tls));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Returns a `backend` block for the state at a path, with locks.
    pub fn block(&self, path: &str) -> String {
        let url = self.url(path);
        format!(
            "terraform {{\n  backend \"http\" {{\n    address = \"{url}\"\n    lock_address = \"{url}\"\n    \
             unlock_address = \"{url}\"\n    retry_wait_min = 0\n    retry_wait_max = 1\n  }}\n}}\n"
        )
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap()
    }

    pub fn state(&self, path: &str) -> Option<Vec<u8>> {
        self.lock().states.get(path).cloned()
    }

    pub fn set_state(&self, path: &str, state: impl Into<Vec<u8>>) {
        self.lock().states.insert(path.to_owned(), state.into());
    }

    /// Returns the lock information of the holder.
    pub fn lock_of(&self, path: &str) -> Option<String> {
        self.lock().locks.get(path).map(|info| String::from_utf8_lossy(info).into_owned())
    }

    /// Sets or removes a lock, as another process does.
    pub fn set_lock(&self, path: &str, info: Option<&str>) {
        let mut shared = self.lock();
        match info {
            Some(info) => shared.locks.insert(path.to_owned(), info.as_bytes().to_vec()),
            None => shared.locks.remove(path),
        };
    }

    /// Requires basic authentication: the value of the `Authorization` header.
    pub fn require_credentials(&self, value: &str) {
        self.lock().credentials = Some(value.to_owned());
    }

    /// Adds a header to each response.
    pub fn add_response_header(&self, name: &str, value: &str) {
        self.lock().response_headers.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a fault for the next request with a method.
    pub fn fail_next(&self, method: &str, fault: Fault) {
        self.fail_next_at(method, "", fault);
    }

    /// Adds a fault for the next request with a method whose target contains a text, or ends with it if
    /// the text ends with `$`.
    pub fn fail_next_at(&self, method: &str, target: &str, fault: Fault) {
        self.lock().faults.push_back((method.to_owned(), target.to_owned(), fault));
    }

    /// Removes and returns the next fault of a request.
    fn take_fault(&self, request: &Request) -> Option<Fault> {
        take_fault(&mut self.lock().faults, request, |_| true)
    }

    /// Removes the next fault of a request if it cuts the connection before the body has been read.
    fn is_cut(&self, request: &Request) -> bool {
        let mut shared = self.lock();
        let fault = take_fault(&mut shared.faults, request, |fault| matches!(fault, Fault::CutDuring));
        if fault.is_some() {
            shared.requests.push(request.clone());
            self.shared.1.notify_all();
        }
        fault.is_some()
    }

    /// Returns the number of faults that have not occurred yet.
    pub fn pending_faults(&self) -> usize {
        self.lock().faults.len()
    }

    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// Returns the methods of all requests.
    pub fn methods(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.method).collect()
    }

    /// Waits until a number of requests with a method have been received.
    pub fn wait_for(&self, method: &str, count: usize) {
        let is_received = |shared: &Shared| {
            let received = shared.requests.iter().filter(|request| request.method == method).count();
            (received >= count).then_some(())
        };
        self.wait_until(is_received)
            .unwrap_or_else(|| panic!("no {count} requests with the method {method} were received"));
    }

    /// Waits until a state has been stored, and returns it. Requests are recorded before they are processed,
    /// so a recorded request does not imply a stored state.
    pub fn wait_for_state(&self, path: &str) -> Vec<u8> {
        let stored = self.wait_until(|shared| shared.states.get(path).cloned());
        stored.unwrap_or_else(|| panic!("no state was stored at {path}"))
    }

    /// Waits until the function returns a value; returns [`None`] after a long time.
    fn wait_until<T>(&self, found: impl Fn(&Shared) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + WAIT_LIMIT;
        let mut shared = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let value = found(&shared);
            if value.is_some() || left.is_zero() {
                return value;
            }
            shared = self.shared.1.wait_timeout(shared, left).unwrap().0;
        }
    }

    fn connection(&self, stream: TcpStream, tls: Option<Arc<rustls::ServerConfig>>) {
        let _ = stream.set_nodelay(true);
        match tls {
            None => {
                let mut stream = stream;
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

    fn serve<S: Read + Write>(&self, stream: &mut S) {
        if let Ok(Some(request)) = Request::read_unless(stream, |request| self.is_cut(request)) {
            self.answer(stream, request);
        }
    }

    fn answer<S: Write>(&self, stream: &mut S, request: Request) {
        self.lock().requests.push(request.clone());
        self.shared.1.notify_all();
        let fault = self.take_fault(&request);
        let mut limit = if request.method == "HEAD" { 0 } else { usize::MAX };
        match fault {
            Some(Fault::CutBefore | Fault::CutDuring) => return,
            Some(Fault::CutAfter) => {
                self.process(&request);
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
        let mut response = self.process(&request);
        response.headers.extend(self.lock().response_headers.clone());
        let _ = response.write(stream, limit);
    }

    fn process(&self, request: &Request) -> Response {
        if let Some(service) = &self.service {
            return service.process(request);
        }
        let mut shared = self.lock();
        if shared.credentials.as_deref().is_some_and(|value| request.header("authorization") != Some(value)) {
            return Response::new(401, "wrong credentials");
        }
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let path = path.to_owned();
        match request.method.as_str() {
            "GET" => match shared.states.get(&path) {
                Some(state) => Response::new(200, state.clone()),
                None => Response::new(404, ""),
            },
            "POST" | "PUT" => {
                if let Some(lock) = shared.locks.get(&path) {
                    let id = query.strip_prefix("ID=").unwrap_or_default();
                    if !String::from_utf8_lossy(lock).contains(&format!("\"{id}\"")) {
                        return Response::new(409, lock.clone());
                    }
                }
                shared.states.insert(path, request.body.clone());
                self.shared.1.notify_all();
                Response::new(200, "")
            }
            "LOCK" => match shared.locks.get(&path) {
                Some(holder) => Response::new(423, holder.clone()),
                None => {
                    shared.locks.insert(path, request.body.clone());
                    Response::new(200, "")
                }
            },
            "UNLOCK" => {
                shared.locks.remove(&path);
                Response::new(200, "")
            }
            _ => Response::new(405, ""),
        }
    }
}
