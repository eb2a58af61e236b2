//! A Sigstore instance for tests: a certificate authority, a certificate log and a transparency
//! log, whose keys exist only during the test.
//!
//! The crate depends on no other crate of the workspace. A mistake in the product is therefore not
//! repeated here.

#![allow(clippy::unwrap_used, reason = "only tests use it")]

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData as _, SanType,
    SerialNumber, SigningKey as _, date_time_ymd,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// 2024-05-01, the time from which certificates are valid for ten minutes.
pub const SIGNED_AT: u64 = 1_714_521_600;

pub const GITHUB: &str = "https://token.actions.githubusercontent.com";
pub const REPOSITORY: &str = "https://github.com/acme/terraform-provider-dns";

pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    Sha256::digest(parts.concat()).into()
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}

/// Returns the identifier of a log: the digest of its public key.
fn log_id(key: &KeyPair) -> [u8; 32] {
    sha256(&[&key.subject_public_key_info()])
}

/// Encodes a DER value.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    let header = match length {
        0..128 => vec![tag, u8::try_from(length).unwrap()],
        128..256 => vec![tag, 0x81, u8::try_from(length).unwrap()],
        _ => [&[tag, 0x82], &length.to_be_bytes()[..]].concat(),
    };
    [&header, content].concat()
}

/// Returns the first DER value in `bytes`.
fn first_value(bytes: &[u8]) -> &[u8] {
    let (header, length) = match bytes[1] {
        0x81 => (3, usize::from(bytes[2])),
        0x82 => (4, usize::from(u16::from_be_bytes([bytes[2], bytes[3]]))),
        short => (2, usize::from(short)),
    };
    &bytes[..header + length]
}

/// The content of a signing certificate.
#[derive(Clone)]
pub struct Claims {
    pub issuer: Option<&'static str>,
    pub subject: String,
    /// The numbers and values of the extensions that describe the workflow.
    pub workflow: Vec<(u64, String)>,
}

impl Claims {
    /// Returns the claims of a release workflow for a tag.
    pub fn of_release(tag: &str) -> Self {
        let workflow = format!("{REPOSITORY}/.github/workflows/release.yml@refs/tags/{tag}");
        Self {
            issuer: Some(GITHUB),
            subject: workflow.clone(),
            workflow: vec![
                (12, REPOSITORY.to_owned()),
                (13, "0123456789abcdef0123456789abcdef01234567".to_owned()),
                (14, format!("refs/tags/{tag}")),
                (15, "1234".to_owned()),
                (17, "56".to_owned()),
                (18, workflow),
            ],
        }
    }

    /// Replaces the value of an extension.
    pub fn with(mut self, number: u64, value: &str) -> Self {
        self.workflow.retain(|(other, _)| *other != number);
        self.workflow.push((number, value.to_owned()));
        self
    }

    pub fn of_person(subject: &str) -> Self {
        Self { issuer: Some("https://accounts.example.com"), subject: subject.to_owned(), workflow: vec![] }
    }
}

/// The signed content.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    Artifact(&'a [u8]),
    /// An in-toto statement of the given type about an artifact.
    Statement(&'a [u8], &'a str),
}

/// A Sigstore instance.
pub struct Sigstore {
    authority: Issuer<'static, KeyPair>,
    authority_certificate: Vec<u8>,
    certificate_log: KeyPair,
    log: KeyPair,
}

impl Default for Sigstore {
    fn default() -> Self {
        Self::new()
    }
}

