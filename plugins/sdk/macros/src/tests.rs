//! Tests of the error messages. Each case is a struct and the beginning of an error.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand;

fn errors(input: TokenStream) -> Vec<String> {
    match syn::parse2(input).and_then(|input| expand(&input)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.into_iter().map(|error| error.to_string()).collect(),
    }
}

#[track_caller]
fn rejects(input: TokenStream, expected: &[&str]) {
    let found = errors(input);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "expected: {expected}\nfound: {found}");
    }
}

#[track_caller]
fn rejects_field(field: TokenStream, expected: &str) {
    rejects(quote!(struct State { #field }), &[expected]);
}

#[test]
fn rejects_items_that_are_not_structs_with_named_fields() {
    rejects(
        quote!(
            enum State {
                A,
                B,
            }
        ),
        &["`Schema` cannot be derived for an enum"],
    );
    rejects(
        quote!(
            struct State<T> {
                a: T,
            }
        ),
        &["`Schema` cannot be derived for a generic type"],
    );
    rejects(
        quote!(
            struct State<'a> {
                a: &'a str,
            }
        ),
        &["`Schema` cannot be derived for a generic type"],
    );
    rejects(
        quote!(
            struct State(String);
        ),
        &["`Schema` needs named fields"],
    );
    rejects(
        quote!(
            struct State;
        ),
        &["`Schema` needs named fields"],
    );
    rejects(quote!(union State { a: u8 }), &["`Schema` cannot be derived for a union"]);
}

#[test]
fn rejects_types_that_no_attribute_can_have() {
    let impossible = "no attribute can have this type";
    rejects_field(quote!(a: &'static str), impossible);
    rejects_field(quote!(a: (String, i64)), impossible);
    rejects_field(quote!(a: [u8; 4]), impossible);
    rejects_field(quote!(a: char), impossible);
    rejects_field(quote!(a: fn() -> i64), impossible);
    rejects_field(quote!(a: Option<Box<Rule>>), impossible);
    rejects_field(quote!(a: std::time::Duration), impossible);
    rejects_field(quote!(a: BTreeMap<i64, String>), impossible);
    rejects_field(quote!(a: Vec<Option<PathBuf>>), impossible);
    rejects_field(quote!(a: Option<Vec<State>>), "a schema cannot contain itself");
}

#[test]
fn rejects_contradictory_options() {
    rejects_field(
        quote!(#[attr(required, computed)] a: Option<String>),
        "a required attribute cannot be optional",
    );
    let both = quote!(
        struct State {
            #[attr(required, default = 1)]
            a: i64,
        }
    );
    rejects(both, &["a required attribute cannot have a default"]);
    rejects_field(quote!(#[attr(required)] a: Option<String>), "a required attribute is never null");
    rejects_field(quote!(#[attr(computed)] a: String), "a computed attribute is unknown until");
    rejects_field(quote!(#[attr(optional)] a: i64), "an optional attribute can be null");
    rejects_field(
        quote!(#[attr(write_only, computed)] a: Option<String>),
        "a write-only attribute exists only",
    );
    rejects_field(quote!(#[attr(write_only)] a: String), "a write-only attribute is null in plans");
    rejects_field(
        quote!(#[attr(write_only, force_new)] a: Option<String>),
        "a write-only attribute has no prior",
    );
    rejects_field(
        quote!(#[attr(computed, force_new)] a: Option<String>),
        "no configuration changes a computed",
    );
    rejects_field(quote!(#[attr(use_state_for_unknown)] a: Option<String>), "the attribute is never unknown");
    rejects_field(
        quote!(#[attr(computed, validate(length(1..)))] a: Option<String>),
        "no configuration sets",
    );
    rejects_field(quote!(#[attr(nullable)] a: Option<String>), "`nullable` is for required attributes");
    rejects_field(quote!(#[attr(sensitive, sensitive)] a: String), "`sensitive` is written twice");
    rejects_field(quote!(#[attr(set)] a: String), "`set` converts a list to a set");
}

#[test]
fn rejects_contradictory_blocks() {
    rejects_field(quote!(#[attr(min_items = 1)] a: Vec<Rule>), "the option is for blocks");
    rejects_field(quote!(#[attr(block, required)] a: Vec<Rule>), "a block does not have this option");
    rejects_field(
        quote!(#[attr(block, min_items = 3, max_items = 2)] a: Vec<Rule>),
        "`max_items` is less than",
    );
    rejects_field(quote!(#[attr(timeouts(create))] a: Timeouts), "timeouts are optional");
    rejects_field(
        quote!(#[attr(timeouts(creat))] a: Option<Timeouts>),
        "unknown operation `creat`\nhelp: did you mean",
    );
    rejects_field(
        quote!(#[attr(timeouts(create), sensitive)] a: Option<Timeouts>),
        "`timeouts` can be combined",
    );
    rejects_field(
        quote!(#[serde(flatten)] #[attr(sensitive)] a: Shared),
        "a flattened struct has no options",
    );
}

#[test]
fn rejects_validators_of_other_types() {
    let cases = [
        (quote!(#[attr(validate(range(1..)))] a: String), "`range` cannot check a string", "use `length`"),
        (
            quote!(#[attr(validate(length(1..)))] a: Option<i64>),
            "`length` cannot check an integer",
            "use `range`",
        ),
        (quote!(#[attr(validate(length(1..)))] a: Vec<String>), "`length` cannot check a list", "use `size`"),
        (quote!(#[attr(validate(size(1..)))] a: String), "`size` cannot check a string", "use `length`"),
        (quote!(#[attr(validate(uuid))] a: bool), "`uuid` cannot check a bool", "remove the validator"),
        (quote!(#[attr(validate(cidr))] a: Vec<String>), "`cidr` cannot check a list", "use `elements(..)`"),
        (quote!(#[attr(validate(unique))] a: BTreeSet<String>), "`unique` cannot check a set", "remove it"),
        (
            quote!(#[attr(validate(elements(range(1..))))] a: Vec<String>),
            "`range` cannot check a string",
            "use `length`",
        ),
        (
            quote!(#[attr(validate(any_of(ip, range(1..))))] a: String),
            "`range` cannot check a string",
            "use `length`",
        ),
        (
            quote!(#[attr(validate(keys(length(1..))))] a: Vec<String>),
            "`keys` cannot check a list",
            "use `elements",
        ),
    ];
    for (field, expected, help) in cases {
        let found = errors(quote!(struct State { #field }));
        assert!(found.len() == 1 && found[0].starts_with(expected), "{expected}: {found:?}");
        assert!(found[0].contains(help), "{help}: {found:?}");
    }
}

#[test]
fn rejects_malformed_validators() {
    rejects_field(
        quote!(#[attr(validate(lenght(1..)))] a: String),
        "unknown validator `lenght`\nhelp: did you mean `length`?",
    );
    rejects_field(quote!(#[attr(validate())] a: String), "`validate` needs validators");
    rejects_field(quote!(#[attr(validate(range(5)))] a: i64), "`range` needs one range");
    rejects_field(quote!(#[attr(validate(range(5..=1)))] a: i64), "the range is empty");
    rejects_field(quote!(#[attr(validate(one_of()))] a: String), "`one_of` needs arguments");
    rejects_field(quote!(#[attr(validate(regex("(")))] a: String), "the regular expression is not valid");
    rejects_field(quote!(#[attr(validate(uuid(4)))] a: String), "`uuid` has no arguments");
    rejects_field(quote!(#[attr(validate(custom()))] a: String), "`custom` needs one function");
    rejects_field(
        quote!(#[attr(validate(conflicts_with(b)))] a: String),
        "`conflicts_with` needs string literals",
    );
    let typo = quote!(
        struct State {
            #[attr(validate(conflicts_with("tokn")))]
            key: Option<String>,
            token: Option<String>,
        }
    );
    rejects(typo, &["unknown attribute `tokn`\nhelp: did you mean `token`?"]);
}

#[test]
fn rejects_defaults_of_other_types_and_out_of_range() {
    rejects_field(
        quote!(#[attr(default = "a")] a: i64),
        "the default is a string, but the type of the field is an integer",
    );
    rejects_field(
        quote!(#[attr(default = 1)] a: String),
        "the default is a number, but the type of the field is a string",
    );
    rejects_field(quote!(#[attr(default = 1.5)] a: i64), "the default is a number with a fraction");
    rejects_field(quote!(#[attr(default = true)] a: Option<String>), "the default is a bool");
    rejects_field(quote!(#[attr(default = 256)] a: u8), "the default is out of the range of `u8`");
    rejects_field(quote!(#[attr(default = -1)] a: u64), "the default is out of the range of `u64`");
    rejects_field(
        quote!(#[attr(default = 5, validate(range(30..)))] a: i64),
        "the default does not pass the validator `range`",
    );
    rejects_field(
        quote!(#[attr(default = "", validate(length(1..)))] a: String),
        "the default does not pass the validator `length`",
    );
    rejects_field(
        quote!(#[attr(default = "c", validate(one_of("a", "b")))] a: String),
        "the default does not pass",
    );
    rejects_field(
        quote!(#[attr(default = "1", validate(regex("^[a-z]")))] a: String),
        "the default does not pass",
    );
}

#[test]
fn rejects_names() {
    rejects_field(quote!(count: i64), "Terraform reserves the name `count`");
    rejects_field(quote!(for_each: i64), "Terraform reserves the name `for_each`");
    rejects(
        quote!(
            #[schema(provider)]
            struct State {
                alias: String,
            }
        ),
        &["Terraform reserves the name `alias`"],
    );
    assert!(
        errors(quote!(
            #[schema(nested)]
            struct State {
                count: i64,
            }
        ))
        .is_empty()
    );
    rejects_field(quote!(#[serde(rename = "Name")] a: String), "`Name` is not a valid name");
    let twice = quote!(
        struct State {
            a: String,
            #[serde(rename = "a")]
            b: String,
        }
    );
    rejects(twice, &["two attributes have the name `a`"]);
    rejects_field(
        quote!(#[attr(name = "b")] a: String),
        "the name of an attribute is the name that serde uses",
    );
    let renamed = quote!(
        #[serde(rename_all = "camelCase")]
        struct State {
            a: String,
        }
    );
    rejects(renamed, &["the names of attributes are in snake case"]);
}

#[test]
fn rejects_unknown_options() {
    rejects_field(
        quote!(#[attr(requird)] a: String),
        "unknown option `requird`\nhelp: did you mean `required`?",
    );
    rejects_field(
        quote!(#[attr(forcenew)] a: String),
        "unknown option `forcenew`\nhelp: did you mean `force_new`?",
    );
    rejects_field(quote!(#[schema(version = 1)] a: String), "`#[schema(..)]` belongs to structs");
    rejects(
        quote!(
            #[attr(required)]
            struct State {}
        ),
        &["`#[attr(..)]` belongs to fields"],
    );
    rejects(
        quote!(
            #[schema(versoin = 1)]
            struct State {}
        ),
        &["unknown option of a struct `versoin`\nhelp: did you mean"],
    );
    rejects(
        quote!(
            #[schema(conflicting("a"))]
            struct State {
                a: String,
            }
        ),
        &["`conflicting` needs the paths of at least two"],
    );
    rejects(
        quote!(
            #[schema(conflicting("a", "c.d"))]
            struct State {
                a: String,
            }
        ),
        &["unknown attribute `c`"],
    );
    rejects(
        quote!(
            #[schema(nested, provider)]
            struct State {}
        ),
        &["`provider`, `nested` and `shared` exclude"],
    );
}

#[test]
fn reports_all_mistakes_of_a_struct() {
    let input = quote!(
        struct State {
            #[attr(requird)]
            a: String,
            #[attr(computed)]
            b: String,
            count: i64,
        }
    );
    rejects(input, &["unknown option", "Terraform reserves", "a computed attribute is unknown until"]);
}

#[test]
fn accepts_options_that_agree() {
    let input = quote!(
        #[schema(version = 2, required_together("user", "rule.port"))]
        struct State {
            #[attr(required, nullable, force_new)]
            name: Option<String>,
            #[attr(default = 300, validate(range(30..)))]
            timeout: i64,
            #[attr(default = ["a"], validate(size(1..), elements(length(1..))))]
            zones: Vec<String>,
            #[attr(optional, computed, validate(crate::checks::region()))]
            region: Option<String>,
            #[attr(block, max_items = 3)]
            rule: Vec<Rule>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            user: Option<String>,
            #[serde(skip)]
            cache: std::cell::Cell<char>,
        }
    );
    assert_eq!(errors(input), Vec::<String>::new());
}
