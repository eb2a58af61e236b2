//! Matches paths with file name patterns.
//!
//! | pattern  | matches                                            |
//! |----------|----------------------------------------------------|
//! | `*`      | any characters except `/`                          |
//! | `**`     | as a complete path component: any number of directories |
//! | `?`      | one character except `/`                           |
//! | `[a-z]`  | one character of the class; `[^...]` and `[!...]`: one outside it |
//! | `{a,b}`  | either alternative                                 |
//! | `\x`     | x itself                                           |

/// A compiled pattern.
pub(super) struct Pattern(regex::Regex);

impl Pattern {
    /// Compiles a pattern. Returns `None` if a bracket or brace is not closed.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut expression = String::from("^(?s:");
        let mut depth = 0_usize;
        let mut at = 0;
        while let Some(character) = characters.get(at) {
            at += 1;
            match character {
                '*' => {
                    let starts_part = at < 2 || characters[at - 2] == '/';
                    if characters.get(at) == Some(&'*') {
                        while characters.get(at) == Some(&'*') {
                            at += 1;
                        }
                        match (starts_part, characters.get(at)) {
                            (true, Some('/')) => {
                                at += 1;
                                expression.push_str("(?:.*/)?");
                            }
                            (true, None) => expression.push_str(".*"),
                            _ => expression.push_str("[^/]*"),
                        }
                    } else {
                        expression.push_str("[^/]*");
                    }
                }
                '?' => expression.push_str("[^/]"),
                '[' => {
                    let close = at + characters[at..].iter().skip(1).position(|c| *c == ']')? + 1;
                    let class = &characters[at..close];
                    at = close + 1;
                    expression.push('[');
                    let class = match class.first() {
                        Some('^' | '!') => {
                            expression.push('^');
                            &class[1..]
                        }
                        _ => class,
                    };
                    for member in class {
                        if matches!(member, '[' | ']' | '&' | '~' | '^') {
                            expression.push('\\');
                        }
                        expression.push(*member);
                    }
                    expression.push(']');
                }
                '{' => {
                    depth += 1;
                    expression.push_str("(?:");
                }
                '}' if depth > 0 => {
                    depth -= 1;
                    expression.push(')');
                }
                ',' if depth > 0 => expression.push('|'),
                '\\' => {
                    let escaped = characters.get(at)?;
                    at += 1;
                    expression.push_str(&regex::escape(&escaped.to_string()));
                }
                plain => expression.push_str(&regex::escape(&plain.to_string())),
            }
        }
        expression.push_str(")$");
        if depth > 0 {
            return None;
        }
        regex::Regex::new(&expression).ok().map(Self)
    }

    /// Returns true if the pattern matches a path with `/` between its components.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}
