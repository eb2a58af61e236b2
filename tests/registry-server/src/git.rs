//! Git repositories over HTTP: runs `git http-backend` as a CGI program.

use std::process::Stdio;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::answer::{Answer, Incoming};
use crate::site::Site;

pub(crate) async fn answer(site: &Site, request: &Incoming) -> Answer {
    let Some(root) = &site.description.git else { return Answer::not_found() };
    let path = request.path.strip_prefix("/git").unwrap_or_default();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        // The repositories of a test belong to the user that runs the test.
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("REQUEST_METHOD", request.method.as_str())
        .env("PATH_INFO", path)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("HTTP_GIT_PROTOCOL", request.header("git-protocol"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let body = request.body.clone();
    tokio::spawn(async move {
        // The program may end before it has read everything.
        let _ = input.write_all(&body).await;
    });
    let output = child.wait_with_output().await.unwrap().stdout;
    parse(&output)
}

/// Parses the output of a CGI program: headers, an empty line, and the body.
fn parse(output: &[u8]) -> Answer {
    let Some(end) = output.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Answer::new(500, "git http-backend printed no headers");
    };
    let mut answer = Answer::new(200, output[end + 4..].to_vec());
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        match line.split_once(": ") {
            Some(("Status", status)) => {
                answer.status = status.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500);
            }
            Some((name, value)) => answer = answer.header(name, value),
            None => {}
        }
    }
    answer
}
