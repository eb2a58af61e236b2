//! Parses the handshake: the line in which a plugin announces its address and protocol.
//!
//! `CORE|APP|NETWORK|ADDRESS|PROTOCOL|CERTIFICATE[|MULTIPLEX]`, for instance
//! `1|6|unix|/tmp/plugin2093784|grpc|MIIC...`. The lines of older plugins are recognized, to
//! suggest a solution in the error:
//!
//! | line | plugin |
//! |---|---|
//! | `2\|unix\|/path` | a plugin for Terraform before 0.7 |
//! | `1\|4\|unix\|/path` | a plugin for Terraform 0.7 to 0.11 |
//! | `1\|5\|unix\|/path` | a plugin that uses net/rpc |
//!
//! This module performs no I/O.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use wardian_plugin::printable_line;

/// Number of characters of a line that a message contains.
const SHOWN: usize = 300;
/// Minimum length of a certificate; some plugins print other text instead.
const MIN_CERTIFICATE_LENGTH: usize = 50;
/// Go writes base64 without padding, but padding is also accepted.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The plugin protocol's major version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolVersion {
    /// `tfplugin5`
    Five,
    /// `tfplugin6`
    Six,
}

/// The address at which a plugin listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PluginAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl std::fmt::Display for PluginAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// The content of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) version: ProtocolVersion,
    pub(crate) address: PluginAddress,
    /// The certificate in DER.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// An error in the line. The subject of the message is "the plugin".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The line is not a handshake.
    #[error(
        "printed text other than its handshake on its standard output: {line:?}. Either it is not a \
         Terraform plugin, or it prints output before it serves, which is a bug in the plugin"
    )]
    Unrecognized { line: String },
    /// The plugin was built for Terraform before 0.7.
    #[error(
        "printed {line:?}, which is the handshake of plugins for Terraform before 0.7. The plugin must be \
         rebuilt with a current plugin SDK; look for a newer version of the plugin"
    )]
    Ancient { line: String },
    /// The version of the handshake is not supported.
    #[error(
        "uses version {found:?} of the handshake, but only version 1 is supported; it was built with an \
         incompatible plugin library"
    )]
    CoreVersion { found: String },
    /// The plugin was built for Terraform 0.7 to 0.11.
    #[error(
        "uses version {found} of the plugin protocol, which Terraform 0.11 and earlier used, but only \
         versions 5 and 6 are supported. Look for a newer version of the plugin"
    )]
    OldProtocol { found: u32 },
    /// The version of the plugin protocol is not supported.
    #[error("uses version {found:?} of the plugin protocol, but only versions 5 and 6 are supported")]
    ProtocolVersion { found: String },
    /// The plugin does not use gRPC.
    #[error(
        "uses {found:?}, but only gRPC is supported; it was built for an old version of Terraform, so look \
         for a newer version of the plugin"
    )]
    NotGrpc { found: String },
    /// The network, or the address in it, is not supported.
    #[error(
        "listens on {network:?} at {address:?}, but only a Unix socket, or TCP on this machine, is \
         supported"
    )]
    Address { network: String, address: String },
    /// The certificate is invalid.
    #[error("sent a certificate that cannot be read: {reason}")]
    Certificate { reason: String },
}

impl Handshake {
    /// Parses the line, without its line ending.
    pub(crate) fn parse(line: &str) -> Result<Self, HandshakeError> {
        let line = line.trim();
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let ([_, "unix" | "tcp", _], true) = (fields.as_slice(), line.len() < SHOWN) else {
            return Self::of_fields(line, &fields);
        };
        Err(HandshakeError::Ancient { line: shown(line) })
    }

