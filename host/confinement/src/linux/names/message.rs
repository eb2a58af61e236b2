//! The messages of the Domain Name System (RFC 1035), as far as queries for addresses need them.

use std::net::IpAddr;

/// Maximum number of bytes of a response in a datagram, without extensions.
const MAX_DATAGRAM_BYTES: usize = 512;
/// The bit in the third byte of the header.
const TRUNCATED: u8 = 2;
const HEADER_BYTES: usize = 12;
const MAX_NAME_BYTES: usize = 253;
const INTERNET: u16 = 1;
/// A pointer to the name in the question, which follows the header.
const POINTER_TO_QUESTION: [u8; 2] = [0xc0, 0x0c];
/// Answers may not be cached, since policy applies to each lookup.
const TIME_TO_LIVE: [u8; 4] = [0; 4];
/// Maximum number of addresses in a response, so that it fits into 512 bytes.
const MAX_ANSWERS: usize = 8;

/// A query with one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    header: Header,
    name: String,
    record_type: RecordType,
    /// The question as received.
    question: Vec<u8>,
}

/// The parts of a query's header that a response repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    id: [u8; 2],
    recursion_desired: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    A,
    Aaaa,
    /// `CNAME`, `MX`, `TXT` or `SRV`.
    Forwarded,
    Other,
}

impl RecordType {
    fn from_number(number: u16) -> Self {
        match number {
            1 => Self::A,
            28 => Self::Aaaa,
            5 | 15 | 16 | 33 => Self::Forwarded,
            _ => Self::Other,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseCode {
    NoError = 0,
    FormatError = 1,
    ServerFailure = 2,
    NoSuchName = 3,
}

/// The reason why a message is not answered as a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryError {
    /// It is not a query, and receives no response.
    Ignored,
    /// It is a query without exactly one well-formed question.
    Invalid(Header),
}

/// An address in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer(IpAddr);

impl From<IpAddr> for Answer {
    fn from(address: IpAddr) -> Self {
        Self(address)
    }
}

impl Query {
    /// Parses a query. Additional records, such as the size of the program's buffer, are ignored.
    ///
    /// # Errors
    /// Returns an error for every other message.
    pub(crate) fn parse(message: &[u8]) -> Result<Self, QueryError> {
        let Some((header, rest)) = message.split_first_chunk::<HEADER_BYTES>() else {
            return Err(QueryError::Ignored);
        };
        let [id0, id1, flags, _, questions0, questions1, answers0, answers1, ..] = *header;
        let is_response = flags & 0x80 != 0;
        if is_response {
            return Err(QueryError::Ignored);
        }
        let header = Header { id: [id0, id1], recursion_desired: flags & 1 != 0 };
        let invalid = QueryError::Invalid(header);
        let is_standard = flags & 0x78 == 0;
        if !is_standard || [questions0, questions1, answers0, answers1] != [0, 1, 0, 0] {
            return Err(invalid);
        }
        let (name, after_name) = parse_name(rest).ok_or(invalid)?;
        let Some(([type0, type1, class0, class1], _)) = after_name.split_first_chunk::<4>() else {
            return Err(invalid);
        };
        if u16::from_be_bytes([*class0, *class1]) != INTERNET {
            return Err(invalid);
        }
        let question_length = rest.len() - after_name.len() + 4;
        Ok(Self {
            header,
            name,
            record_type: RecordType::from_number(u16::from_be_bytes([*type0, *type1])),
            question: rest[..question_length].to_vec(),
        })
    }

    /// Returns the name without a trailing dot.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn record_type(&self) -> RecordType {
        self.record_type
    }

    pub(crate) fn error(&self, code: ResponseCode) -> Vec<u8> {
        self.response(code, &[])
    }

    /// Returns a query with the same question and nothing else: additional records and options could
    /// carry data to the server.
    pub(crate) fn without_additions(&self) -> Vec<u8> {
        let [id0, id1] = self.header.id;
        let mut message = vec![id0, id1, u8::from(self.header.recursion_desired), 0, 0, 1, 0, 0, 0, 0, 0, 0];
        message.extend(&self.question);
        message
    }

    /// Returns a response with these addresses, which all have the family of the query.
    pub(crate) fn respond(&self, answers: &[Answer]) -> Vec<u8> {
        self.response(ResponseCode::NoError, &answers[..answers.len().min(MAX_ANSWERS)])
    }

    fn response(&self, code: ResponseCode, answers: &[Answer]) -> Vec<u8> {
        let mut response = self.header.start(code, 1, u8::try_from(answers.len()).unwrap_or_default());
        response.extend(&self.question);
        for Answer(address) in answers {
            response.extend(POINTER_TO_QUESTION);
            match address {
                IpAddr::V4(address) => {
                    response.extend([0, 1, 0, 1]);
                    response.extend(TIME_TO_LIVE);
                    response.extend([0, 4]);
                    response.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    response.extend([0, 28, 0, 1]);
                    response.extend(TIME_TO_LIVE);
                    response.extend([0, 16]);
                    response.extend(address.octets());
                }
            }
        }
        response
    }
}

impl Header {
    pub(crate) fn error(self, code: ResponseCode) -> Vec<u8> {
        self.start(code, 0, 0)
    }

