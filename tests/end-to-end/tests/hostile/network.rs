//! Attacks with names and addresses of destinations that policy does not allow, and with requests
//! that differ from the checked requests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::attack::{Outcome, Table, Verdict, ensure, escaped_if};
use crate::bounded::{self, MAX_TIME};
use crate::lab::{Lab, NETWORK, configuration};

pub fn attacks() -> Table {
    let mut table = Table::new("network");
    embedded_addresses(&mut table);
    methods(&mut table);
    search_lists(&mut table);
    table
}

/// Returns a policy that allows a host with additional conditions, and denies other destinations.
fn policy(allow: &str, deny: &str) -> String {
    format!("plugin \"{NETWORK}\" {{\n  allow network {{\n    {allow}\n  }}\n  {deny}\n}}\n")
}

/// Returns whether the log contains an allowed access to this address.
fn is_allowed(log: &str, address: &str) -> Result<bool, String> {
    let records: Vec<&str> = log.lines().filter(|line| line.contains(address)).collect();
    ensure(!records.is_empty(), || format!("the log does not contain {address}: {log}"))?;
    // A record is a JSON object that contains the decision in a separate member.
    let decision = |line: &&&str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        record["decision"] == "allowed"
    };
    Ok(records.iter().filter(decision).count() > 0)
}

fn embedded_addresses(table: &mut Table) {
    const DENY: &str = "deny network {\n    addresses = [\"10.20.0.0/16\"]\n  }";
    const ANY: &str = "hosts     = [\"::/0\", \"0.0.0.0/0\", \"**\"]\n    schemes   = [\"http\", \"tcp\", \"udp\"]\n    ports     = [\"*\"]";
    let cases: Vec<(&str, &str, &str, &str)> = vec![
        ("nat64", "64:ff9b::a14:7", "\"public\", \"private\"", DENY),
        ("nat64-with-dots", "64:ff9b::10.20.0.7", "\"public\", \"private\"", DENY),
        ("nat64-only-public", "64:ff9b::a14:7", "\"public\"", DENY),
        ("local-nat64", "64:ff9b:1::a14:7", "\"public\", \"private\"", DENY),
        ("local-nat64-of-48-bits", "64:ff9b:1:a14:0:700::", "\"public\", \"private\"", DENY),
        ("6to4", "2002:a14:7::1", "\"public\", \"private\"", DENY),
        ("6to4-of-other-host", "2002:a14:ff07:1::abcd", "\"public\", \"private\"", DENY),
        ("teredo-client", "2001:0:4136:e378:8000:63bf:f5eb:fff8", "\"public\", \"private\"", DENY),
        ("teredo-server", "2001:0:a14:7:8000:63bf:f5eb:ffff", "\"public\", \"private\"", DENY),
        ("isatap", "2a00:1450::5efe:a14:7", "\"public\", \"private\"", DENY),
        ("isatap-global", "2a00:1450::200:5efe:a14:7", "\"public\", \"private\"", DENY),
        ("compatible", "::a14:7", "\"public\", \"private\"", DENY),
        ("translated", "::ffff:0:a14:7", "\"public\", \"private\"", DENY),
        ("mapped", "::ffff:a14:7", "\"public\", \"private\"", DENY),
        ("metadata-in-nat64", "64:ff9b::a9fe:a9fe", "\"public\", \"private\", \"link-local\"", ""),
        ("metadata-in-local-nat64", "64:ff9b:1::a9fe:a9fe", "\"public\", \"private\"", ""),
        ("metadata-in-6to4", "2002:a9fe:a9fe::1", "\"public\", \"private\", \"link-local\"", ""),
        (
            "metadata-in-teredo",
            "2001:0:4136:e378:8000:63bf:5601:5601",
            "\"public\", \"private\", \"link-local\"",
            "",
        ),
        ("metadata-in-isatap", "2a00:1450::5efe:a9fe:a9fe", "\"public\", \"private\", \"link-local\"", ""),
        ("loopback-in-nat64", "64:ff9b::7f00:1", "\"public\"", ""),
        ("loopback-in-local-nat64", "64:ff9b:1::7f00:1", "\"public\", \"private\"", ""),
        ("loopback-in-6to4", "2002:7f00:1::1", "\"public\"", ""),
        ("private-in-6to4", "2002:c0a8:1::1", "\"public\"", ""),
        ("private-in-nat64", "64:ff9b::c0a8:1", "\"public\"", ""),
        ("private-in-isatap", "2a00:1450::5efe:c0a8:1", "\"public\"", ""),
    ];
    for (name, address, addresses, deny) in cases {
        for (scheme, step) in
            [("http", format!("http¦GET¦http://[{address}]:9/")), ("tcp", format!("connect¦[{address}]:9"))]
        {
            table.add(format!("{name}-{scheme}"), move || {
                let lab = Lab::with_network()?;
                lab.policy(&policy(&format!("{ANY}\n    addresses = [{addresses}]"), deny));
                lab.write("main.tf", configuration(&[(NETWORK, &["honest", &step])]));
                let mut command = lab.command("plan -input=false -audit-log=../audit.log");
                command
                    .env_remove("http_proxy")
                    .env_remove("HTTP_PROXY")
                    .env_remove("ALL_PROXY")
                    .env_remove("all_proxy");
                let run = bounded::run(command, MAX_TIME, &[])?;
                ensure(run.says("#1 "), || run.text())?;
                let log = lab.read_at("audit.log");
                let shortest: std::net::Ipv6Addr = address.parse().map_err(|_| "not an address")?;
                let mapped = shortest.to_ipv4_mapped().map(|address| address.to_string());
                let shown = [Some(shortest.to_string()), mapped, Some(address.to_owned())];
                let named = shown.iter().flatten().find(|address| log.contains(&***address));
                // Some addresses are rejected before they are recorded.
                let Some(named) = named else {
                    ensure(run.says("refused") || run.says("denied"), || run.text())?;
                    return Ok(Verdict::Held);
                };
                escaped_if(is_allowed(&log, named)?, format!("a connection to {address} was allowed"))
            });
        }
    }
}

