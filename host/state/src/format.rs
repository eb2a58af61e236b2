//! The state file in format version 4, which Terraform reads and writes.
//!
//! The encoder first produces compact JSON (which the journal contains). A second pass adds white
//! space to this text for the file, so stored attributes do not need to be parsed.
//!
//! | reader | file | result |
//! |---|---|---|
//! | Wardian | version 4, from any program | read; unknown fields are dropped, as in Terraform |
//! | Wardian | versions 1 to 3 | converted to version 4, which is then written |
//! | Wardian | version 0, version 5 and later, other files | rejected; the file is not changed |
//! | Terraform 1.x | written by Wardian | read; the file is byte for byte the same as if Terraform had written it |

mod instance;
mod layout;
mod legacy;
mod outline;
mod output;
mod read;
mod write;
mod writer_version;

pub use outline::{StateOutline, read_outline};
pub use read::decode as decode_state;
pub use write::encode as encode_state;

pub(crate) use instance::{KnownResources, decode_instance, decode_instance_with, encode_instance};
pub(crate) use layout::Parts;
pub(crate) use output::{decode_output_text, encode_output};
pub(crate) use read::decode_check_text;
pub(crate) use write::{CompactState, encode_check, encode_compact};
pub(crate) use writer_version::check_writer;

/// The version of the format that is written.
pub const FORMAT_VERSION: u64 = 4;
