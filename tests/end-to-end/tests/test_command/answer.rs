//! The unprocessed results of the commands of a case.

use wardian_end_to_end::sections;

/// The result of one command.
#[derive(Debug, Default)]
pub struct Answer {
    /// The command with its arguments.
    pub line: String,
    /// The exit code of `init` before the command, if it failed.
    pub init: Option<i32>,
    pub human: Format,
    /// The JUnit document; empty if there is none.
    pub junit: String,
    /// The result with `-json`, if the command ran twice.
    pub json: Option<Format>,
}

/// The result of a command in one of its formats.
#[derive(Debug, Default)]
pub struct Format {
    pub code: Option<i32>,
    pub out: String,
    pub errors: String,
}

/// Parses a recorded answer.
pub fn recorded(text: &str) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    let (before, sections) = sections(text);
    let mut init = init_code(&before);
    for (title, content) in sections {
        if let Some(line) = title.strip_prefix("$ ") {
            let human = Format { code: code(content.trim()), ..Format::default() };
            answers.push(Answer { line: line.to_owned(), init, human, ..Answer::default() });
            init = None;
            continue;
        }
        let answer = answers.last_mut().unwrap_or_else(|| panic!("{title:?} is before a command"));
        let (content, next) = without_init(&content);
        init = next;
        let content = content.to_owned();
        match &*title {
            "stdout" => answer.human.out = content,
            "stderr" => answer.human.errors = content,
            "junit" => answer.junit = content,
            "json stderr" => answer.json.get_or_insert_default().errors = content,
            _ => match title.strip_prefix("json ") {
                Some(exit) => {
                    let json = answer.json.get_or_insert_default();
                    (json.code, json.out) = (code(exit), content);
                }
                None => panic!("what is {title:?}?"),
            },
        }
    }
    answers
}

/// Splits off the last line if it is the result of the `init` before the next command.
fn without_init(content: &str) -> (&str, Option<i32>) {
    let start = content.trim_end().rfind('\n').map_or(0, |end| end + 1);
    match init_code(&content[start..]) {
        Some(code) => (&content[..start], Some(code)),
        None => (content, None),
    }
}

fn init_code(line: &str) -> Option<i32> {
    line.trim_end().strip_prefix("init ").and_then(code)
}

/// Parses `exit 1`.
fn code(text: &str) -> Option<i32> {
    text.strip_prefix("exit ")?.parse().ok()
}
