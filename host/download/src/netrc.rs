//! The credentials in the user's netrc file.
//!
//! ```text
//! machine registry.example login me password "with blanks"
//! machine registry.example:8443 login me password other
//! default login anonymous password x
//! ```
//!
//! An entry for a URL with a port other than the scheme's default port is named `host:port`. The
//! first entry with the name applies, or `default` if there is none. A value in quotation marks can
//! contain blanks and the escapes `\"`, `\\`, `\n`, `\r` and `\t`. A comment begins with `#` in
//! place of a keyword; `account` has a value that is ignored, and `macdef` extends to the next
//! empty line.

use std::fmt;

use url::Url;

use crate::authorization::Authorization;

/// The entries of a netrc file. `Debug` does not show credentials.
#[derive(Clone, Default)]
pub struct Netrc {
    machines: Vec<Machine>,
    default: Option<Credentials>,
}

#[derive(Clone)]
struct Machine {
    name: String,
    credentials: Credentials,
}

#[derive(Clone, Default)]
struct Credentials {
    login: String,
    password: String,
}

/// A netrc file that cannot be parsed. The problem contains no part of the file, since any word
/// could be a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the netrc file is invalid: {problem}")]
pub struct NetrcError {
    /// The line, from 1.
    pub line: usize,
    pub problem: &'static str,
}

/// The entry to which the following keywords belong.
enum CurrentEntry {
    None,
    Machine(Machine),
    Default(Credentials),
}

impl CurrentEntry {
    fn credentials(&mut self) -> Option<&mut Credentials> {
        match self {
            Self::None => None,
            Self::Machine(machine) => Some(&mut machine.credentials),
            Self::Default(credentials) => Some(credentials),
        }
    }
}

impl Netrc {
    /// Parses the content of a netrc file.
    ///
    /// # Errors
    /// Returns an error if a keyword is unknown, a value is missing, or a quotation mark is not closed.
    pub fn parse(text: &str) -> Result<Self, NetrcError> {
        let mut words = Words { rest: text, line: 1 };
        let mut netrc = Self::default();
        let mut current = CurrentEntry::None;
        while let Some(keyword) = words.next_keyword()? {
            match keyword.as_str() {
                "machine" => {
                    let name = words.value()?;
                    let begun = CurrentEntry::Machine(Machine { name, credentials: Credentials::default() });
                    netrc.add(std::mem::replace(&mut current, begun));
                }
                "default" => {
                    let begun = CurrentEntry::Default(Credentials::default());
                    netrc.add(std::mem::replace(&mut current, begun));
                }
                "login" | "user" | "password" | "account" => {
                    let value = words.value()?;
                    let Some(credentials) = current.credentials() else {
                        return Err(words.error("a login or password follows no machine"));
                    };
                    match keyword.as_str() {
                        "password" => credentials.password = value,
                        "account" => {}
                        _ => credentials.login = value,
                    }
                }
                "macdef" => words.skip_macro()?,
                _ => {
                    return Err(words.error(
                        "a keyword is not one of machine, default, login, password, account and macdef",
                    ));
                }
            }
        }
        netrc.add(current);
        Ok(netrc)
    }

    fn add(&mut self, entry: CurrentEntry) {
        match entry {
            CurrentEntry::None => {}
            CurrentEntry::Machine(machine) => self.machines.push(machine),
            CurrentEntry::Default(credentials) => {
                self.default.get_or_insert(credentials);
            }
        }
    }

    /// Returns the credentials for a URL.
    pub(crate) fn authorization(&self, url: &Url) -> Option<Authorization> {
        let host = url.host_str()?;
        let name = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let machine = self.machines.iter().find(|machine| machine.name.eq_ignore_ascii_case(&name));
        let found = machine.map(|machine| &machine.credentials).or(self.default.as_ref())?;
        let is_empty = found.login.is_empty() && found.password.is_empty();
        (!is_empty).then(|| Authorization::basic(&found.login, &found.password))
    }
}

impl fmt::Debug for Netrc {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Netrc({} machines)", self.machines.len())
    }
}

