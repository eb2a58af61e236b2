//! The kinds of file accesses.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileOperation {
    /// Reads a file or lists a directory.
    Read,
    /// Creates, changes, renames or removes a file.
    Write,
    /// Connects to a Unix domain socket. Components cannot.
    Connect,
}

impl FileOperation {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Connect];

    /// Returns the keyword in a policy.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Connect => "connect",
        }
    }

    /// Returns the operation with the given keyword.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.word() == word)
    }
}
