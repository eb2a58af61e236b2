//! The limits for components, the counts that are compared with the limits, and the errors.

/// Maximum nesting of components and modules.
pub const MAX_NESTING: u64 = 64;

/// The maximum of each count.
#[derive(Clone, Debug)]
pub struct ComponentLimits {
    /// Nesting of components and modules.
    pub nesting: u64,
    /// Instances of components and modules, including nested instances.
    pub instances: u64,
    /// Imports, exports, aliases, arguments and canonical functions, counted once for each
    /// instance.
    pub items: u64,
    /// Defined types, including the declarations in each type.
    pub types: u64,
    /// Functions of all modules.
    pub functions: u64,
    /// Bytes of the code of one function.
    pub function_size: u64,
    /// Local variables of one function, including its parameters.
    pub locals: u64,
    /// Local variables of all functions.
    pub total_locals: u64,
    /// Nesting of the blocks of one function.
    pub block_nesting: u64,
    /// Nesting of the loops of one function, multiplied by its local variables: compilers process
    /// every variable at the start of every loop.
    pub loop_variables: u64,
    /// Values that the instructions of one function pass to blocks, branches and calls.
    pub values: u64,
    /// Values of all functions.
    pub total_values: u64,
    /// Memories, tables, globals and tags of all modules.
    pub definitions: u64,
    /// Data and element segments of all modules.
    pub segments: u64,
    /// Elements of all element segments.
    pub elements: u64,
    /// Bytes of the initial content of all memories, including gaps.
    pub memory_image: u64,
}

impl Default for ComponentLimits {
    fn default() -> Self {
        Self {
            nesting: MAX_NESTING,
            instances: 10_000,
            items: 200_000,
            types: 200_000,
            functions: 100_000,
            function_size: 2 << 20,
            locals: 10_000,
            total_locals: 5_000_000,
            block_nesting: 2_000,
            loop_variables: 100_000,
            values: 1_000_000,
            total_values: 20_000_000,
            definitions: 100_000,
            segments: 100_000,
            elements: 1_000_000,
            memory_image: 512 << 20,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentCounts {
    pub nesting: u64,
    pub instances: u64,
    pub items: u64,
    pub types: u64,
    pub functions: u64,
    /// Bytes of the largest function.
    pub function_size: u64,
    /// Local variables of the function that has the most.
    pub locals: u64,
    pub total_locals: u64,
    pub block_nesting: u64,
    pub loop_variables: u64,
    pub values: u64,
    pub total_values: u64,
    pub definitions: u64,
    pub segments: u64,
    pub elements: u64,
    pub memory_image: u64,
}

/// Returns an error if a count exceeds its limit.
pub(crate) fn within(what: &'static str, measured: u64, limit: u64) -> Result<(), CheckError> {
    if measured <= limit { Ok(()) } else { Err(LimitExceeded { what, measured, limit }.into()) }
}

/// Adds a number to a count, and returns an error if the count then exceeds its limit.
pub(crate) fn add(what: &'static str, count: &mut u64, number: u64, limit: u64) -> Result<(), CheckError> {
    *count = count.saturating_add(number);
    within(what, *count, limit)
}

/// Replaces a count with a measured value if the value is greater, and returns an error if it
/// exceeds the limit.
pub(crate) fn raise(
    what: &'static str,
    count: &mut u64,
    measured: u64,
    limit: u64,
) -> Result<(), CheckError> {
    *count = measured.max(*count);
    within(what, measured, limit)
}

/// Returns a number of elements or bytes.
pub(crate) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The reason why a component is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The bytes cannot be parsed.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The number of instances cannot be determined without running code.
    #[error(
        "it instantiates a component that it receives as an import or from an instance, so its expanded size \
         cannot be determined"
    )]
    Unresolved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {}{measured}, and the limit is {limit}", if *.measured == u64::MAX { "at least " } else { "" })]
pub struct LimitExceeded {
    /// The name of the count.
    pub what: &'static str,
    pub measured: u64,
    pub limit: u64,
}

impl From<wasmparser::BinaryReaderError> for CheckError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Invalid(error.message().to_owned())
    }
}
