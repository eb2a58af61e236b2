//! The results and the parameters of attacks.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::str::FromStr;

/// The result of an attack: the effect, or the reason why it did not occur.
pub(crate) type Outcome = Result<String, Failure>;

/// Why an attack had no effect.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// A system call returned this error.
    Error { errno: i32, detail: String },
    /// No call returned an error, but there was no effect: for example, no answer arrived.
    NoEffect(String),
    /// A signal ended the process that attacked.
    Signal { signal: i32, detail: String },
    /// The machine lacks a feature that the attack needs.
    Unavailable(String),
    /// A parameter is missing or wrong.
    Parameter(String),
}

impl Failure {
    /// Returns the failure of the last system call of this thread.
    pub(crate) fn last(call: &str) -> Self {
        Self::from_error(&io::Error::last_os_error(), call)
    }

    pub(crate) fn from_error(error: &io::Error, call: &str) -> Self {
        match error.raw_os_error() {
            Some(errno) => Self::Error { errno, detail: call.to_owned() },
            None => Self::NoEffect(format!("{call}: {error}")),
        }
    }

    /// Returns the failure with an additional detail about its cause.
    pub(crate) fn with(self, addition: &str) -> Self {
        let extend = |detail: String| format!("{detail}; {addition}");
        match self {
            Self::Error { errno, detail } => Self::Error { errno, detail: extend(detail) },
            Self::NoEffect(detail) => Self::NoEffect(extend(detail)),
            Self::Signal { signal, detail } => Self::Signal { signal, detail: extend(detail) },
            other => other,
        }
    }

    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            Self::Error { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    /// Returns only the name of the error.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Error { errno, .. } => errno_name(*errno),
            Self::Signal { signal, .. } => signal_name(*signal),
            Self::NoEffect(_) | Self::Unavailable(_) | Self::Parameter(_) => "NONE".to_owned(),
        }
    }

    pub(crate) fn detail(&self) -> &str {
        match self {
            Self::Error { detail, .. }
            | Self::NoEffect(detail)
            | Self::Signal { detail, .. }
            | Self::Unavailable(detail)
            | Self::Parameter(detail) => detail,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(reason) => write!(formatter, "unavailable: {reason}"),
            _ => write!(formatter, "blocked: {} ({})", self.name(), self.detail()),
        }
    }
}

/// Names the call that an operation of the standard library made.
pub(crate) trait During<T> {
    fn during(self, call: &str) -> Result<T, Failure>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, call: &str) -> Result<T, Failure> {
        self.map_err(|error| Failure::from_error(&error, call))
    }
}

/// Tries several calls with the same effect. The first success is the result; if none succeeds, the
/// first error is reported. The details contain the errors of all attempts.
pub(crate) fn first_success(ways: &[(&str, &dyn Fn() -> Outcome)]) -> Outcome {
    let mut first = None;
    let mut errors = Vec::new();
    for (name, way) in ways {
        match way() {
            Ok(effect) if errors.is_empty() => return Ok(format!("{name}: {effect}")),
            Ok(effect) => return Ok(format!("{name}: {effect} ({})", errors.join(", "))),
            Err(failure @ Failure::Parameter(_)) => return Err(failure),
            Err(failure) => {
                errors.push(format!("{name}: {}", failure.name()));
                first.get_or_insert(failure);
            }
        }
    }
    Err(first.unwrap_or_else(|| Failure::NoEffect("nothing was tried".to_owned())).with(&errors.join(", ")))
}

/// The parameters of an attack, `KEY=VALUE`.
pub(crate) struct Arguments(BTreeMap<String, String>);

impl Arguments {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        arguments
            .map(|argument| match argument.split_once('=') {
                Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
                None => Err(Failure::Parameter(format!("{argument} is not KEY=VALUE"))),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn optional(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub(crate) fn text(&self, key: &str) -> Result<&str, Failure> {
        self.optional(key).ok_or_else(|| Failure::Parameter(format!("{key}= is missing")))
    }

    pub(crate) fn number<T: FromStr>(&self, key: &str) -> Result<T, Failure> {
        self.text(key)?.parse().map_err(|_| Failure::Parameter(format!("{key}= is not a number")))
    }

    pub(crate) fn number_or<T: FromStr>(&self, key: &str, default: T) -> Result<T, Failure> {
        if self.optional(key).is_none() { Ok(default) } else { self.number(key) }
    }
}

macro_rules! name_of {
    ($value:expr, $($name:ident)*) => {
        match $value {
            $(libc::$name => stringify!($name).to_owned(),)*
            other => format!("{other}"),
        }
    };
}

pub(crate) fn errno_name(errno: i32) -> String {
    name_of!(errno,
        EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT
        EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC
        ESPIPE EROFS EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP
        ENODATA EPROTO EOVERFLOW EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT
        EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL
        ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN
        ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EDQUOT ECANCELED
        ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED)
}

pub(crate) fn signal_name(signal: i32) -> String {
    name_of!(signal,
        SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2
        SIGPIPE SIGALRM SIGTERM SIGXCPU SIGXFSZ SIGSYS)
}
