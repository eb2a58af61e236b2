//! The state file, format version 4: the bytes that Terraform reads and writes.
//!
//! Everything is made as compact JSON first (which is what the journal stores)
//! and laid out for the file in a second pass over the text, so that stored
//! attributes pass through unread.
//!
//! | reader | meets | does |
//! |---|---|---|
//! | this | version 4 of any writer | reads it; fields that are not known are dropped, as Terraform does |
//! | this | versions 1 to 3 | reads them as what they mean in version 4, which is what is written |
//! | this | version 0, 5 and later, other files | refuses, leaves the file untouched |
//! | Terraform 1.x | ours | reads it; byte for byte what it would have written |

mod instance;
mod layout;
mod legacy;
mod output;
mod read;
mod write;

pub use read::decode as decode_state;
pub use write::encode as encode_state;

pub(crate) use instance::{decode_instance, encode_instance};
pub(crate) use layout::Parts;
pub(crate) use write::encode_compact;

/// The version of the format that is written.
pub const FORMAT_VERSION: u64 = 4;
