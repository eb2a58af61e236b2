//! Chromium without a window, driven by `chromedriver` over the WebDriver protocol.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process;

/// The maximum time for one request.
const TIMEOUT: Duration = Duration::from_mins(2);
/// The maximum size of a response.
const MAX_RESPONSE: u64 = 64 << 20;

/// The code of the tab key.
pub(crate) const TAB: &str = "\u{e004}";

/// A browser that runs until it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// Returns the reason why no browser can be started; `None` if the programs are installed.
pub(crate) fn missing() -> Option<String> {
    ["chromium", "chromedriver"]
        .into_iter()
        .find(|program| process::on_path(program).is_none())
        .map(|program| format!("there is no {program} (Debian's chromium and chromium-driver)"))
}

impl Browser {
    /// Starts a browser with the given additional arguments.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("could not start chromedriver")?;
        let port = driver.stdout.take().context("no output of chromedriver").and_then(port_of);
        let mut browser = Self { driver, port: 0, session: String::new() };
        browser.port = port?;
        let fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"];
        let all: Vec<&str> = fixed.into_iter().chain(arguments.iter().copied()).collect();
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": {"args": all}
        }}});
        let created = browser.request("POST", "/session", &capabilities)?;
        created["sessionId"].as_str().context("no session")?.clone_into(&mut browser.session);
        Ok(browser)
    }

    /// Opens a page and waits until it is loaded.
    pub(crate) fn open(&self, url: &str) -> Result<()> {
        self.command("/url", &json!({"url": url}))?;
        // If the page was already open, the driver does not always wait until it is parsed again.
        let started = Instant::now();
        while self.evaluate("return document.readyState;")? != "complete" {
            ensure!(started.elapsed() < TIMEOUT, "{url} was not loaded");
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Runs the body of a function, and returns its result.
    pub(crate) fn evaluate(&self, body: &str) -> Result<Value> {
        self.command("/execute/sync", &json!({"script": body, "args": []}))
    }

    /// Presses and releases a key: a character, or a code of the WebDriver protocol such as [`TAB`].
    pub(crate) fn press(&self, key: &str) -> Result<()> {
        let actions = [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})];
        let body = json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]});
        self.command("/actions", &body).map(drop)
    }

    fn command(&self, path: &str, body: &Value) -> Result<Value> {
        self.request("POST", &format!("/session/{}{path}", self.session), body)
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut reader = BufReader::new(stream.take(MAX_RESPONSE));
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                bail!("chromedriver closed the connection");
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut content = vec![0; length];
        reader.read_exact(&mut content)?;
        let mut response: Value = serde_json::from_slice(&content)?;
        let value = response["value"].take();
        if let Some(error) = value["error"].as_str() {
            bail!("{error}: {}", value["message"].as_str().unwrap_or_default());
        }
        Ok(value)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // The driver is killed even if it does not end the session.
            let _ = self.request("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the port that the driver prints.
fn port_of(output: std::process::ChildStdout) -> Result<u16> {
    let mut lines = BufReader::new(output).lines();
    for line in lines.by_ref() {
        let line = line?;
        if let Some((_, port)) = line.rsplit_once("started successfully on port ") {
            let port = port.trim_end_matches('.').parse()?;
            // The driver must be able to write further lines.
            thread::spawn(move || lines.for_each(drop));
            return Ok(port);
        }
    }
    bail!("chromedriver ended before it was ready")
}