    fn start(self, code: ResponseCode, questions: u8, answers: u8) -> Vec<u8> {
        let [id0, id1] = self.id;
        let response = 0x80 | u8::from(self.recursion_desired);
        let recursion_available = 0x80;
        vec![id0, id1, response, recursion_available | code as u8, 0, questions, 0, answers, 0, 0, 0, 0]
    }
}

/// Returns a response in the size of a datagram: a longer one is truncated, which makes the resolver
/// repeat the query over a stream (RFC 1035, section 4.2.1).
pub(crate) fn for_datagram(mut response: Vec<u8>) -> Vec<u8> {
    if response.len() <= MAX_DATAGRAM_BYTES {
        return response;
    }
    let after_name = parse_name(&response[HEADER_BYTES..]).map(|(_, rest)| rest.len());
    let end = after_name.and_then(|rest| (response.len() - rest).checked_add(4));
    let questions = u8::from(end.is_some());
    response.truncate(end.unwrap_or(HEADER_BYTES));
    response[2] |= TRUNCATED;
    response[4..HEADER_BYTES].copy_from_slice(&[0, questions, 0, 0, 0, 0, 0, 0]);
    response
}

/// Parses a name, and returns it with the bytes after it. A question contains no compressed names.
fn parse_name(mut bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut name = String::new();
    loop {
        let (length, rest) = bytes.split_first()?;
        if *length == 0 {
            return (!name.is_empty()).then_some((name, rest));
        }
        if *length > 63 {
            return None;
        }
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        // A dot within a label would make the name ambiguous.
        if !label.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'.') {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(str::from_utf8(label).ok()?);
        if name.len() > MAX_NAME_BYTES {
            return None;
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn query(name: &str, record_type: u16) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(u8::try_from(label.len()).unwrap());
            message.extend(label.as_bytes());
        }
        message.push(0);
        message.extend(record_type.to_be_bytes());
        message.extend([0, 1]);
        message
    }

    #[test]
    fn queries_are_parsed_and_answered() {
        let mut message = query("api.Example.com", 1);
        // An additional record.
        message.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        message[11] = 1;
        let parsed = Query::parse(&message).unwrap();
        assert_eq!((parsed.name(), parsed.record_type()), ("api.Example.com", RecordType::A));
        let response = parsed.respond(&[Answer("192.0.2.7".parse::<IpAddr>().unwrap())]);
        assert_eq!(&response[..8], &[0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1]);
        assert!(response.ends_with(&[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 7]));
        assert_eq!(parsed.without_additions(), query("api.Example.com", 1));
        let six = Query::parse(&query("a", 28)).unwrap();
        assert_eq!(six.record_type(), RecordType::Aaaa);
        let many = vec![Answer("2001:db8::1".parse::<IpAddr>().unwrap()); 100];
        assert!(six.respond(&many).len() <= 512);
        assert_eq!(parsed.error(ResponseCode::NoSuchName)[3] & 15, 3);
        assert_eq!(Query::parse(&query("x.example", 16)).unwrap().record_type(), RecordType::Forwarded);
        assert_eq!(Query::parse(&query("x.example", 255)).unwrap().record_type(), RecordType::Other);
    }

    #[test]
    fn invalid_messages_are_rejected() {
        let valid = query("api.example.com", 1);
        for length in 0..valid.len() {
            assert!(Query::parse(&valid[..length]).is_err(), "{length}");
        }
        let changed = |at: usize, value: u8| {
            let mut message = valid.clone();
            message[at] = value;
            Query::parse(&message)
        };
        assert_eq!(changed(2, 0x81), Err(QueryError::Ignored));
        for (at, value) in [
            (2, 0x08),  // An inverse query.
            (5, 2),     // Two questions.
            (5, 0),     // No question.
            (7, 1),     // An answer.
            (12, 0xc0), // A compressed name.
            (12, 64),   // A label that is too long.
            (12, 60),   // A label beyond the end.
            (12, 0),    // The root.
            (13, b'.'),
            (13, 0xff),
            (13, b' '),
            (32, 3), // Another class.
        ] {
            assert!(matches!(changed(at, value), Err(QueryError::Invalid(_))), "{at} {value}");
        }
        let long = vec!["a".repeat(60); 5].join(".");
        assert!(Query::parse(&query(&long, 1)).is_err());
        // Every message of pseudorandom bytes is handled.
        let mut state = 1u32;
        for length in 0..2_000 {
            let random: Vec<u8> = (0..length % 80)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    u8::try_from(state >> 24).unwrap_or_default()
                })
                .collect();
            let mut message = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            message.extend(&random);
            let _ = Query::parse(&random);
            let _ = Query::parse(&message);
        }
    }
}