/// The words of a netrc file.
struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl Words<'_> {
    fn error(&self, problem: &'static str) -> NetrcError {
        NetrcError { line: self.line, problem }
    }

    fn next_character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next()?;
        self.rest = characters.as_str();
        if character == '\n' {
            self.line += 1;
        }
        Some(character)
    }

    /// Skips blanks and line breaks.
    fn skip_blanks(&mut self) {
        while self.rest.starts_with(char::is_whitespace) {
            self.next_character();
        }
    }

    fn next_keyword(&mut self) -> Result<Option<String>, NetrcError> {
        loop {
            self.skip_blanks();
            if !self.rest.starts_with('#') {
                return self.next_word();
            }
            while !matches!(self.next_character(), None | Some('\n')) {}
        }
    }

    fn value(&mut self) -> Result<String, NetrcError> {
        self.skip_blanks();
        self.next_word()?.ok_or_else(|| self.error("a value is missing at the end"))
    }

    fn next_word(&mut self) -> Result<Option<String>, NetrcError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut word = String::new();
        if !self.rest.starts_with('"') {
            while !self.rest.starts_with(char::is_whitespace) {
                match self.next_character() {
                    Some(character) => word.push(character),
                    None => break,
                }
            }
            return Ok(Some(word));
        }
        self.next_character();
        let unclosed = self.error("a quotation mark is not closed");
        loop {
            let character = match self.next_character() {
                None | Some('\n') => return Err(unclosed),
                Some('"') => return Ok(Some(word)),
                Some('\\') => match self.next_character() {
                    None => return Err(unclosed),
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some('t') => '\t',
                    Some(other) => other,
                },
                Some(other) => other,
            };
            word.push(character);
        }
    }

    /// Skips the name and the lines of a macro, which ends with an empty line.
    fn skip_macro(&mut self) -> Result<(), NetrcError> {
        self.value()?;
        let mut is_empty_line = false;
        loop {
            match self.next_character() {
                None => return Ok(()),
                Some('\n') if is_empty_line => return Ok(()),
                Some('\n') => is_empty_line = true,
                Some('\r') => {}
                Some(_) => is_empty_line = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn header(netrc: &str, url: &str) -> Option<String> {
        let netrc = Netrc::parse(netrc).unwrap();
        let found = netrc.authorization(&Url::parse(url).unwrap())?;
        Some(found.header_value()?.to_str().unwrap().to_owned())
    }

    fn basic(user: &str, password: &str) -> Option<String> {
        Some(Authorization::basic(user, password).header_value()?.to_str().unwrap().to_owned())
    }

    #[test]
    fn netrc_entry_matches_host_and_port() {
        let netrc = "machine a.example login me password one\n\
            machine a.example:8443\n\tlogin me\n\tpassword two\n\
            machine a.example login later password three";
        assert_eq!(header(netrc, "https://a.example/x"), basic("me", "one"));
        assert_eq!(header(netrc, "https://A.Example:443/x"), basic("me", "one"));
        assert_eq!(header(netrc, "https://a.example:8443/x"), basic("me", "two"));
        assert_eq!(header(netrc, "https://a.example:9443/x"), None);
        assert_eq!(header(netrc, "https://sub.a.example/x"), None);
    }

    #[test]
    fn default_entry_applies_to_other_hosts() {
        let netrc = "machine a.example login me password one default login any password two";
        assert_eq!(header(netrc, "https://a.example"), basic("me", "one"));
        assert_eq!(header(netrc, "https://b.example"), basic("any", "two"));
        assert_eq!(header("machine a.example", "https://a.example"), None);
        assert_eq!(header("machine a.example password p", "https://a.example"), basic("", "p"));
    }

    #[test]
    fn quotes_comments_accounts_and_macros_are_parsed() {
        let netrc = "# machine a.example login no password no\n\
            machine a.example login \"a b\" account x password \"q\\\"\\\\\\tü\" # the end\n\
            macdef init\ncd /pub\nmachine b.example login no password no\n\n\
            machine c.example login c password #hash\r\n";
        assert_eq!(header(netrc, "https://a.example"), basic("a b", "q\"\\\tü"));
        assert_eq!(header(netrc, "https://b.example"), None);
        assert_eq!(header(netrc, "https://c.example"), basic("c", "#hash"));
        assert_eq!(header("macdef m\nx", "https://a.example"), None);
    }

    #[test]
    fn error_names_the_line_but_no_secret() {
        for (netrc, line) in [
            ("machine a\nlogin s3cret password", 2),
            ("s3cret", 1),
            ("\nlogin s3cret", 2),
            ("machine a login \"s3cret\n\"", 1),
            ("machine", 1),
            ("machine a login me password x\ns3cret y", 2),
        ] {
            let error = Netrc::parse(netrc).unwrap_err();
            assert_eq!(error.line, line, "{netrc}");
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
        let netrc = Netrc::parse("machine a login s3cret password s3cret").unwrap();
        assert!(!format!("{netrc:?}").contains("s3cret"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,200}", words in prop::collection::vec(
            prop::sample::select(vec!["machine", "default", "login", "\"", "\\", "#", "\n", "\n\n", " ", "macdef", "x"]),
            0..40,
        )) {
            let _ = Netrc::parse(&text);
            let _ = Netrc::parse(&words.concat());
        }

        #[test]
        fn quoted_value_round_trips(password in "[^\n\r\t]{0,40}") {
            let quoted = password.replace('\\', "\\\\").replace('"', "\\\"");
            let netrc = format!("machine a.example login me password \"{quoted}\"\n");
            prop_assert_eq!(header(&netrc, "https://a.example"), basic("me", &password));
        }
    }
}
