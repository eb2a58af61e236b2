use proptest::prelude::*;

use super::*;

fn tokens(text: &str) -> Vec<Token> {
    scan(text, 0, text.len(), Start::Normal)
}

/// Returns `Kind text` for each token except the last.
fn shown(text: &str) -> Vec<String> {
    let mut found: Vec<String> =
        tokens(text).iter().map(|token| format!("{:?} {}", token.kind, token.text(text))).collect();
    assert_eq!(found.pop().as_deref(), Some("End "));
    found
}

fn kinds(text: &str) -> Vec<TokenKind> {
    tokens(text).iter().map(|token| token.kind).collect()
}

/// Checks that tokens are in order and do not overlap, that there are only spaces between them, and
/// that the last token is the end token.
fn assert_lossless(text: &str, mode: Start) {
    let found = scan(text, 0, text.len(), mode);
    let mut at = 0;
    for token in &found {
        assert!(token.start >= at && token.end >= token.start, "{token:?} in {text:?}");
        let between = text.get(at..token.start).unwrap();
        let between = if at == 0 { between.trim_start_matches('\u{feff}') } else { between };
        assert!(between.chars().all(|c| c == ' ' || c == '\t'), "{between:?} before {token:?}");
        assert!(token.kind == TokenKind::End || token.end > token.start, "{token:?} in {text:?}");
        at = token.end;
    }
    assert_eq!(found.last().map(|token| (token.kind, token.start)), Some((TokenKind::End, text.len())));
    assert_eq!(found.iter().filter(|token| token.kind == TokenKind::End).count(), 1);
}

#[test]
fn scans_numbers_and_names() {
    assert_eq!(
        shown("a-b 1.5e+3 2e 3. 4.x é1 _"),
        [
            "Identifier a-b",
            "Number 1.5e+3",
            "Number 2",
            "Identifier e",
            "Number 3",
            "Dot .",
            "Number 4",
            "Dot .",
            "Identifier x",
            "Identifier é1",
            "Identifier _"
        ]
    );
    assert_eq!(
        shown("a.0.1 x...]"),
        ["Identifier a", "Dot .", "Number 0.1", "Identifier x", "Ellipsis ...", "CloseBracket ]"]
    );
    assert_eq!(shown("1...]"), ["Number 1", "Ellipsis ...", "CloseBracket ]"]);
}

#[test]
fn scans_operators() {
    assert_eq!(
        shown("a::b=>c>=d<=e==f!=!g&&h||i=j&|^~;'`"),
        [
            "Identifier a",
            "DoubleColon ::",
            "Identifier b",
            "Arrow =>",
            "Identifier c",
            "GreaterOrEqual >=",
            "Identifier d",
            "LessOrEqual <=",
            "Identifier e",
            "Equal ==",
            "Identifier f",
            "NotEqual !=",
            "Not !",
            "Identifier g",
            "And &&",
            "Identifier h",
            "Or ||",
            "Identifier i",
            "Assign =",
            "Identifier j",
            "Ampersand &",
            "Pipe |",
            "Caret ^",
            "Tilde ~",
            "Semicolon ;",
            "Apostrophe '",
            "Backtick `"
        ]
    );
}

#[test]
fn scans_comments_and_line_endings() {
    assert_eq!(
        shown("# a\r\n// b\n/* c\n*/\r\n#"),
        [
            "LineComment # a\r\n",
            "LineComment // b\n",
            "BlockComment /* c\n*/",
            "Newline \r\n",
            "LineComment #"
        ]
    );
    assert_eq!(shown("/* a"), ["Slash /", "Star *", "Identifier a"]);
    assert_eq!(shown("\u{feff}a"), ["Identifier a"]);
    assert_eq!(shown("\r\u{a0}"), ["Invalid \r", "Invalid \u{a0}"]);
}

