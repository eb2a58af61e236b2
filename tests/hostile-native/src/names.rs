//! Lookups of names that policy does not grant: a name can exfiltrate a secret.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use crate::outcome::{Arguments, During as _, Failure, Outcome};
use crate::sys::{Address, connect, receive, send, send_to, server as server_of, socket, tcp_socket};

/// `server=ADDRESS:PORT`, or else the parameters `address=` and `port=`.
fn server(arguments: &Arguments) -> Result<Address, Failure> {
    let address: SocketAddr = match arguments.optional("server") {
        None if arguments.optional("address").is_some() => server_of(arguments, "")?,
        None => SocketAddr::from(([127, 0, 0, 53], 53)),
        Some(text) => {
            text.parse().map_err(|_| Failure::Parameter("server= is not ADDRESS:PORT".to_owned()))?
        }
    };
    Ok(Address::internet(address))
}

fn header(questions: u16) -> Vec<u8> {
    let mut bytes = vec![0x57, 0x41, 0x01, 0x00];
    bytes.extend(questions.to_be_bytes());
    bytes.extend([0; 6]);
    bytes
}

/// Encodes a name as labels. A label may have any length; only the lowest eight bits of the length are sent.
fn labels(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = labels(name);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes
}

fn kind(arguments: &Arguments) -> Result<u16, Failure> {
    Ok(match arguments.optional("type").unwrap_or("A") {
        "A" => 1,
        "NS" => 2,
        "CNAME" => 5,
        "NULL" => 10,
        "PTR" => 12,
        "MX" => 15,
        "TXT" => 16,
        "AAAA" => 28,
        "SRV" => 33,
        "HTTPS" => 65,
        "AXFR" => 252,
        "ANY" => 255,
        other => {
            return other.parse().map_err(|_| Failure::Parameter(format!("the type {other} is unknown")));
        }
    })
}

/// Returns success if an answer with records has arrived.
fn judge(answer: Option<&[u8]>) -> Outcome {
    let Some(answer) = answer else {
        return Err(Failure::NoEffect("no answer".to_owned()));
    };
    if answer.len() < 12 {
        return Err(Failure::NoEffect(format!("an answer of {} bytes", answer.len())));
    }
    let code = match answer[3] & 15 {
        0 => "NOERROR".to_owned(),
        1 => "FORMERR".to_owned(),
        2 => "SERVFAIL".to_owned(),
        3 => "NXDOMAIN".to_owned(),
        4 => "NOTIMP".to_owned(),
        5 => "REFUSED".to_owned(),
        other => format!("code {other}"),
    };
    let records = u16::from_be_bytes([answer[6], answer[7]]);
    if records > 0 {
        Ok(format!("{code} with {records} records"))
    } else {
        Err(Failure::NoEffect(format!("{code} without records")))
    }
}

fn datagram_socket(server: &Address) -> Result<OwnedFd, Failure> {
    socket(server.family(), libc::SOCK_DGRAM, 0)
}

/// Sends the query as most C libraries do, with `connect` and `send`.
fn exchange(server: &Address, query: &[u8], patience: Duration) -> Result<Option<Vec<u8>>, Failure> {
    let socket = datagram_socket(server)?;
    connect(socket.as_raw_fd(), server)?;
    send(socket.as_raw_fd(), query)?;
    receive(socket.as_raw_fd(), patience)
}

fn query(arguments: &Arguments) -> Result<Vec<u8>, Failure> {
    let mut query = header(1);
    query.extend(question(arguments.text("name")?, kind(arguments)?));
    Ok(query)
}

fn patience(arguments: &Arguments) -> Result<Duration, Failure> {
    arguments.number_or("seconds", 5).map(Duration::from_secs)
}

pub(crate) fn dns_query(arguments: &Arguments) -> Outcome {
    let (server, query, patience) = (server(arguments)?, query(arguments)?, patience(arguments)?);
    judge(exchange(&server, &query, patience)?.as_deref())
}

/// Sends the query as musl does, with `bind` and `sendto`.
pub(crate) fn dns_query_sendto(arguments: &Arguments) -> Outcome {
    let (server, query, patience) = (server(arguments)?, query(arguments)?, patience(arguments)?);
    let socket = datagram_socket(&server)?;
    send_to(socket.as_raw_fd(), &query, 0, &server)?;
    judge(receive(socket.as_raw_fd(), patience)?.as_deref())
}

