//! What a provider says that it needs, and why, for [`crate::export_provider!`].
//!
//! A component can ask for exactly what a policy can grant: each struct here has the
//! arguments of the rule of that name, as `docs/policy.md` explains them; what is left
//! out is what it is in a rule that allows. The macro leaves it in a custom section of
//! the component, which the host reads without running it. All of it is put together
//! while the crate is compiled.

mod json;

pub use json::{encode, length};

/// The SDK, as a declaration names it.
pub(crate) const SDK: &str = concat!("wardian-sdk ", env!("CARGO_PKG_VERSION"));

/// One thing that is needed.
#[derive(Clone, Copy, Debug)]
pub enum Capability {
    /// Something is sent somewhere.
    Network(Network),
    /// Files are read or written.
    Filesystem(Filesystem),
    /// Variables of the environment are read.
    Environment(Environment),
    /// A program is run.
    Process(Process),
    /// The machine that is provisioned is connected to.
    Communicator(Communicator),
}

/// Requests and connections.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Names and patterns of hosts. Must be said.
    pub hosts: &'static [&'static str],
    /// `https` if not said.
    pub schemes: &'static [&'static str],
    /// The scheme's own if not said.
    pub ports: &'static [&'static str],
    /// Any if not said.
    pub methods: &'static [&'static str],
    /// Public ones if not said.
    pub addresses: &'static [&'static str],
    /// What for. Must be said.
    pub reason: &'static str,
}

/// Files.
#[derive(Clone, Copy, Debug)]
pub struct Filesystem {
    /// Directories; `.` is the configuration's. Must be said.
    pub directories: &'static [&'static str],
    /// `read` if not said.
    pub access: &'static [&'static str],
    /// What for. Must be said.
    pub reason: &'static str,
}

/// Variables.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Names and patterns of them. Must be said.
    pub names: &'static [&'static str],
    /// What for. Must be said.
    pub reason: &'static str,
}

/// A program.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// A bare name or an absolute path. Must be said.
    pub program: &'static str,
    /// A pattern for each argument; `...` at the end for any further ones.
    pub arguments: &'static [&'static str],
    /// What for. Must be said.
    pub reason: &'static str,
}

/// Machines that are provisioned.
#[derive(Clone, Copy, Debug)]
pub struct Communicator {
    /// Names and patterns of hosts. Must be said.
    pub hosts: &'static [&'static str],
    /// Any if not said.
    pub ports: &'static [&'static str],
    /// Public ones if not said.
    pub addresses: &'static [&'static str],
    /// What for. Must be said.
    pub reason: &'static str,
}

impl Network {
    /// Nothing is said.
    pub const UNSAID: Self =
        Self { hosts: &[], schemes: &[], ports: &[], methods: &[], addresses: &[], reason: "" };
}

impl Filesystem {
    /// Nothing is said.
    pub const UNSAID: Self = Self { directories: &[], access: &[], reason: "" };
}

impl Environment {
    /// Nothing is said.
    pub const UNSAID: Self = Self { names: &[], reason: "" };
}

impl Process {
    /// Nothing is said.
    pub const UNSAID: Self = Self { program: "", arguments: &[], reason: "" };
}

impl Communicator {
    /// Nothing is said.
    pub const UNSAID: Self = Self { hosts: &[], ports: &[], addresses: &[], reason: "" };
}

/// Puts capabilities into the component that is compiled: part of the macros that export one.
#[doc(hidden)]
#[macro_export]
macro_rules! declare_capabilities {
    ($($capability:ident $needed:tt),*) => {
        const _: () = {
            const NEEDED: &[$crate::declaration::Capability] = $crate::capabilities![$($capability $needed),*];

            // Linked into a section that the host reads without running anything. Elsewhere
            // it is put together all the same, so that what is wrong with it is told.
            #[cfg_attr(target_family = "wasm", used)]
            #[cfg_attr(target_family = "wasm", unsafe(link_section = "wardian:capabilities"))]
            #[cfg_attr(
                target_family = "wasm",
                allow(unsafe_code, reason = "a section of that name is read as what is in it and nothing else")
            )]
            static _DECLARATION: [u8; $crate::declaration::length(NEEDED)] = $crate::declaration::encode(NEEDED);
        };
    };
}

/// Capabilities as [`crate::export_provider!`] takes them.
///
/// ```
/// use wardian_sdk::declaration::Capability;
///
/// const NEEDED: &[Capability] = wardian_sdk::capabilities![
///     network { hosts: ["api.example.com"], reason: "servers are made by its API" },
///     environment { names: ["EXAMPLE_REGION"], reason: "the region, where none is configured" },
/// ];
/// assert_eq!(NEEDED.len(), 2);
/// ```
#[macro_export]
macro_rules! capabilities {
    (@of network { $($fields:tt)* }) => {
        $crate::capabilities!(@fields Network [] $($fields)*)
    };
    (@of filesystem { $($fields:tt)* }) => {
        $crate::capabilities!(@fields Filesystem [] $($fields)*)
    };
    (@of environment { $($fields:tt)* }) => {
        $crate::capabilities!(@fields Environment [] $($fields)*)
    };
    (@of process { $($fields:tt)* }) => {
        $crate::capabilities!(@fields Process [] $($fields)*)
    };
    (@of communicator { $($fields:tt)* }) => {
        $crate::capabilities!(@fields Communicator [] $($fields)*)
    };
    (@fields $kind:ident [$($done:tt)*] $name:ident: [$($text:expr),* $(,)?], $($rest:tt)*) => {
        $crate::capabilities!(@fields $kind [$($done)* { $name, &[$($text),*] }] $($rest)*)
    };
    (@fields $kind:ident [$($done:tt)*] $name:ident: [$($text:expr),* $(,)?]) => {
        $crate::capabilities!(@fields $kind [$($done)* { $name, &[$($text),*] }])
    };
    (@fields $kind:ident [$($done:tt)*] $name:ident: $text:literal, $($rest:tt)*) => {
        $crate::capabilities!(@fields $kind [$($done)* { $name, $text }] $($rest)*)
    };
    (@fields $kind:ident [$($done:tt)*] $name:ident: $text:literal) => {
        $crate::capabilities!(@fields $kind [$($done)* { $name, $text }])
    };
    (@fields $kind:ident [$({ $name:ident, $value:expr })*]) => {{
        let mut said = $crate::declaration::$kind::UNSAID;
        $(said.$name = $value;)*
        $crate::declaration::Capability::$kind(said)
    }};
    ($($capability:ident { $($fields:tt)* }),* $(,)?) => {
        &[$($crate::capabilities!(@of $capability { $($fields)* })),*]
    };
}

#[cfg(test)]
mod tests;
