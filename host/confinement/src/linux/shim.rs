//! The mode in which the host's program represents a granted program within a confinement.
//!
//! A request is a list of byte strings: the program, the working directory, the standard input, the
//! number of arguments, the arguments, and the variables as `NAME=VALUE`.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::linux::programs::os_string;

/// The first argument in this mode. The next argument is the script, and the others are the
/// arguments of the program.
pub const SHIM_ARGUMENT: &str = "--run-granted-program";
/// The name of the supervisor's socket in the program's own directory.
pub(crate) const SOCKET_NAME: &str = "programs.sock";
/// Maximum number of bytes of a request.
pub(crate) const MAX_REQUEST_BYTES: usize = 4 << 20;
/// Maximum number of bytes of a frame. The host sends the bytes of one read in one frame.
const MAX_FRAME_BYTES: usize = 1 << 20;
/// Maximum number of bytes of the standard input.
const MAX_INPUT_BYTES: u64 = 1 << 20;
/// Exit code if the supervisor does not respond; shells use it if a program cannot be executed.
const UNAVAILABLE: u8 = 126;

/// The kind of a frame that the supervisor sends: a byte, followed by the length and the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameKind {
    Stdout = 1,
    Stderr = 2,
    /// The exit code, as a big-endian integer.
    Exit = 3,
}

/// A request to start a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramRequest {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    pub(crate) input: Vec<u8>,
}

impl ProgramRequest {
    fn encode(&self) -> Vec<u8> {
        let count = self.arguments.len().to_string();
        let variables =
            self.environment.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
        let mut encoded = Vec::new();
        let mut add = |bytes: &[u8]| {
            encoded.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
            encoded.extend(bytes);
        };
        add(self.program.as_bytes());
        add(self.directory.as_os_str().as_bytes());
        add(&self.input);
        add(count.as_bytes());
        self.arguments.iter().for_each(|argument| add(argument.as_bytes()));
        variables.for_each(|variable| add(&variable));
        encoded
    }

    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut strings = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
            let (string, rest) = rest.split_at_checked(length)?;
            strings.push(string);
            bytes = rest;
        }
        let [program, directory, input, count, rest @ ..] = strings.as_slice() else { return None };
        let count: usize = str::from_utf8(count).ok()?.parse().ok()?;
        let (arguments, variables) = rest.split_at_checked(count)?;
        let text = |bytes: &&[u8]| Some(str::from_utf8(bytes).ok()?.to_owned());
        let variable = |bytes: &&[u8]| {
            let equals = bytes.iter().position(|byte| *byte == b'=')?;
            Some((os_string(&bytes[..equals]), os_string(&bytes[equals + 1..])))
        };
        Some(Self {
            program: text(program)?,
            arguments: arguments.iter().map(text).collect::<Option<_>>()?,
            environment: variables.iter().map(variable).collect::<Option<_>>()?,
            directory: PathBuf::from(os_string(directory)),
            input: input.to_vec(),
        })
    }
}

/// Requests the start of a program from the supervisor, forwards its output, and returns its exit
/// code. `arguments` are the arguments after [`SHIM_ARGUMENT`].
pub fn run_shim(arguments: &[OsString]) -> ExitCode {
    match request(arguments) {
        Ok(code) => code,
        Err(error) => {
            // An error in printing the error cannot be reported.
            let _ = writeln!(io::stderr(), "wardian: the program cannot be started: {error}");
            ExitCode::from(UNAVAILABLE)
        }
    }
}

fn request(arguments: &[OsString]) -> io::Result<ExitCode> {
    let [script, arguments @ ..] = arguments else {
        return Err(io::Error::other("this mode is for internal use only"));
    };
    let text = std::fs::read_to_string(Path::new(script))?;
    let mut lines = text.lines().skip(1);
    let (Some(socket), Some(program)) = (lines.next(), lines.next()) else {
        return Err(io::Error::other("this mode is for internal use only"));
    };
    let arguments = arguments.iter().map(|argument| {
        argument.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("an argument is not UTF-8"))
    });
    let mut input = Vec::new();
    io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut input)?;
    let request = ProgramRequest {
        program: program.to_owned(),
        arguments: arguments.collect::<io::Result<_>>()?,
        environment: std::env::vars_os().collect(),
        directory: std::env::current_dir()?,
        input,
    };
    let encoded = request.encode();
    if encoded.len() > MAX_REQUEST_BYTES {
        return Err(io::Error::other("the arguments and variables are too large"));
    }
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(&u32::try_from(encoded.len()).map_err(io::Error::other)?.to_be_bytes())?;
    stream.write_all(&encoded)?;
    pass_on(&mut stream)
}

fn pass_on(stream: &mut UnixStream) -> io::Result<ExitCode> {
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header)?;
        let [kind, length @ ..] = header;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_FRAME_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut content = vec![0; length];
        stream.read_exact(&mut content)?;
        if kind == FrameKind::Stdout as u8 {
            let mut stdout = io::stdout();
            stdout.write_all(&content)?;
            stdout.flush()?;
        } else if kind == FrameKind::Stderr as u8 {
            io::stderr().write_all(&content)?;
        } else {
            let code = content.first_chunk::<4>().map_or(1, |code| i32::from_be_bytes(*code));
            return Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_decoded_as_they_were_encoded() {
        let request = ProgramRequest {
            program: "aws".to_owned(),
            arguments: vec!["eks".to_owned(), String::new(), "ü".to_owned()],
            environment: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
            directory: "/srv/project".into(),
            input: vec![0, 255],
        };
        let encoded = request.encode();
        assert_eq!(ProgramRequest::decode(&encoded), Some(request));
        for length in 0..encoded.len() {
            let decoded = ProgramRequest::decode(&encoded[..length]);
            assert!(decoded.is_none_or(|decoded| decoded.environment.len() < 2), "{length}");
        }
        assert_eq!(ProgramRequest::decode(&[255; 40]), None);
        assert_eq!(ProgramRequest::decode(&[]), None);
    }
}
