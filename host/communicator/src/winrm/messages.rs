//! The messages of the WinRM shell protocol, and parsers for the responses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

const SHELL: &str = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell";
const TRANSFER: &str = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
/// Maximum size of a response envelope; all versions support this size.
const MAX_ENVELOPE_SIZE: u32 = 153_600;
/// The operation timeout: how long the machine waits for output before it reports that there is
/// none yet.
pub(super) const OPERATION_TIMEOUT_SECONDS: u32 = 20;
/// The fault code of an operation that has no output yet.
const NO_OUTPUT_YET: &str = "2150858793";
/// The fault codes of a shell that does not exist.
const NO_SHELL: [&str; 2] = ["2150858843", "2150859193"];

/// The addressing headers of a message: the service and the shell.
pub(super) struct Envelope<'a> {
    pub(super) url: &'a str,
    pub(super) shell: Option<&'a str>,
}

impl Envelope<'_> {
    pub(super) fn create(&self) -> String {
        let options = option("WINRS_NOPROFILE", "FALSE") + &option("WINRS_CODEPAGE", "65001");
        let body = "<rsp:Shell><rsp:InputStreams>stdin</rsp:InputStreams>\
                    <rsp:OutputStreams>stdout stderr</rsp:OutputStreams></rsp:Shell>";
        self.message(&format!("{TRANSFER}/Create"), &options, body)
    }

    pub(super) fn command(&self, command: &str) -> String {
        let options = option("WINRS_CONSOLEMODE_STDIN", "TRUE") + &option("WINRS_SKIP_CMD_SHELL", "FALSE");
        let body =
            format!("<rsp:CommandLine><rsp:Command>{}</rsp:Command></rsp:CommandLine>", escape_xml(command));
        self.message(&format!("{SHELL}/Command"), &options, &body)
    }

    pub(super) fn receive(&self, command: &str) -> String {
        let body = format!(
            "<rsp:Receive><rsp:DesiredStream CommandId=\"{}\">stdout stderr</rsp:DesiredStream></rsp:Receive>",
            escape_xml(command)
        );
        self.message(&format!("{SHELL}/Receive"), "", &body)
    }

    pub(super) fn terminate(&self, command: &str) -> String {
        let body = format!(
            "<rsp:Signal CommandId=\"{}\"><rsp:Code>{SHELL}/signal/terminate</rsp:Code></rsp:Signal>",
            escape_xml(command)
        );
        self.message(&format!("{SHELL}/Signal"), "", &body)
    }

    pub(super) fn delete(&self) -> String {
        self.message(&format!("{TRANSFER}/Delete"), "", "")
    }

    fn message(&self, action: &str, options: &str, body: &str) -> String {
        let selector = self.shell.map(|shell| {
            format!(
                "<w:SelectorSet><w:Selector Name=\"ShellId\">{}</w:Selector></w:SelectorSet>",
                escape_xml(shell)
            )
        });
        let options = match options {
            "" => String::new(),
            options => format!("<w:OptionSet>{options}</w:OptionSet>"),
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\
             <env:Envelope xmlns:env=\"http://www.w3.org/2003/05/soap-envelope\" \
             xmlns:a=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\" \
             xmlns:w=\"http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd\" \
             xmlns:p=\"http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd\" \
             xmlns:rsp=\"{SHELL}\">\
             <env:Header>\
             <a:To>{to}</a:To>\
             <a:ReplyTo><a:Address env:mustUnderstand=\"true\">\
             http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo>\
             <w:MaxEnvelopeSize env:mustUnderstand=\"true\">{MAX_ENVELOPE_SIZE}</w:MaxEnvelopeSize>\
             <a:MessageID>uuid:{identifier}</a:MessageID>\
             <w:Locale env:mustUnderstand=\"false\" xml:lang=\"en-US\"/>\
             <p:DataLocale env:mustUnderstand=\"false\" xml:lang=\"en-US\"/>\
             <w:OperationTimeout>PT{OPERATION_TIMEOUT_SECONDS}S</w:OperationTimeout>\
             <w:ResourceURI env:mustUnderstand=\"true\">{SHELL}/cmd</w:ResourceURI>\
             <a:Action env:mustUnderstand=\"true\">{action}</a:Action>\
             {selector}{options}\
             </env:Header><env:Body>{body}</env:Body></env:Envelope>",
            to = escape_xml(self.url),
            identifier = new_message_id(),
            selector = selector.unwrap_or_default(),
        )
    }
}