pub(crate) fn dns_tcp(arguments: &Arguments) -> Outcome {
    let (server, query, patience) = (server(arguments)?, query(arguments)?, patience(arguments)?);
    let socket = tcp_socket(&server)?;
    connect(socket.as_raw_fd(), &server)?;
    let mut message = (query.len() as u16).to_be_bytes().to_vec();
    message.extend(query);
    send(socket.as_raw_fd(), &message)?;
    let mut answer = Vec::new();
    while answer.len() < 2 || answer.len() < 2 + usize::from(u16::from_be_bytes([answer[0], answer[1]])) {
        match receive(socket.as_raw_fd(), patience)? {
            Some(bytes) if !bytes.is_empty() => answer.extend(bytes),
            _ => break,
        }
    }
    judge(answer.get(2..))
}

/// Returns the malformed queries, each with its name.
fn malformed(name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut two_questions = header(2);
    two_questions.extend(question(name, 1));
    two_questions.extend(question(&format!("second.{name}"), 16));

    let mut loops = header(1);
    // A pointer to itself.
    loops.extend([0xc0, 12, 0, 1, 0, 1]);

    let mut longer_loop = header(1);
    // A label followed by a pointer to that label.
    longer_loop.extend(b"\x01a\xc0\x0c\x00\x01\x00\x01");

    let mut beyond = header(1);
    // A pointer beyond the end.
    beyond.extend([0xff, 0xff, 0, 1, 0, 1]);

    let mut large = header(1);
    large.extend(question(name, 1));
    large.resize(65_000, 0x41);

    let mut false_label = header(1);
    // A label that is longer than the message.
    false_label.extend(b"\x3fshort");

    let mut long_label = header(1);
    // A length with reserved bits.
    long_label.extend(b"\x80short\x00\x00\x01\x00\x01");

    let mut long_name = header(1);
    long_name.extend(question(&"a23456789.".repeat(100), 1));

    let mut many_questions = header(u16::MAX);
    many_questions.extend(question(name, 1));

    let mut false_counts = header(1);
    false_counts[6..12].fill(0xff);
    false_counts.extend(question(name, 1));

    let mut answer = header(1);
    answer[2] |= 0x80;
    answer.extend(question(name, 1));

    let mut other_class = header(1);
    other_class.extend(labels(name));
    // The class CHAOS.
    other_class.extend([0, 1, 0, 3]);

    let mut null_in_label = header(1);
    null_in_label.extend(b"\x04a\x00.b");
    null_in_label.extend(question(name, 1));

    vec![
        ("two-questions", two_questions),
        ("loop", loops),
        ("longer-loop", longer_loop),
        ("pointer-beyond-end", beyond),
        ("large", large),
        ("false-label", false_label),
        ("reserved-label", long_label),
        ("long-name", long_name),
        ("many-questions", many_questions),
        ("false-counts", false_counts),
        ("answer", answer),
        ("other-class", other_class),
        ("null-in-label", null_in_label),
        ("no-question", header(0)),
        ("short", vec![0; 5]),
        ("empty", Vec::new()),
    ]
}

/// Sends malformed queries, all or the one of `case=`. An answer with records is a success.
pub(crate) fn dns_malformed(arguments: &Arguments) -> Outcome {
    let server = server(arguments)?;
    let name = arguments.optional("name").unwrap_or("secret.attack.example");
    let wanted = arguments.optional("case");
    let mut results = Vec::new();
    let (mut succeeded, mut first) = (false, None);
    for (case, query) in malformed(name) {
        if wanted.is_some_and(|wanted| wanted != case) {
            continue;
        }
        let outcome =
            exchange(&server, &query, Duration::from_millis(200)).and_then(|answer| judge(answer.as_deref()));
        match outcome {
            Ok(effect) => {
                succeeded = true;
                results.push(format!("{case}: {effect}"));
            }
            Err(failure) => {
                let text =
                    if failure.errno().is_some() { failure.name() } else { failure.detail().to_owned() };
                results.push(format!("{case}: {text}"));
                first.get_or_insert(failure);
            }
        }
    }
    let list = results.join(", ");
    match first {
        Some(failure) if !succeeded => Err(failure.with(&list)),
        None if !succeeded => Err(Failure::Parameter("case= is unknown".to_owned())),
        _ => Ok(list),
    }
}

/// Looks up a name with the C library, as ordinary programs do.
pub(crate) fn look_up(arguments: &Arguments) -> Outcome {
    let addresses: Vec<_> = (arguments.text("name")?, 0)
        .to_socket_addrs()
        .during("getaddrinfo")?
        .map(|address| address.ip().to_string())
        .collect();
    if addresses.is_empty() {
        return Err(Failure::NoEffect("no addresses".to_owned()));
    }
    Ok(addresses.join(", "))
}