#[test]
fn scans_templates() {
    assert_eq!(
        shown(r#""a\"$${b$%%{${~ { x = "y" } ~}%{ if c}d""#),
        [
            "OpenQuote \"",
            "QuotedLiteral a\\\"$${b$%%{",
            "OpenInterpolation ${~",
            "OpenBrace {",
            "Identifier x",
            "Assign =",
            "OpenQuote \"",
            "QuotedLiteral y",
            "CloseQuote \"",
            "CloseBrace }",
            "CloseSequence ~}",
            "OpenDirective %{",
            "Identifier if",
            "Identifier c",
            "CloseSequence }",
            "QuotedLiteral d",
            "CloseQuote \""
        ]
    );
    assert_eq!(shown("\"$$${x\""), ["OpenQuote \"", "QuotedLiteral $$${x", "CloseQuote \""]);
    assert_eq!(shown("\"\\${x\""), ["OpenQuote \"", "QuotedLiteral \\${x", "CloseQuote \""]);
    assert_eq!(
        shown("\"a\r\n\n b\\\n\""),
        [
            "OpenQuote \"",
            "QuotedLiteral a",
            "QuotedNewline \r\n\n",
            "QuotedLiteral  b",
            "Invalid \\",
            "QuotedNewline \n",
            "CloseQuote \""
        ]
    );
    assert_eq!(shown("~}}"), ["CloseSequence ~}", "CloseBrace }"]);
}

#[test]
fn scans_heredocs() {
    assert_eq!(
        shown("<<-E-1\r\n a ${b} c\n\n  E-1 \r\n<<X\nX\n"),
        [
            "OpenHeredoc <<-E-1\r\n",
            "TemplateLiteral  a ",
            "OpenInterpolation ${",
            "Identifier b",
            "CloseSequence }",
            "TemplateLiteral  c\n",
            "TemplateLiteral \n",
            "CloseHeredoc   E-1 ",
            "Newline \r\n",
            "OpenHeredoc <<X\n",
            "CloseHeredoc X",
            "Newline \n"
        ]
    );
    assert_eq!(
        shown("<<X\n${a}X\nX"),
        [
            "OpenHeredoc <<X\n",
            "OpenInterpolation ${",
            "Identifier a",
            "CloseSequence }",
            "TemplateLiteral X\n",
            "TemplateLiteral X"
        ]
    );
    assert_eq!(shown("<<X \n"), ["Less <", "Less <", "Identifier X", "Newline \n"]);
}

#[test]
fn scans_bare_templates() {
    let text = "a \"b\"\n${c}";
    let found: Vec<TokenKind> =
        scan(text, 0, text.len(), Start::Template).iter().map(|token| token.kind).collect();
    assert_eq!(
        found,
        [
            TokenKind::TemplateLiteral,
            TokenKind::OpenInterpolation,
            TokenKind::Identifier,
            TokenKind::CloseSequence,
            TokenKind::End
        ]
    );
    assert_eq!(scan("abc", 1, 2, Start::Normal).len(), 2);
    assert_eq!(scan("é", 1, 2, Start::Normal).len(), 1);
}

#[test]
fn parsing_hostile_text_is_linear() {
    for piece in [
        "/*", "<<A", "<<A\n", "\"", "\"${", "%{", "${", "1.", "1e", "\\", "\"\\\n", "$", "{", "~}", "é", "\r",
    ] {
        let text = piece.repeat(300_000);
        let start = std::time::Instant::now();
        assert_lossless(&text, Start::Normal);
        assert_lossless(&text, Start::Template);
        assert!(start.elapsed().as_secs() < 5, "{piece:?} took {:?}", start.elapsed());
    }
    assert_eq!(kinds(""), [TokenKind::End]);
}

proptest! {
    #[test]
    fn scanning_any_text_is_lossless(text in "\\PC*") {
        assert_lossless(&text, Start::Normal);
        assert_lossless(&text, Start::Template);
    }

    #[test]
    fn scanning_nearly_valid_text_is_lossless(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "a", "\"", "${", "%{", "}", "~}", "{", "<<E\n", "<<-E\r\n", "E\n", "  E \r\n", "\n", "\r", "\\", "$", "%",
                "1", ".", "e", "+", "#", "/*", "*/", "é", "\u{feff}", " ", "\t", "::", "=", ">", "...", "\u{0}",
            ]),
            0..60,
        )
    ) {
        let text = pieces.concat();
        assert_lossless(&text, Start::Normal);
        assert_lossless(&text, Start::Template);
    }
}
