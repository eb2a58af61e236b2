//! Attacks on the network. A destination that is not granted must not be reached under any name,
//! and the audit log must have a record of each denial.

use wardian_monitor::Outcome;

use super::{Attempt, answer, is_well, limits};
use crate::server::{Reaching, datagram_server, echo_server, http_server};

/// Grants every name and every port, but only public addresses.
const PUBLIC: &str =
    "allow network {\n hosts = [\"**\"]\n schemes = [\"http\", \"tcp\", \"udp\"]\n ports = [\"*\"]\n}";

/// Grants all destinations for sockets.
const SOCKETS: &str = "allow network {\n hosts = [\"**\", \"0.0.0.0/0\", \"::/0\"]\n schemes = [\"tcp\", \"udp\"]\n ports = [\"*\"]\n addresses = [\"public\", \"private\", \"loopback\", \"link-local\"]\n}";

/// Unusual notations of addresses of this machine, its network or its cloud.
pub(crate) const DISGUISES: &[&str] = &[
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0177.0.0.1",
    "0x7f000001",
    "0x7f.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "0.0.0.0",
    "[::]",
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "2852039166",
    "0xa9fea9fe",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "10.0.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "api.example",
    "metadata.example",
];

/// A set of probes, with one granted destination and port.
struct Round<'a> {
    rules: &'a str,
    probes: Vec<String>,
    /// True if policy decides on the probes; false if they fail before a decision.
    is_decided: bool,
}

fn one_host(port: u16) -> String {
    format!(
        "allow network {{\n hosts = [\"api.example\"]\n schemes = [\"http\"]\n ports = [{port}]\n \
         methods = [\"GET\"]\n addresses = [\"loopback\"]\n}}"
    )
}

pub(super) async fn attempts() -> Vec<Attempt> {
    let (port, heard) = http_server().await;
    let (sockets, listened) = echo_server().await;
    let datagrams = datagram_server().await;
    let one = one_host(port);
    let http = |attempt: String| format!("http:{attempt}");
    let rounds = [
        Round {
            rules: PUBLIC,
            probes: DISGUISES.iter().map(|host| http(format!("GET|http://{host}:{port}/"))).collect(),
            is_decided: true,
        },
        Round {
            rules: PUBLIC,
            probes: ["127.0.0.1", "[::1]", "api.example", "169.254.169.254", "metadata.example", "10.0.0.1"]
                .iter()
                .map(|host| format!("connect:{host}:{sockets}"))
                .chain([
                    format!("datagram:127.0.0.1:{datagrams}"),
                    format!("datagram:api.example:{datagrams}"),
                ])
                .collect(),
            is_decided: true,
        },
        Round {
            rules: &one,
            probes: [
                format!("POST|http://api.example:{port}/"),
                format!("DELETE|http://api.example:{port}/"),
                format!("GET|http://api.example:{sockets}/"),
                format!("GET|https://api.example:{port}/"),
                format!("GET|http://other.example:{port}/"),
                format!("GET|http://api.example.evil.example:{port}/"),
                format!("GET|http://evil-api.example:{port}/"),
                "GET|http://169.254.169.254/".to_owned(),
            ]
            .map(http)
            .into_iter()
            .chain([format!("connect:api.example:{port}"), "look-up:key-of-mine.evil.example".to_owned()])
            .collect(),
            is_decided: true,
        },
        Round {
            rules: &one,
            probes: ["host=other.example", "connection=upgrade", "transfer-encoding=chunked", "upgrade=h2c"]
                .map(|header| http(format!("GET|http://api.example:{port}/|{header}")))
                .into_iter()
                .chain([
                    http(format!("GET|http://api.example@other.example:{port}/")),
                    http(format!("GET|http://user@api.example:{port}/")),
                    http(format!("CONNECT|http://api.example:{port}/")),
                    http(format!("GET|ftp://api.example:{port}/")),
                    format!("raw-path:http://169.254.169.254/|http://api.example:{port}/"),
                ])
                .collect(),
            is_decided: false,
        },
        // These probes fail before a decision is made: their addresses are invalid, or their name
        // does not resolve.
        Round {
            rules: PUBLIC,
            probes: [
                format!("connect:[::ffff:127.0.0.1]:{sockets}"),
                format!("connect:[::ffff:169.254.169.254]:{sockets}"),
                format!("connect:localhost:{sockets}"),
                http(format!("GET|http://localhost:{port}/")),
            ]
            .to_vec(),
            is_decided: false,
        },
        Round {
            rules: SOCKETS,
            probes: ["127.0.0.1:0", "0.0.0.0:0", "0.0.0.0:8080", "[::]:0", "[::1]:0"]
                .map(|address| format!("listen:{address}"))
                .to_vec(),
            is_decided: true,
        },
        Round {
            rules: SOCKETS,
            probes: ["connect:metadata.example:80", "connect:169.254.169.254:80"].map(str::to_owned).to_vec(),
            is_decided: true,
        },
    ];
    let mut attempts = Vec::new();
    for Round { rules, probes, is_decided } in rounds {
        for probe in probes {
            let reaching = Reaching::with(rules, limits(), Vec::new());
            let got = answer(&*reaching.provider, &probe).await;
            let is_refused = got == "denied" || got.starts_with("refused");
            let is_recorded = reaching.records().iter().any(|record| record.decision == Outcome::Denied);
            let is_quiet = heard.connections() == 0 && listened.connections() == 0;
            let held =
                is_refused && is_quiet && (is_recorded || !is_decided) && is_well(&*reaching.provider).await;
            attempts.push(Attempt::new("network", probe, got, held));
        }
    }
    attempts.push(rebinding(port, heard.connections()).await);
    attempts.push(redirect().await);
    attempts
}

/// Uses a name that resolves to an unused address at first, and to this machine's address from the
/// second lookup on.
async fn rebinding(port: u16, before: usize) -> Attempt {
    let reaching = Reaching::with(PUBLIC, limits(), Vec::new());
    let mut got = Vec::new();
    for _ in 0..3 {
        got.push(answer(&*reaching.provider, &format!("http:GET|http://rebinds.example:{port}/")).await);
    }
    let held = got.iter().all(|got| got == "denied") && before == 0 && is_well(&*reaching.provider).await;
    Attempt::new("network", "a name that leads elsewhere the next time", got.join(", "), held)
}

/// A server redirects the plugin to a destination that is not allowed.
async fn redirect() -> Attempt {
    let (port, heard) = http_server().await;
    let reaching = Reaching::with(&one_host(port), limits(), Vec::new());
    let first = answer(&*reaching.provider, &format!("http:GET|http://api.example:{port}/redirect")).await;
    let second = answer(&*reaching.provider, "http:GET|http://169.254.169.254/").await;
    let is_recorded = reaching.decisions().contains(&"denied http://169.254.169.254".to_owned())
        || reaching.decisions().contains(&"denied http://169.254.169.254:80".to_owned());
    let held = heard.requests() == ["GET /redirect"]
        && second == "denied"
        && is_recorded
        && is_well(&*reaching.provider).await;
    Attempt::new("network", "a redirect to a denied host", format!("{first}, then {second}"), held)
}