fn option(name: &str, value: &str) -> String {
    format!("<w:Option Name=\"{name}\">{value}</w:Option>")
}

/// Returns a new message ID, in the form of a UUID (version 4).
pub(super) fn new_message_id() -> String {
    let mut bytes = [0_u8; 16];
    // If the random generator fails, IDs repeat. Repeated IDs only make the server's logs
    // ambiguous.
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = bytes.iter().fold(String::with_capacity(32), |mut digits, byte| {
        use std::fmt::Write as _;
        let _ = write!(digits, "{byte:02X}");
        digits
    });
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

/// Escapes text for XML. Characters that cannot be represented in XML are dropped.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' | '\n' => escaped.push(character),
            character if character < ' ' || matches!(character, '\u{fffe}' | '\u{ffff}') => {}
            character => escaped.push(character),
        }
    }
    escaped
}

/// The reason why a machine did not process a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// There was no output within the operation timeout.
    NoOutputYet,
    /// The shell no longer exists.
    NoShell(String),
    Other(String),
}

/// Output of a running command, and its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// The exit code, if the command has ended.
    pub(super) exit_code: Option<i32>,
}

fn find_element<'a, 'input>(document: &'a Document<'input>, name: &str) -> Option<Node<'a, 'input>> {
    document.descendants().find(|node| node.is_element() && node.tag_name().name() == name)
}

fn parse_xml(text: &str) -> Option<Document<'_>> {
    Document::parse(text.trim_start_matches('\u{feff}')).ok()
}

/// Parses the ID of a created shell.
pub(super) fn parse_shell_id(text: &str) -> Option<String> {
    let document = parse_xml(text)?;
    let selector = document.descendants().find(|node| {
        node.tag_name().name() == "ShellId"
            || node.tag_name().name() == "Selector" && node.attribute("Name") == Some("ShellId")
    });
    Some(selector?.text()?.trim().to_owned())
}

/// Parses the ID of a started command.
pub(super) fn parse_command_id(text: &str) -> Option<String> {
    let document = parse_xml(text)?;
    Some(find_element(&document, "CommandId")?.text()?.trim().to_owned())
}

/// Parses command output.
pub(super) fn parse_output(text: &str) -> Option<Output> {
    let document = parse_xml(text)?;
    let mut output = Output::default();
    find_element(&document, "ReceiveResponse")?;
    for stream in document.descendants().filter(|node| node.tag_name().name() == "Stream") {
        let encoded: String = stream
            .text()
            .unwrap_or_default()
            .chars()
            .filter(|character| !character.is_whitespace())
            .collect();
        let bytes = STANDARD.decode(encoded).ok()?;
        match stream.attribute("Name") {
            Some("stderr") => output.stderr.extend(bytes),
            _ => output.stdout.extend(bytes),
        }
    }
    let state = find_element(&document, "CommandState").and_then(|state| state.attribute("State"));
    if state.is_some_and(|state| state.ends_with("/Done")) {
        let code =
            find_element(&document, "ExitCode").and_then(|code| code.text()?.trim().parse::<i64>().ok());
        // Codes above `i32::MAX` are negative.
        let code = code.and_then(|code| u32::try_from(code & 0xffff_ffff).ok()).unwrap_or_default();
        output.exit_code = Some(code.cast_signed());
    }
    Some(output)
}