    fn of_fields(line: &str, fields: &[&str]) -> Result<Self, HandshakeError> {
        let [core, version, network, address, more @ ..] = fields else {
            return Err(HandshakeError::Unrecognized { line: shown(line) });
        };
        match core.parse::<u32>() {
            Ok(1) => {}
            Ok(_) => return Err(HandshakeError::CoreVersion { found: shown(core) }),
            Err(_) => return Err(HandshakeError::Unrecognized { line: shown(line) }),
        }
        let version = match version.parse::<u32>() {
            Ok(5) => ProtocolVersion::Five,
            Ok(6) => ProtocolVersion::Six,
            Ok(found) if found < 5 => return Err(HandshakeError::OldProtocol { found }),
            _ => return Err(HandshakeError::ProtocolVersion { found: shown(version) }),
        };
        match more.first() {
            Some(&"grpc") => {}
            None | Some(&"") => return Err(HandshakeError::NotGrpc { found: "netrpc".into() }),
            Some(other) => return Err(HandshakeError::NotGrpc { found: shown(other) }),
        }
        let unusable = || HandshakeError::Address { network: shown(network), address: shown(address) };
        let address = match *network {
            "unix" if !address.is_empty() => PluginAddress::Unix(PathBuf::from(address)),
            "tcp" => {
                let address: SocketAddr = address.parse().map_err(|_| unusable())?;
                // The plugin is a process on this machine, so an address on another machine cannot
                // be correct.
                if !address.ip().is_loopback() {
                    return Err(unusable());
                }
                PluginAddress::Tcp(address)
            }
            _ => return Err(unusable()),
        };
        let certificate = match more.get(1) {
            Some(text) if text.len() > MIN_CERTIFICATE_LENGTH => {
                let der = BASE64
                    .decode(text)
                    .map_err(|error| HandshakeError::Certificate { reason: error.to_string() })?;
                Some(der)
            }
            _ => None,
        };
        Ok(Self { version, address, certificate })
    }
}

/// Truncates a string for a message.
pub(crate) fn shown(text: &str) -> String {
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(end, _)| end);
    let mut beginning = printable_line(text.get(..end).unwrap_or_default());
    if end < text.len() {
        beginning.push('\u{2026}');
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> HandshakeError {
        Handshake::parse(line).unwrap_err()
    }

    #[test]
    fn handshakes_from_current_plugins_are_parsed() {
        let unix = Handshake::parse("1|5|unix|/tmp/plugin1466867450|grpc|").unwrap();
        assert_eq!(unix.version, ProtocolVersion::Five);
        assert_eq!(unix.address, PluginAddress::Unix("/tmp/plugin1466867450".into()));
        assert_eq!(unix.certificate, None);
        let tcp = Handshake::parse("1|6|tcp|127.0.0.1:10000|grpc||true\r").unwrap();
        assert_eq!(tcp.version, ProtocolVersion::Six);
        assert_eq!(tcp.address, PluginAddress::Tcp("127.0.0.1:10000".parse().unwrap()));
    }

    #[test]
    fn certificate_padding_is_optional() {
        let bytes = vec![7_u8; 61];
        for text in [BASE64.encode(&bytes), BASE64.encode(&bytes).trim_end_matches('=').to_owned()] {
            let handshake = Handshake::parse(&format!("1|6|unix|/s|grpc|{text}")).unwrap();
            assert_eq!(handshake.certificate.as_deref(), Some(&*bytes));
        }
        let broken = format!("1|6|unix|/s|grpc|{}", "!".repeat(60));
        assert!(matches!(error(&broken), HandshakeError::Certificate { .. }));
    }

    #[test]
    fn each_invalid_line_has_its_own_error() {
        let ancient = error("2|unix|/tmp/plugin");
        assert!(matches!(&ancient, HandshakeError::Ancient { line } if line == "2|unix|/tmp/plugin"));
        assert!(ancient.to_string().contains("rebuilt with a current plugin SDK"), "{ancient}");
        assert_eq!(error("1|4|unix|/tmp/plugin"), HandshakeError::OldProtocol { found: 4 });
        assert_eq!(error("1|7|unix|/p|grpc|"), HandshakeError::ProtocolVersion { found: "7".into() });
        assert_eq!(error("1|5|unix|/tmp/plugin"), HandshakeError::NotGrpc { found: "netrpc".into() });
        assert_eq!(error("2|5|unix|/p|grpc|"), HandshakeError::CoreVersion { found: "2".into() });
        for line in ["", "hello", "a|b|c|d|e", "|||", "1|2", "Usage: thing | other | more"] {
            assert!(matches!(error(line), HandshakeError::Unrecognized { .. }), "{line:?}");
        }
        for line in
            ["1|6|unix||grpc|", "1|6|pipe|x|grpc|", "1|6|tcp|10.0.0.1:80|grpc|", "1|6|tcp|localhost|grpc|"]
        {
            assert!(matches!(error(line), HandshakeError::Address { .. }), "{line:?}");
        }
    }

    #[test]
    fn long_line_is_truncated_and_control_characters_are_removed() {
        let HandshakeError::Unrecognized { line } = error(&format!("\u{1b}[2J{}", "x".repeat(5_000))) else {
            panic!("it is no handshake");
        };
        // The escape of one character is longer than the character.
        assert!(line.starts_with("\\u{1b}[2Jxxx") && line.chars().count() == SHOWN + 6, "{line}");
    }
}