impl Sigstore {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.not_before = date_time_ymd(2024, 1, 1);
        params.not_after = date_time_ymd(2034, 1, 1);
        let key_pair = key();
        let certificate = params.self_signed(&key_pair).unwrap();
        Self {
            authority_certificate: certificate.der().to_vec(),
            authority: Issuer::new(params, key_pair),
            certificate_log: key(),
            log: key(),
        }
    }

    pub fn trust_root_json(&self) -> Value {
        let log = |key: &KeyPair| {
            json!({
                "baseUrl": "https://log.example.com",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": base64(key.subject_public_key_info()),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": {"start": "2024-01-01T00:00:00Z"},
                },
                "logId": {"keyId": base64(log_id(key))},
            })
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log)],
            "ctlogs": [log(&self.certificate_log)],
            "certificateAuthorities": [{
                "subject": {"organization": "example.com", "commonName": "test authority"},
                "uri": "https://authority.example.com",
                "certChain": {"certificates": [{"rawBytes": base64(&self.authority_certificate)}]},
                "validFor": {"start": "2024-01-01T00:00:00Z"},
            }],
            "timestampAuthorities": [],
        })
    }

    /// Issues a certificate with a timestamp from the certificate log. The timestamp covers the
    /// certificate without the timestamp.
    fn issue(&self, claims: &Claims, subject_key: &KeyPair) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.serial_number = Some(SerialNumber::from_slice(&[7; 16]));
        params.use_authority_key_identifier_extension = true;
        params.not_before = date_time_ymd(2024, 5, 1);
        params.not_after = date_time_ymd(2024, 5, 1) + Duration::from_mins(10);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        let name = claims.subject.as_str().try_into().unwrap();
        params.subject_alt_names =
            vec![if claims.subject.contains("://") { SanType::URI(name) } else { SanType::Rfc822Name(name) }];
        let issuer = claims.issuer.map(|issuer| (8, issuer.to_owned()));
        for (number, value) in claims.workflow.iter().chain(&issuer) {
            let identifier = [1, 3, 6, 1, 4, 1, 57264, 1, *number];
            let extension = CustomExtension::from_oid_content(&identifier, der(0x0c, value.as_bytes()));
            params.custom_extensions.push(extension);
        }
        if let Some(issuer) = claims.issuer {
            // The older form of the issuer, which other verifiers still read.
            let identifier = [1, 3, 6, 1, 4, 1, 57264, 1, 1];
            params.custom_extensions.push(CustomExtension::from_oid_content(&identifier, issuer.into()));
        }
        let unlogged = params.signed_by(subject_key, &self.authority).unwrap();
        let content = unlogged.der().get(4..).unwrap();
        let list = self.certificate_timestamp(first_value(content));
        params
            .custom_extensions
            .push(CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2], der(0x04, &list)));
        params.signed_by(subject_key, &self.authority).unwrap().der().to_vec()
    }

    /// Returns the list of signed certificate timestamps (RFC 6962) for a certificate.
    fn certificate_timestamp(&self, certificate: &[u8]) -> Vec<u8> {
        let issuer = sha256(&[&self.authority.key().subject_public_key_info()]);
        let length = u32::try_from(certificate.len()).unwrap().to_be_bytes();
        let time = (SIGNED_AT * 1000).to_be_bytes();
        let signed = [&[0, 0], &time[..], &[0, 1], &issuer, &length[1..], certificate, &[0, 0]].concat();
        let signature = self.certificate_log.sign(&signed).unwrap();
        let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_be_bytes();
        let timestamp = [
            &[0],
            &log_id(&self.certificate_log)[..],
            &time,
            &[0, 0],
            &[4, 3],
            &length(&signature),
            &signature,
        ]
        .concat();
        let with_length = [&length(&timestamp)[..], &timestamp].concat();
        [&length(&with_length)[..], &with_length].concat()
    }

    /// Signs and returns the bundle as JSON.
    pub fn sign(&self, claims: &Claims, content: Content<'_>, logged_at: u64) -> Value {
        let signer = key();
        let certificate = self.issue(claims, &signer);
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            base64(&certificate)
                .as_bytes()
                .chunks(64)
                .map(String::from_utf8_lossy)
                .collect::<Vec<_>>()
                .join("\n")
        );
        let (signed_content, kind, body) = match content {
            Content::Artifact(artifact) => {
                let signature = signer.sign(artifact).unwrap();
                let body = json!({
                    "apiVersion": "0.0.1",
                    "kind": "hashedrekord",
                    "spec": {
                        "data": {"hash": {"algorithm": "sha256", "value": hex::encode(sha256(&[artifact]))}},
                        "signature": {"content": base64(&signature), "publicKey": {"content": base64(&pem)}},
                    },
                });
                let message = json!({
                    "messageDigest": {"algorithm": "SHA2_256", "digest": base64(sha256(&[artifact]))},
                    "signature": base64(signature),
                });
                (("messageSignature", message), "hashedrekord", body)
            }
            Content::Statement(artifact, kind) => {
                const TYPE: &str = "application/vnd.in-toto+json";
                let payload = json!({
                    "_type": "https://in-toto.io/Statement/v1",
                    "subject": [{"name": "artifact", "digest": {"sha256": hex::encode(sha256(&[artifact]))}}],
                    "predicateType": kind,
                    "predicate": {},
                })
                .to_string();
                let encoded = format!("DSSEv1 {} {TYPE} {} {payload}", TYPE.len(), payload.len());
                let signature = signer.sign(encoded.as_bytes()).unwrap();
                let body = json!({
                    "apiVersion": "0.0.1",
                    "kind": "dsse",
                    "spec": {
                        "envelopeHash": {"algorithm": "sha256", "value": hex::encode([0; 32])},
                        "payloadHash": {
                            "algorithm": "sha256",
                            "value": hex::encode(sha256(&[payload.as_bytes()])),
                        },
                        "signatures": [{"signature": base64(&signature), "verifier": base64(&pem)}],
                    },
                });
                let envelope = json!({
                    "payloadType": TYPE,
                    "payload": base64(payload),
                    "signatures": [{"sig": base64(signature)}],
                });
                (("dsseEnvelope", envelope), "dsse", body)
            }
        };
        let entry = self.log(kind, &body.to_string(), logged_at);
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": base64(certificate)},
                "tlogEntries": [entry],
            },
        });
        bundle[signed_content.0] = signed_content.1;
        bundle
    }

    /// Adds an entry to a log, which then has two entries. Returns the entry with its proofs.
    fn log(&self, kind: &str, body: &str, time: u64) -> Value {
        let log_id = log_id(&self.log);
        let leaf = sha256(&[&[0], body.as_bytes()]);
        let sibling = sha256(&[&[0], b"another entry"]);
        let root = sha256(&[&[1], &leaf, &sibling]);
        let note = format!("log.example.com - 1\n2\n{}\n", base64(root));
        let note_signature = [&log_id[..4], &self.log.sign(note.as_bytes()).unwrap()].concat();
        let promise = format!(
            "{{\"body\":\"{}\",\"integratedTime\":{time},\"logID\":\"{}\",\"logIndex\":100}}",
            base64(body),
            hex::encode(log_id)
        );
        json!({
            "logIndex": "100",
            "logId": {"keyId": base64(log_id)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": time.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": base64(self.log.sign(promise.as_bytes()).unwrap())},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": base64(root),
                "treeSize": "2",
                "hashes": [base64(sibling)],
                "checkpoint": {
                    "envelope": format!("{note}\n\u{2014} log.example.com {}\n", base64(note_signature)),
                },
            },
            "canonicalizedBody": base64(body),
        })
    }
}
