//! Every function with arbitrary values. A result for partly unknown arguments must be consistent
//! with the result for the known arguments.

#![no_main]

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use wardian_diagnostic::{Diagnostics, SourceFile, Span};
use wardian_fuzz::{Named, any_argument, assert_agrees, assert_keeps_marks, hidden, look_at_diagnostics};
use wardian_lang::{
    Expression, FunctionSignature, ReferenceSubject, Resolved, Scope, function_signatures, parse_expression,
};
use wardian_value::{Type, Value};

static FUNCTIONS: LazyLock<Vec<FunctionSignature>> = LazyLock::new(|| function_signatures().collect());

/// Functions whose result depends on whether a value is known or marked, not on the value.
const ABOUT_KNOWLEDGE: &[&str] = &["try", "can", "nonsensitive", "issensitive", "ephemeralasnull"];

thread_local! {
    static CALLS: RefCell<HashMap<(usize, usize), Expression>> = RefCell::new(HashMap::new());
}

/// Arguments by position.
struct Arguments<'a>(&'a [Value]);

impl Scope for Arguments<'_> {
    fn resolve(
        &self,
        subject: &ReferenceSubject,
        index: Option<&Value>,
        span: &Span,
    ) -> Result<Resolved, Diagnostics> {
        let position = match subject {
            ReferenceSubject::Local(name) => name.trim_start_matches('a').parse::<usize>().ok(),
            _ => None,
        };
        match position.and_then(|position| self.0.get(position)) {
            Some(value) => Ok(Resolved::Whole(value.clone())),
            None => Named.resolve(subject, index, span),
        }
    }

    fn read_file(&self, path: &str) -> std::io::Result<Vec<u8>> {
        Named.read_file(path)
    }

    fn file_exists(&self, path: &str) -> Result<bool, String> {
        Named.file_exists(path)
    }

    fn list_files(&self, directory: &str) -> Result<Option<Vec<String>>, String> {
        Named.list_files(directory)
    }

    fn working_directory(&self) -> Option<String> {
        Named.working_directory()
    }

    fn home_directory(&self) -> Option<String> {
        Named.home_directory()
    }

    fn timestamp(&self) -> Option<String> {
        Named.timestamp()
    }

    fn plan_timestamp(&self) -> Option<String> {
        Named.plan_timestamp()
    }
}

fuzz_target!(|data: &[u8]| {
    let _ = exercise(&mut Unstructured::new(data));
});

fn exercise(input: &mut Unstructured<'_>) -> Result<()> {
    let chosen = input.int_in_range(0..=FUNCTIONS.len() - 1)?;
    let function = &FUNCTIONS[chosen];
    let mut types: Vec<&Type> = function.parameters.iter().map(|parameter| &parameter.ty).collect();
    if let Some(variadic) = &function.variadic {
        let further = input.int_in_range(0..=3_usize)?;
        types.extend(std::iter::repeat_n(&variadic.ty, further));
    }
    let arguments = types.into_iter().map(|ty| any_argument(input, ty)).collect::<Result<Vec<_>>>()?;
    let expression = CALLS.with_borrow_mut(|calls| {
        calls.entry((chosen, arguments.len())).or_insert_with(|| call(function.name, arguments.len())).clone()
    });
    let answer = expression.evaluate(&Arguments(&arguments));
    if let Err(problems) = &answer {
        assert!(problems.has_errors(), "a failure without an error");
        look_at_diagnostics(problems);
    }
    if ABOUT_KNOWLEDGE.contains(&function.name) {
        return Ok(());
    }
    let early = arguments.iter().map(|argument| hidden(input, argument)).collect::<Result<Vec<_>>>()?;
    let describe = || {
        let mut text = format!("{}(", function.name);
        for argument in &early {
            let _ = write!(text, "{:?} of {}, ", argument.unmark_deep(), argument.ty());
        }
        text.push_str("), then (");
        for argument in &arguments {
            let _ = write!(text, "{:?} of {}, ", argument.unmark_deep(), argument.ty());
        }
        text + ")"
    };
    let early_answer = expression.evaluate(&Arguments(&early));
    match (early_answer, answer) {
        (Ok(early), Ok(later)) => {
            assert_agrees(&early, &later, &describe);
            // Marks of elements may be added later, while the call waits for another argument.
            if arguments.iter().all(|argument| argument.marks() == argument.inside_marks()) {
                assert_keeps_marks(&early, &later, &describe);
            }
        }
        (Err(problems), Ok(later)) => panic!("{}: refused early, later {later:?}: {problems}", describe()),
        (Ok(_) | Err(_), Err(_)) => {}
    }
    Ok(())
}

fn call(name: &str, count: usize) -> Expression {
    let mut text = format!("{name}(");
    for position in 0..count {
        let _ = write!(text, "local.a{position}, ");
    }
    text.push(')');
    match parse_expression(&SourceFile::new("main.tf", text)) {
        Ok(expression) => expression,
        Err(problems) => unreachable!("{problems}"),
    }
}