type Requests = Arc<Mutex<Vec<String>>>;

/// Starts a server on loopback that records the first lines of requests and their credentials.
fn serve() -> Result<(u16, Requests), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut lines = Vec::new();
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                lines.push(line.trim_end().to_owned());
                line.clear();
            }
            seen.lock().unwrap().push(lines.join("\n"));
            let _ =
                (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
        }
    });
    Ok((port, requests))
}

fn methods(table: &mut Table) {
    for method in ["trace", "Trace", "tRACE", "connect", "get", "GeT", "delete", "options"] {
        table.add(format!("method-{method}"), move || {
            let lab = Lab::with_network()?;
            let (port, requests) = serve()?;
            let credential = format!("  credential {{\n    header = \"Authorization\"\n    environment = \"API_KEY\"\n    hosts = [\"127.0.0.1\"]\n    schemes = [\"http\"]\n    ports = [{port}]\n  }}\n");
            let allow = format!("hosts     = [\"127.0.0.1\"]\n    schemes   = [\"http\"]\n    ports     = [{port}]\n    addresses = [\"loopback\"]");
            lab.write_at("organisation.hcl", policy(&allow, &credential));
            let organisation = lab.at("organisation.hcl").display().to_string();
            let step = format!("http¦{method}¦http://127.0.0.1:{port}/x");
            lab.probe_all(&[(NETWORK, &["honest", &step])], &[("WARDIAN_POLICY", &organisation), ("API_KEY", "k3y"), ("NO_PROXY", "127.0.0.1")])?;
            let requests = requests.lock().unwrap().clone();
            let sent = requests.iter().any(|request| request.starts_with(&format!("{method} ")));
            escaped_if(sent, format!("the request {requests:?} was not the one that was checked"))
        });
    }
    for (method, allowed) in [("post", "GET"), ("Put", "GET"), ("patch", "GET\", \"HEAD")] {
        table.add(format!("other-method-{method}"), move || {
            let lab = Lab::with_network()?;
            let (port, requests) = serve()?;
            lab.policy(&policy(&format!("hosts     = [\"127.0.0.1\"]\n    schemes   = [\"http\"]\n    ports     = [{port}]\n    addresses = [\"loopback\"]\n    methods   = [\"{allowed}\"]"), ""));
            let step = format!("http¦{method}¦http://127.0.0.1:{port}/x");
            lab.probe_all(&[(NETWORK, &["honest", &step])], &[("NO_PROXY", "127.0.0.1")])?;
            escaped_if(!requests.lock().unwrap().is_empty(), "a request was sent that no rule allows")
        });
    }
}

