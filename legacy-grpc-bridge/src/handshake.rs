//! The one line with which a plugin says where it is and how it speaks.
//!
//! `CORE|APP|NETWORK|ADDRESS|PROTOCOL|CERTIFICATE[|MULTIPLEX]`, for instance
//! `1|6|unix|/tmp/plugin2093784|grpc|MIIC...`. What older plugins print is told
//! apart, so that the person learns what to do about it:
//!
//! | line | what it is |
//! |---|---|
//! | `2\|unix\|/path` | a plugin for Terraform before 0.7 |
//! | `1\|4\|unix\|/path` | one for Terraform 0.7 to 0.11 |
//! | `1\|5\|unix\|/path` | one that speaks net/rpc |
//!
//! Calls nothing, reads nothing.

use std::net::SocketAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use wardian_plugin::printable_line;

/// How much of a line a message shows.
const SHOWN: usize = 300;
/// What is shorter cannot be a certificate; some plugins print other things there.
const MIN_CERTIFICATE_LENGTH: usize = 50;
/// Go writes no padding; who does means the same.
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

/// Where a plugin listens.
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

/// What the line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) version: ProtocolVersion,
    pub(crate) address: PluginAddress,
    /// DER.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// Why a line is not one that we can follow. The texts go on after "the plugin".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// It is not a handshake at all.
    #[error(
        "printed something else than its handshake on its standard output: {line:?}. Either it is no Terraform \
         plugin, or it prints before it serves, which its author has to mend"
    )]
    Unrecognized {
        /// What it printed.
        line: String,
    },
    /// It is of before Terraform 0.7.
    #[error(
        "answered {line:?}, which is the handshake of plugins for Terraform before 0.7. It has to be compiled \
         anew with a current plugin SDK; look for a newer version of it"
    )]
    Ancient {
        /// What it printed.
        line: String,
    },
    /// The handshake itself is of another version.
    #[error(
        "answered with version {found:?} of the handshake, where only version 1 is known; it was built with an incompatible plugin library"
    )]
    CoreVersion {
        /// What it printed.
        found: String,
    },
    /// It is of Terraform 0.7 to 0.11.
    #[error(
        "speaks version {found} of the plugin protocol, which is that of Terraform 0.11 and before; versions 5 \
         and 6 are known here. Look for a newer version of it"
    )]
    OldProtocol {
        /// The version.
        found: u32,
    },
    /// It speaks a version that nobody here knows.
    #[error("speaks version {found:?} of the plugin protocol; versions 5 and 6 are known here")]
    ProtocolVersion {
        /// The version.
        found: String,
    },
    /// It does not speak gRPC.
    #[error(
        "speaks {found:?} where only gRPC is supported; it was built for an old version of Terraform, so look for a newer version of it"
    )]
    NotGrpc {
        /// What it speaks.
        found: String,
    },
    /// It listens in a way that is not known.
    #[error(
        "listens on {network:?} at {address:?}, where only a unix socket, or TCP on this machine, can be used"
    )]
    Address {
        /// The kind of network.
        network: String,
        /// The address.
        address: String,
    },
    /// Its certificate is not one.
    #[error("sent a certificate that cannot be read: {reason}")]
    Certificate {
        /// Why.
        reason: String,
    },
}

impl Handshake {
    /// Reads the line, without its end.
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
                // A plugin is this machine's process: what is elsewhere is not it.
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

/// As much of a text as a message needs.
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
    fn lines_of_current_plugins_are_understood() {
        let unix = Handshake::parse("1|5|unix|/tmp/plugin1466867450|grpc|").unwrap();
        assert_eq!(unix.version, ProtocolVersion::Five);
        assert_eq!(unix.address, PluginAddress::Unix("/tmp/plugin1466867450".into()));
        assert_eq!(unix.certificate, None);
        let tcp = Handshake::parse("1|6|tcp|127.0.0.1:10000|grpc||true\r").unwrap();
        assert_eq!(tcp.version, ProtocolVersion::Six);
        assert_eq!(tcp.address, PluginAddress::Tcp("127.0.0.1:10000".parse().unwrap()));
    }

    #[test]
    fn a_certificate_may_be_padded_or_not() {
        let bytes = vec![7_u8; 61];
        for text in [BASE64.encode(&bytes), BASE64.encode(&bytes).trim_end_matches('=').to_owned()] {
            let handshake = Handshake::parse(&format!("1|6|unix|/s|grpc|{text}")).unwrap();
            assert_eq!(handshake.certificate.as_deref(), Some(&*bytes));
        }
        let broken = format!("1|6|unix|/s|grpc|{}", "!".repeat(60));
        assert!(matches!(error(&broken), HandshakeError::Certificate { .. }));
    }

    #[test]
    fn each_wrong_line_has_an_error_of_its_own() {
        let ancient = error("2|unix|/tmp/plugin");
        assert!(matches!(&ancient, HandshakeError::Ancient { line } if line == "2|unix|/tmp/plugin"));
        assert!(ancient.to_string().contains("compiled anew"), "{ancient}");
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
    fn a_line_without_end_is_shown_in_part_and_cannot_steer_a_terminal() {
        let HandshakeError::Unrecognized { line } = error(&format!("\u{1b}[2J{}", "x".repeat(5_000))) else {
            panic!("it is no handshake");
        };
        assert!(line.chars().count() <= SHOWN + 1 && !line.contains('\u{1b}'));
    }
}