/// Parses a fault with the machine's message.
pub(super) fn parse_fault(text: &str) -> Option<Fault> {
    let document = parse_xml(text)?;
    let fault = find_element(&document, "Fault")?;
    let code =
        find_element(&document, "WSManFault").and_then(|fault| fault.attribute("Code")).unwrap_or_default();
    let is_timeout = document.descendants().any(|node| {
        node.tag_name().name() == "Value" && node.text().is_some_and(|text| text.trim() == "w:TimedOut")
    });
    if code == NO_OUTPUT_YET || is_timeout {
        return Some(Fault::NoOutputYet);
    }
    let message = ["Message", "Text"].into_iter().find_map(|name| {
        let node = fault.descendants().find(|node| node.is_element() && node.tag_name().name() == name)?;
        let message: Vec<&str> =
            node.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect();
        let message = message.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        (!message.is_empty()).then_some(message)
    });
    let message: String = message.unwrap_or_else(|| format!("fault {code}")).chars().take(1000).collect();
    Some(if NO_SHELL.contains(&code) { Fault::NoShell(message) } else { Fault::Other(message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_text_round_trips_through_xml() {
        let command = "echo \"a\" & b < c > d\r\n\u{1}é";
        let message = Envelope { url: "http://h/wsman", shell: Some("S<1>") }.command(command);
        let document = Document::parse(&message).unwrap();
        assert_eq!(find_element(&document, "Command").unwrap().text(), Some("echo \"a\" & b < c > d\r\né"));
        assert_eq!(parse_shell_id(&message).as_deref(), Some("S<1>"));
    }

    #[test]
    fn parses_command_output() {
        let received = "<e xmlns:r=\"x\"><r:ReceiveResponse>\
            <r:Stream Name=\"stdout\" CommandId=\"1\">aGVs</r:Stream>\
            <r:Stream Name=\"stdout\" CommandId=\"1\">bG8=</r:Stream>\
            <r:Stream Name=\"stderr\" CommandId=\"1\">\n YQ==\n</r:Stream>\
            <r:Stream Name=\"stderr\" CommandId=\"1\" End=\"true\"/>\
            <r:CommandState State=\"http://x/CommandState/Done\"><r:ExitCode>4294967295</r:ExitCode>\
            </r:CommandState></r:ReceiveResponse></e>";
        let expected = Output { stdout: b"hello".to_vec(), stderr: b"a".to_vec(), exit_code: Some(-1) };
        assert_eq!(parse_output(received), Some(expected));
        assert_eq!(parse_output("<e><Fault/></e>"), None);
        for nonsense in ["", "<", "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "{}"] {
            assert!(
                parse_output(nonsense).is_none()
                    && parse_fault(nonsense).is_none()
                    && parse_shell_id(nonsense).is_none()
            );
        }
    }

    #[test]
    fn parses_deep_and_wide_responses() {
        let deep = "<a>".repeat(1_000_000);
        assert_eq!(parse_output(&deep), None);
        let closed = format!("{deep}{}", "</a>".repeat(1_000_000));
        assert_eq!(parse_output(&closed), None);
        assert_eq!(parse_fault(&closed), None);
        assert_eq!(parse_output(&format!("<a>{}</a>", "<b/>".repeat(1_000_000))), None);
    }

    #[test]
    fn fault_codes_determine_the_kind_of_fault() {
        let with = |code: &str| {
            format!(
                "<s:Envelope xmlns:s=\"s\"><s:Body><s:Fault><s:Reason><s:Text>first</s:Text></s:Reason>\
                 <s:Detail><f:WSManFault xmlns:f=\"f\" Code=\"{code}\"><f:Message>no\n  way</f:Message>\
                 </f:WSManFault></s:Detail></s:Fault></s:Body></s:Envelope>"
            )
        };
        assert_eq!(parse_fault(&with("2150858793")), Some(Fault::NoOutputYet));
        assert_eq!(parse_fault(&with("2150858843")), Some(Fault::NoShell("no way".into())));
        assert_eq!(parse_fault(&with("5")), Some(Fault::Other("no way".into())));
    }
}