/// Starts a name server on a loopback address that resolves the names of one domain.
fn name_server() -> Result<Option<String>, String> {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let address = format!("127.77.{}.{}", std::process::id() % 250, NEXT.fetch_add(1, Ordering::Relaxed));
    let Ok(socket) = UdpSocket::bind((address.as_str(), 53)) else { return Ok(None) };
    thread::spawn(move || {
        let mut packet = [0; 1500];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            if length > 12 {
                let _ = socket.send_to(&answer(&packet[..length]), from);
            }
        }
    });
    Ok(Some(address))
}

/// Returns 127.0.0.1 for all names below `corp.example`, and no address for other names.
fn answer(query: &[u8]) -> Vec<u8> {
    let (mut position, mut name) = (12, String::new());
    while let Some(length) = query.get(position).copied().filter(|length| *length > 0) {
        let end = position + 1 + usize::from(length);
        name.push_str(&String::from_utf8_lossy(query.get(position + 1..end).unwrap_or_default()));
        name.push('.');
        position = end;
    }
    let end = (position + 5).min(query.len());
    let kind = query.get(position + 2).copied().unwrap_or_default();
    let is_known = name.to_lowercase().ends_with(".corp.example.");
    let has_address = is_known && kind == 1;
    let mut reply = query[..end].to_vec();
    reply[2] = 0x84 | (query[2] & 1);
    reply[3] = if is_known { 0 } else { 3 };
    reply[4..12].copy_from_slice(&[0, 1, 0, u8::from(has_address), 0, 0, 0, 0]);
    if has_address {
        reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    reply
}

fn search_lists(table: &mut Table) {
    for (name, host, options, step) in [
        ("search-list-of-bare-name", "payroll", "search corp.example", "http¦GET¦http://payroll:PORT/"),
        ("search-list-of-domain", "payroll", "domain corp.example", "http¦GET¦http://payroll:PORT/"),
        (
            "search-list-of-two-labels",
            "payroll.eu",
            "search corp.example\noptions ndots:5",
            "http¦GET¦http://payroll.eu:PORT/",
        ),
        (
            "search-list-second-entry",
            "payroll",
            "search a.example corp.example",
            "http¦GET¦http://payroll:PORT/",
        ),
        ("search-list-of-socket", "payroll", "search corp.example", "connect¦payroll:PORT"),
        ("search-list-of-lookup", "payroll", "search corp.example", "look-up¦payroll"),
        ("search-list-of-upper-case", "payroll", "search CORP.example", "http¦GET¦http://PAYROLL:PORT/"),
        ("search-list-of-variable", "payroll", "LOCALDOMAIN", "http¦GET¦http://payroll:PORT/"),
    ] {
        table.add(name, move || search(host, options, step));
    }
}

fn search(host: &str, options: &str, step: &str) -> Outcome {
    let lab = Lab::with_network()?;
    let Some(server) = name_server()? else {
        return Ok(Verdict::Unavailable("no name server on port 53".into()));
    };
    let (port, requests) = serve()?;
    let deny = "deny network {\n    hosts = [\"**.corp.example\"]\n    schemes = [\"http\", \"tcp\"]\n    ports = [\"*\"]\n  }";
    let allow = format!(
        "hosts     = [\"{host}\"]\n    schemes   = [\"http\", \"tcp\"]\n    ports     = [{port}]\n    addresses = [\"loopback\"]"
    );
    lab.policy(&policy(&allow, deny));
    let settings = if options == "LOCALDOMAIN" { "" } else { options };
    lab.write_at("resolv.conf", format!("nameserver {server}\n{settings}\n"));
    lab.write("main.tf", configuration(&[(NETWORK, &["honest", &step.replace("PORT", &port.to_string())])]));
    let inner = lab.command("plan -input=false");
    let mut command = Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        "mount --bind \"$RESOLV\" /etc/resolv.conf || exit 77; exec \"$@\"",
        "sh",
    ]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(lab.path(""));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("RESOLV", lab.at("resolv.conf")).env("NO_PROXY", "*");
    if options == "LOCALDOMAIN" {
        command.env("LOCALDOMAIN", "corp.example");
    }
    let run = bounded::run(command, MAX_TIME, &[])?;
    if run.code == Some(77) || run.says("unshare failed") {
        return Ok(Verdict::Unavailable("no mount namespace".into()));
    }
    ensure(run.says("#1 "), || run.text())?;
    let reached = !requests.lock().unwrap().is_empty() || run.says("#1 127.0.0.1");
    escaped_if(reached, "a name of another domain was reached")
}
