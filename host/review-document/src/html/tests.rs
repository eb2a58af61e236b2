use wardian_review::{ConfigurationFacts, testing};

use super::*;

fn review(name: &str, json: &str) -> Review {
    Review::from_json(name, json.as_bytes(), &ConfigurationFacts::default()).unwrap()
}

fn page(reviews: &[Review]) -> String {
    let mut bytes = Vec::new();
    write_page(reviews, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_change_is_in_the_page_and_the_dangerous_one_is_first() {
    for plan in testing::five_plans() {
        let review = review(plan.name, &plan.json);
        let text = page(std::slice::from_ref(&review));
        for index in 0..review.changes.len() {
            assert!(text.contains(&format!(" id=p0c{index}>")), "{} {index}", plan.name);
        }
        let body = text.split("<main").nth(1).unwrap();
        let dangerous = plan.dangerous.replace('"', "&quot;");
        let first = body.split("</code>").next().unwrap();
        assert!(first.ends_with(&dangerous), "{}: {first}", plan.name);
    }
}

#[test]
fn hostile_text_is_escaped() {
    let text = page(&[review("<h1>\"'", &testing::hostile_plan()), review("b", &testing::hostile_plan())]);
    let without_own = text.replace(SCRIPT, "").replace(STYLE, "");
    assert_eq!(without_own.matches("<script").count(), 1);
    assert_eq!(without_own.matches("<style").count(), 1);
    for forbidden in ["<img", "<svg onload", "<h1>\"", "<!-- ", "topsecret", "<table><td>", "<h1>Approved"] {
        assert!(!without_own.contains(forbidden), "{forbidden}");
    }
    assert!(!without_own.contains(['\u{1b}', '\u{202e}', '\u{0}', '\u{9b}', '\u{2066}']));
}

#[test]
fn policy_permits_the_embedded_script_and_style() {
    let text = page(&[]);
    assert!(text.contains(&format!("script-src 'sha256-{}'", hash(SCRIPT))));
    assert!(text.contains("default-src 'none'"));
    assert!(!SCRIPT.contains("</") && !STYLE.contains("</"));
}

#[test]
fn failing_writers_are_reported() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let plan = testing::five_plans().pop().unwrap();
    let error = write_page(&[review("p", &plan.json)], &mut Closed).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn large_and_multi_line_values_are_collapsed_or_compared() {
    let long = "x".repeat(100_000);
    let lines = |middle: &str| format!("{}{middle}\n{}", "a\n".repeat(50), "b\n".repeat(50));
    let json = serde_json_text(&long, &lines("old"), &lines("new"));
    let text = page(&[review("p", &json)]);
    assert!(text.contains("more characters)"));
    assert!(text.contains("<del>- old</del>\n<ins>+ new</ins>"));
    assert!(text.matches("  a\n").count() < 5);
}

fn serde_json_text(long: &str, old: &str, new: &str) -> String {
    format!(
        "{{\"format_version\":\"1.2\",\"resource_changes\":[{{\"address\":\"a.b\",\"change\":{{\
         \"actions\":[\"update\"],\"before\":{{\"l\":\"\",\"t\":{old:?}}},\"after\":{{\"l\":\"{long}\",\"t\":{new:?}}}}}}}]}}"
    )
}
