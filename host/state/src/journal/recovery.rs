//! Reads the journal of an interrupted run.

use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use wardian_address::{ProviderConfigAddress, ResourceInstanceAddress};

use super::{CHECKSUM_LENGTH, ENCRYPTED_FORMAT, FORMAT, OLDEST_FORMAT, line_checksum};
use crate::encryption::{RecordCipher, StateEncryption};
use crate::error::{StateError, StateProblem};
use crate::format::{decode_instance, decode_state};
use crate::model::{Instance, State};
use crate::sidecar::read_no_follow;

/// The valid content of a journal.
#[derive(Debug, Default)]
pub(crate) struct JournalContent {
    /// The first line. It is missing if the line is incomplete.
    pub(crate) header: Option<Header>,
    /// The changes, in the order in which they were recorded.
    pub(crate) changes: Vec<Change>,
    /// Intents without a recorded change.
    pub(crate) incomplete: Vec<Intent>,
    /// The complete new state, if the journal contains it.
    pub(crate) finished: Option<State>,
    /// The fingerprints of the states that the run stored before it ended.
    pub(crate) stored: Vec<String>,
    /// The cipher of the lines, if they are encrypted.
    pub(crate) cipher: Option<Arc<dyn RecordCipher>>,
    /// The checksum of the last valid line.
    pub(super) checksum: String,
    /// The length of all valid lines.
    pub(super) length: u64,
    /// The number of bytes after the valid lines.
    pub(crate) ignored_bytes: usize,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) wardian_journal: u64,
    pub(crate) lineage: String,
    pub(crate) serial: u64,
    pub(crate) state: String,
}

/// The line that precedes the lines of an encrypted journal.
#[derive(Deserialize)]
struct KeyLine {
    wardian_journal: u64,
    encryption: String,
}

#[derive(Deserialize)]
struct SealedLine<'a> {
    #[serde(borrow)]
    sealed: Cow<'a, str>,
}

/// The new objects of one instance.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) address: ResourceInstanceAddress,
    pub(crate) provider: ProviderConfigAddress,
    pub(crate) instance: Instance,
}

/// A request that was recorded before it was sent to a provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Intent {
    pub address: String,
    /// `create`, `update` or `delete`.
    pub action: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    begun: Option<Intent>,
    stored: Option<String>,
    address: Option<String>,
    provider: Option<String>,
    #[serde(borrow)]
    objects: Option<&'a RawValue>,
    #[serde(rename = "final", borrow)]
    finished: Option<&'a RawValue>,
}

/// Reads a journal; `None` if it does not exist.
pub(crate) async fn read(
    path: &Path,
    encryption: Option<&dyn StateEncryption>,
) -> Result<Option<JournalContent>, StateError> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    let cipher = match (key_line(&bytes), encryption) {
        (None, Some(encryption)) if !encryption.accepts_plain() && next_line(&bytes, "").is_some() => {
            let problem = "it is not encrypted, and the configuration does not accept unencrypted content";
            return Err(damaged(path, problem.to_owned()));
        }
        (None, _) => None,
        (Some(_), None) => {
            let problem = "it is encrypted, and the configuration has no encryption for states";
            return Err(damaged(path, problem.to_owned()));
        }
        (Some(line), Some(encryption)) => {
            let cipher = encryption.record_cipher(&line.encryption).await;
            Some(cipher.map_err(|failure| StateError::new(path, StateProblem::Encryption(failure)))?)
        }
    };
    parse(&bytes, cipher.as_ref()).map(Some).map_err(|problem| damaged(path, problem))
}

/// Reads a journal whose cipher is known; `None` if it does not exist.
pub(super) fn read_with(
    path: &Path,
    cipher: Option<&Arc<dyn RecordCipher>>,
) -> Result<Option<JournalContent>, StateError> {
    let Some(bytes) = read_bytes(path)? else { return Ok(None) };
    parse(&bytes, cipher).map(Some).map_err(|problem| damaged(path, problem))
}

fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    match read_no_follow(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StateError::new(path, StateProblem::io("read the journal")(error))),
    }
}

