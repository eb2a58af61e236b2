//! The capabilities that a plugin declares with [`crate::export_provider!`], each with a reason.
//!
//! A component can request only access that a policy can grant. Each struct in this module has the
//! arguments and defaults of the `allow` rule with the same name, as described in `docs/policy.md`.
//! The macro stores the declaration in a custom section of the component, which the host reads
//! without running the component. The declaration is built at compile time.

mod json;

pub use json::{encode, length};

/// The name and version of the SDK in a declaration.
pub(crate) const SDK: &str = concat!("wardian-sdk ", env!("CARGO_PKG_VERSION"));

/// A capability request.
#[derive(Clone, Copy, Debug)]
pub enum Capability {
    /// A request to send HTTP requests and open network connections.
    Network(Network),
    /// A request to read or write files.
    Filesystem(Filesystem),
    /// A request to read environment variables.
    Environment(Environment),
    /// A request to run a program.
    Process(Process),
    /// A request to connect to provisioned machines.
    Communicator(Communicator),
}

/// A request for network access.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Host names and patterns. Required.
    pub hosts: &'static [&'static str],
    /// URL schemes. Default: `https`.
    pub schemes: &'static [&'static str],
    /// Ports and port ranges. Default: the scheme's port.
    pub ports: &'static [&'static str],
    /// HTTP methods. Default: any.
    pub methods: &'static [&'static str],
    /// Address classes. Default: public addresses.
    pub addresses: &'static [&'static str],
    /// The reason, which is shown to users. Required.
    pub reason: &'static str,
}

/// A request for access to files.
#[derive(Clone, Copy, Debug)]
pub struct Filesystem {
    /// Directories; `.` is the directory of the configuration. Required.
    pub directories: &'static [&'static str],
    /// The operations: `read` or `write`. Default: `read`.
    pub access: &'static [&'static str],
    /// Classes of protected files that are included. Default: none.
    pub protected: &'static [&'static str],
    /// The reason, which is shown to users. Required.
    pub reason: &'static str,
}

/// A request to read environment variables.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Variable names and patterns. Required.
    pub names: &'static [&'static str],
    /// The reason, which is shown to users. Required.
    pub reason: &'static str,
}

/// A request to run a program.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// A program name without a directory, or an absolute path. Required.
    pub program: &'static str,
    /// A pattern for each argument; `...` at the end accepts any number of additional arguments.
    pub arguments: &'static [&'static str],
    /// Names or patterns of the environment variables that the plugin sets for the program.
    pub environment: &'static [&'static str],
    /// The reason, which is shown to users. Required.
    pub reason: &'static str,
}

/// A request to connect to provisioned machines.
#[derive(Clone, Copy, Debug)]
pub struct Communicator {
    /// Host names and patterns. Required.
    pub hosts: &'static [&'static str],
    /// Ports and port ranges. Default: any.
    pub ports: &'static [&'static str],
    /// Address classes. Default: public addresses.
    pub addresses: &'static [&'static str],
    /// The reason, which is shown to users. Required.
    pub reason: &'static str,
}

impl Network {
    /// A request without arguments.
    pub const EMPTY: Self =
        Self { hosts: &[], schemes: &[], ports: &[], methods: &[], addresses: &[], reason: "" };
}

impl Filesystem {
    /// A request without arguments.
    pub const EMPTY: Self = Self { directories: &[], access: &[], protected: &[], reason: "" };
}

impl Environment {
    /// A request without arguments.
    pub const EMPTY: Self = Self { names: &[], reason: "" };
}

impl Process {
    /// A request without arguments.
    pub const EMPTY: Self = Self { program: "", arguments: &[], environment: &[], reason: "" };
}

impl Communicator {
    /// A request without arguments.
    pub const EMPTY: Self = Self { hosts: &[], ports: &[], addresses: &[], reason: "" };
}

