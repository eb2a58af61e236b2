//! Encodes a declaration as JSON, at compile time.

use super::{Capability, SDK};

/// Returns the length of the JSON in bytes.
pub const fn length(needed: &[Capability]) -> usize {
    let counter = document::<0>(needed);
    counter.length
}

/// Encodes the requests as one line of JSON. `N` is the [`length`] of the line.
///
/// # Panics
/// Panics at compile time if `N` is another number.
pub const fn encode<const N: usize>(needed: &[Capability]) -> [u8; N] {
    let writer = document::<N>(needed);
    assert!(writer.length == N, "N must be the value of `length`");
    writer.bytes
}

/// A buffer, and the length of the complete output, which may exceed the buffer.
struct Writer<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

/// The name and arguments of a capability request.
struct Rule {
    name: &'static str,
    lists: [(&'static str, &'static [&'static str]); 5],
    program: &'static str,
    reason: &'static str,
}

const fn document<const N: usize>(needed: &[Capability]) -> Writer<N> {
    let mut writer = Writer { bytes: [0; N], length: 0 };
    writer.text("{\"version\":1,\"sdk\":");
    writer.quoted(SDK);
    writer.text(",\"capabilities\":[");
    let mut index = 0;
    while index < needed.len() {
        if index > 0 {
            writer.byte(b',');
        }
        let rule = rule(&needed[index]);
        writer.rule(&rule);
        index += 1;
    }
    writer.text("]}\n");
    writer
}

const fn rule(capability: &Capability) -> Rule {
    const NONE: (&str, &[&str]) = ("", &[]);
    match capability {
        Capability::Network(network) => Rule {
            name: "network",
            lists: [
                ("hosts", network.hosts),
                ("schemes", network.schemes),
                ("ports", network.ports),
                ("methods", network.methods),
                ("addresses", network.addresses),
            ],
            program: "",
            reason: network.reason,
        },
        Capability::Filesystem(filesystem) => Rule {
            name: "filesystem",
            lists: [
                ("directories", filesystem.directories),
                ("access", filesystem.access),
                ("protected", filesystem.protected),
                NONE,
                NONE,
            ],
            program: "",
            reason: filesystem.reason,
        },
        Capability::Environment(environment) => Rule {
            name: "environment",
            lists: [("names", environment.names), NONE, NONE, NONE, NONE],
            program: "",
            reason: environment.reason,
        },
        Capability::Process(process) => Rule {
            name: "process",
            lists: [("arguments", process.arguments), ("environment", process.environment), NONE, NONE, NONE],
            program: process.program,
            reason: process.reason,
        },
        Capability::Communicator(communicator) => Rule {
            name: "communicator",
            lists: [
                ("hosts", communicator.hosts),
                ("ports", communicator.ports),
                ("addresses", communicator.addresses),
                NONE,
                NONE,
            ],
            program: "",
            reason: communicator.reason,
        },
    }
}

impl<const N: usize> Writer<N> {
    const fn rule(&mut self, rule: &Rule) {
        self.byte(b'{');
        self.quoted(rule.name);
        self.text(":{");
        if !rule.program.is_empty() {
            self.text("\"program\":");
            self.quoted(rule.program);
            self.byte(b',');
        }
        let mut index = 0;
        while index < rule.lists.len() {
            let (name, texts) = rule.lists[index];
            // An empty list allows no arguments. Without the list, any arguments would be allowed.
            if !texts.is_empty() || !rule.program.is_empty() && index == 0 {
                self.quoted(name);
                self.byte(b':');
                self.list(texts);
                self.byte(b',');
            }
            index += 1;
        }
        self.text("\"reason\":");
        self.quoted(rule.reason);
        self.text("}}");
    }

    const fn list(&mut self, texts: &[&str]) {
        self.byte(b'[');
        let mut index = 0;
        while index < texts.len() {
            if index > 0 {
                self.byte(b',');
            }
            self.quoted(texts[index]);
            index += 1;
        }
        self.byte(b']');
    }

    const fn quoted(&mut self, text: &str) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let bytes = text.as_bytes();
        self.byte(b'"');
        let mut index = 0;
        while index < bytes.len() {
            let byte = bytes[index];
            if byte < b' ' {
                self.text("\\u00");
                self.byte(DIGITS[(byte >> 4) as usize]);
                self.byte(DIGITS[(byte & 15) as usize]);
            } else {
                if byte == b'"' || byte == b'\\' {
                    self.byte(b'\\');
                }
                self.byte(byte);
            }
            index += 1;
        }
        self.byte(b'"');
    }

    const fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            self.byte(bytes[index]);
            index += 1;
        }
    }

    const fn byte(&mut self, byte: u8) {
        if self.length < N {
            self.bytes[self.length] = byte;
        }
        self.length += 1;
    }
}