fn damaged(path: &Path, problem: String) -> StateError {
    StateError::new(path, StateProblem::DamagedJournal { path: path.to_owned(), problem })
}

/// Returns the line with the encrypted key, if the journal begins with one.
fn key_line(bytes: &[u8]) -> Option<KeyLine> {
    let (json, ..) = next_line(bytes, "")?;
    let line: KeyLine = serde_json::from_str(json).ok()?;
    (line.wardian_journal == ENCRYPTED_FORMAT).then_some(line)
}

/// Returns the JSON text of an encrypted line.
fn unsealed(json: &str, cipher: &dyn RecordCipher, previous_checksum: &str) -> Result<String, String> {
    let line: SealedLine<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let sealed = STANDARD.decode(line.sealed.as_bytes()).map_err(|error| error.to_string())?;
    let record = cipher.open(previous_checksum.as_bytes(), sealed).map_err(|failure| failure.to_string())?;
    String::from_utf8(record).map_err(|error| error.to_string())
}

pub(super) fn parse(bytes: &[u8], cipher: Option<&Arc<dyn RecordCipher>>) -> Result<JournalContent, String> {
    let mut content = JournalContent { cipher: cipher.cloned(), ..JournalContent::default() };
    let mut rest = bytes;
    if cipher.is_some()
        && let Some((_, checksum, after)) = next_line(rest, "")
    {
        content.checksum = checksum;
        rest = after;
    }
    while let Some((line, checksum, after)) = next_line(rest, &content.checksum) {
        let json = match cipher {
            Some(cipher) => Cow::Owned(unsealed(line, &**cipher, &content.checksum)?),
            None => Cow::Borrowed(line),
        };
        let json = &*json;
        if content.header.is_none() {
            let header: Header = serde_json::from_str(json).map_err(|error| error.to_string())?;
            if !(OLDEST_FORMAT..=FORMAT).contains(&header.wardian_journal) {
                return Err(format!("its format {} is not supported", header.wardian_journal));
            }
            content.header = Some(header);
        } else {
            // The checksum proves that the line was not changed, so a line that cannot be parsed
            // was written by a newer version of Wardian.
            content.add_line(json)?;
        }
        content.checksum = checksum;
        rest = after;
    }
    if content.header.is_none() && rest.contains(&b'\n') {
        return Err("the first line is damaged".to_owned());
    }
    content.ignored_bytes = rest.len();
    content.length = (bytes.len() - rest.len()) as u64;
    Ok(content)
}

/// Splits off the first line if it is complete and valid. Returns its JSON, its checksum and the
/// remaining bytes.
fn next_line<'a>(bytes: &'a [u8], previous: &str) -> Option<(&'a str, String, &'a [u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let (checksum, json) = line.split_at_checked(CHECKSUM_LENGTH)?;
    let json = json.strip_prefix(' ')?;
    (line_checksum(previous, &[json]) == checksum).then(|| (json, checksum.to_owned(), &bytes[end + 1..]))
}

impl JournalContent {
    fn add_line(&mut self, json: &str) -> Result<(), String> {
        let line: Line<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        match line {
            Line { begun: Some(intent), .. } => self.incomplete.push(intent),
            Line { stored: Some(fingerprint), .. } => self.stored.push(fingerprint),
            Line { finished: Some(state), .. } => {
                self.finished =
                    decode_state(state.get().as_bytes()).map_err(|problem| problem.to_string())?;
            }
            Line { address: Some(address), provider: Some(provider), objects: Some(objects), .. } => {
                if let Some(done) = self.incomplete.iter().position(|intent| intent.address == address) {
                    self.incomplete.remove(done);
                }
                let instance =
                    decode_instance(objects.get(), &address).map_err(|problem| problem.to_string())?;
                self.changes.push(Change {
                    address: address.parse().map_err(|error| format!("{error}"))?,
                    provider: provider.parse().map_err(|error| format!("{error}"))?,
                    instance,
                });
            }
            _ => return Err("it contains an unknown record".to_owned()),
        }
        Ok(())
    }
}