/// Checks that a request has its required arguments. Each message names the capability and the argument.
///
/// # Panics
/// Panics at compile time if an argument is missing. The compiler reports the panic at the macro of the
/// plugin, because this function tracks its caller.
#[doc(hidden)]
#[track_caller]
pub const fn checked(request: Capability) -> Capability {
    macro_rules! require {
        ($value:expr, $capability:literal, $missing:literal, $remedy:literal) => {
            assert!(
                !$value.is_empty(),
                concat!("the capability `", $capability, "` has no ", $missing, ": add `", $remedy, "`")
            );
        };
    }
    macro_rules! require_reason {
        ($value:expr, $capability:literal) => {
            assert!(
                !$value.is_empty(),
                concat!(
                    "the capability `",
                    $capability,
                    "` has no reason, which users read before they approve the plugin: add `reason: \"..\"`"
                )
            );
        };
    }
    match &request {
        Capability::Network(network) => {
            require!(network.hosts, "network", "hosts", "hosts: [\"api.example.com\"]");
            require_reason!(network.reason, "network");
        }
        Capability::Filesystem(filesystem) => {
            require!(filesystem.directories, "filesystem", "directories", "directories: [\".\"]");
            require_reason!(filesystem.reason, "filesystem");
        }
        Capability::Environment(environment) => {
            require!(environment.names, "environment", "names", "names: [\"EXAMPLE_TOKEN\"]");
            require_reason!(environment.reason, "environment");
        }
        Capability::Process(process) => {
            require!(process.program, "process", "program", "program: \"git\"");
            require_reason!(process.reason, "process");
        }
        Capability::Communicator(communicator) => {
            require!(communicator.hosts, "communicator", "hosts", "hosts: [\"**\"]");
            require_reason!(communicator.reason, "communicator");
        }
    }
    request
}

/// Adds a declaration to the compiled component. The macros that export a plugin use it.
#[doc(hidden)]
#[macro_export]
macro_rules! declare_capabilities {
    ($($capability:ident $needed:tt),*) => {
        const _: () = {
            const NEEDED: &[$crate::declaration::Capability] = $crate::capabilities![$($capability $needed),*];

            // The linker puts the declaration into a section that the host reads without running
            // the component. The declaration is also built for other targets, to report errors
            // there.
            #[cfg_attr(target_family = "wasm", used)]
            #[cfg_attr(target_family = "wasm", unsafe(link_section = "wardian:capabilities"))]
            #[cfg_attr(
                target_family = "wasm",
                allow(unsafe_code, reason = "the name of the section has no meaning to the linker")
            )]
            static _DECLARATION: [u8; $crate::declaration::length(NEEDED)] = $crate::declaration::encode(NEEDED);
        };
    };
}

/// Parses capability requests in the syntax of [`crate::export_provider!`].
///
/// ```
/// use wardian_sdk::declaration::Capability;
///
/// const REQUESTS: &[Capability] = wardian_sdk::capabilities![
///     network { hosts: ["api.example.com"], reason: "creates servers through its API" },
///     environment { names: ["EXAMPLE_REGION"], reason: "the region if none is configured" },
/// ];
/// assert_eq!(REQUESTS.len(), 2);
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
        let mut request = $crate::declaration::$kind::EMPTY;
        $(request.$name = $value;)*
        $crate::declaration::checked($crate::declaration::Capability::$kind(request))
    }};
    (@of $unknown:ident $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "unknown capability `",
            ::core::stringify!($unknown),
            "`: use `network`, `filesystem`, `environment`, `process` or `communicator`"
        ))
    };
    (@fields $($rest:tt)*) => {
        ::core::compile_error!(
            "the arguments of a capability are lists of strings and single strings: write `name: [\"..\"]` or \
             `name: \"..\"`, separated by commas"
        )
    };
    ($($capability:ident { $($fields:tt)* }),* $(,)?) => {
        &[$($crate::capabilities!(@of $capability { $($fields)* })),*]
    };
}

#[cfg(test)]
mod tests;
