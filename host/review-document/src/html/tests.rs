use std::collections::HashMap;

use wardian_review::testing::{MIN_COLOR_DISTANCE, MIN_CONTRAST, Rgb, Vision};
use wardian_review::{ConfigurationFacts, PluginAccess, ReviewWarning, testing};

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

/// Returns the colors of the light and of the dark form by their names.
fn palettes() -> [HashMap<&'static str, Rgb>; 2] {
    let colors = |text: &'static str| -> HashMap<&'static str, Rgb> {
        let block = text.split_once(":root {").unwrap().1.split_once('}').unwrap().0;
        let declarations = block.split(';').filter_map(|one| one.trim().strip_prefix("--")?.split_once(": "));
        declarations.map(|(name, color)| (name, Rgb::parse(color).unwrap())).collect()
    };
    let (light, dark) = STYLE.split_once("prefers-color-scheme: dark").unwrap();
    [colors(light), colors(dark)]
}

const CLASS_COLORS: [&str; 5] = ["destroy", "replace", "update", "create", "other"];

#[test]
fn text_has_contrast() {
    for palette in palettes() {
        for text in CLASS_COLORS.into_iter().chain(["text", "link"]) {
            for background in ["page", "soft"] {
                let contrast = palette[text].contrast(palette[background]);
                assert!(contrast >= MIN_CONTRAST, "{text} on {background}: {contrast}");
            }
        }
        for background in ["del", "ins"] {
            assert!(palette["text"].contrast(palette[background]) >= MIN_CONTRAST, "{background}");
        }
    }
}

#[test]
fn color_blind_readers_can_tell_classes_apart() {
    for palette in palettes() {
        for vision in Vision::ALL {
            for (index, one) in CLASS_COLORS.into_iter().enumerate() {
                for other in &CLASS_COLORS[..index] {
                    let distance = palette[one].distance(palette[other], vision);
                    assert!(distance >= MIN_COLOR_DISTANCE, "{vision:?} {one} {other}: {distance}");
                }
            }
            // Signs mark removed and added values too.
            assert!(palette["del"].distance(palette["ins"], vision) >= 10.0, "{vision:?}");
        }
    }
}

#[test]
fn classes_have_symbols_and_words() {
    let plan = testing::five_plans().swap_remove(0);
    let text = page(&[review("p", &plan.json)]);
    for (symbol, word) in [("-", "destroy"), ("~", "update"), ("+", "create")] {
        assert!(
            text.contains(&format!(
                "<span class=symbol aria-hidden=true>{symbol}</span> <span class=kind>{word}</span>"
            )),
            "{word}"
        );
    }
    // Signs and words are text, which does not depend on the style.
    assert!(
        text.contains(
            "<del dir=auto>- &quot;v1&quot;</del> <span class=spoken>becomes</span><span aria-hidden=true>\u{2192}</span> \
             <ins dir=auto>+ &quot;v2&quot;</ins>"
        ),
        "{text}"
    );
    assert!(!STYLE.contains("content:") && !text.contains("<span aria-label"));
}

#[test]
fn right_to_left_text_is_isolated() {
    let text = page(&[review("שלום", &testing::wide_plan())]);
    let body = text.split("<body>").nth(1).unwrap();
    for name in testing::WIDE_TEXTS {
        assert!(body.contains(name), "{name}");
    }
    // Right-to-left text is only in elements that isolate it, or in attributes.
    let is_isolated = |before: &str| {
        let tag = before.rsplit_once('<').unwrap().1;
        let element = before.rsplit_once('>').map_or(before, |(tags, _)| tags.rsplit_once('<').unwrap().1);
        ["code", "bdi", "del", "ins", "tspan", "pre"].iter().any(|name| element.starts_with(name))
            || !tag.contains('>')
    };
    for (at, _) in body.match_indices("שלום") {
        assert!(is_isolated(&body[..at]), "{}", &body[at.saturating_sub(80)..at]);
    }
}

#[test]
fn actions_checks_warnings_and_accesses_are_shown() {
    let access = PluginAccess {
        is_denied: true,
        plugin: "hashicorp/http".into(),
        capability: "network".into(),
        target: "https://<b>.example".into(),
        count: 2,
        reason: Some("No rule allows the request.".into()),
        rule: None,
        objects: Box::new(["data.http.a".into()]),
    };
    let warning = ReviewWarning { summary: "<i>".into(), detail: "one\n<two>".into(), source: None };
    let requested = review("p", &testing::requested_invocation());
    let review =
        review("p", &testing::plan_with_actions()).with_accesses(vec![access]).with_warnings(vec![warning]);
    let text = page(&[review]);
    for part in [
        "<b>30</b> actions to invoke",
        "<li>Check failed: <code dir=auto>check.website</code> <bdi>The website does not respond.</bdi>",
        "Checks: 1 passed, 1 failed, 1 could not be evaluated, 1 evaluated during the apply",
        "Invokes <code dir=auto>action.aws_ssm_command.restart</code> after it is updated",
        "<b>29</b> \u{d7} <code dir=auto>action.aws_ssm_command.restart</code>",
        "<code dir=auto>payload.token</code> = <code dir=auto>(sensitive value)</code>",
        "<td><b>denied</b><td><code dir=auto>hashicorp/http</code>",
        "<bdi>No rule allows the request.</bdi>",
        "<bdi>&lt;i&gt;</bdi><pre>one\n&lt;two&gt;</pre>",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("topsecret"));
    assert_eq!(text.matches("action.aws_ssm_command.restart[").count(), 29);
    let requested = page(&[requested]);
    assert!(requested.contains("<b>1</b> action to invoke") && requested.contains("requested with -invoke"));
    assert!(!requested.contains("No changes"));
}

#[test]
fn members_show_what_they_do_not_have_in_common() {
    let mut facts = ConfigurationFacts::default();
    let position = wardian_review::SourcePosition { file: "main.tf".into(), line: 3 };
    facts.positions.insert("aws_security_group_rule.rule".to_owned(), position);
    let json = testing::plan_with_differing_members();
    let review = Review::from_json("p", json.as_bytes(), &facts).unwrap();
    let text = page(&[review]);
    let (address, value) = testing::ODD_RULE;
    let (before, rules) = text.split_once("<code dir=auto>aws_security_group_rule</code>").unwrap();
    assert!(before.ends_with("<b>30</b> \u{d7} "), "{before}");
    let (summary, members) = rules.split_once("<ol class=members>").unwrap();
    assert!(summary.contains("<bdi>main.tf</bdi>:3"), "{summary}");
    // The member with the rare value is the first one.
    let first = members.split("<li id=").nth(1).unwrap();
    assert!(first.contains(&format!("<code dir=auto>{address}</code>")), "{first}");
    assert!(first.contains(&format!("<ins dir=auto>+ &quot;{value}&quot;</ins>")), "{first}");
    assert!(members.contains("<ins dir=auto>+ &quot;10.0.0.0/8&quot;</ins>"));
    for part in [
        "aws_instance.moved[2]</code> <span class=why>it was moved from <code dir=auto>aws_instance.old[2]</code>",
        "it is imported with the ID <code dir=auto>i-1</code>",
        "it is the deposed object <code dir=auto>00000001</code>",
        "aws_iam_user.gone</code> <span class=why>the resource is not in the configuration</span>",
        "<span class=why>the key is not in for_each</span>",
        "Provider: <code dir=auto>registry.terraform.io/hashicorp/aws</code>",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn links_to_causes_are_at_the_members_if_they_differ() {
    let plan = testing::five_plans().into_iter().find(|plan| plan.name == "cascade").unwrap();
    let text = page(&[review("p", &plan.json)]);
    // All subnets depend on the same network.
    let (_, subnets) = text.split_once("<b>4</b> \u{d7} ").unwrap();
    let (summary, _) = subnets.split_once("</summary>").unwrap();
    assert!(
        summary.contains("depends on <a href=\"#p0c29\"><code dir=auto>aws_vpc.main</code></a>"),
        "{summary}"
    );
    // Each of the first four instances depends on the subnet with its index.
    let (_, instances) = text.split_once("<b>24</b> \u{d7} ").unwrap();
    let (summary, members) = instances.split_once("</summary>").unwrap();
    assert!(summary.contains("depends on <code dir=auto>aws_subnet.private</code>"), "{summary}");
    let third = members.split("aws_instance.app[2]").nth(1).unwrap().split("</li>").next().unwrap();
    assert!(third.contains("depends on <a href=\"#p0c2\">"), "{third}");
}

#[test]
fn changes_of_line_breaks_are_visible() {
    let json = serde_json_text("", "a\r\nb\n", "a\nb");
    let text = page(&[review("p", &json)]);
    assert!(text.contains("<del>- a\\r</del>\n<ins>+ a</ins>"), "{text}");
    assert!(text.contains("<del>- (line break at the end)</del>"), "{text}");
}

#[test]
fn tables_that_scroll_can_be_reached_with_the_keyboard() {
    let access = PluginAccess {
        is_denied: false,
        plugin: "p".into(),
        capability: "network".into(),
        target: "t".into(),
        count: 1,
        reason: None,
        rule: None,
        objects: Box::default(),
    };
    let plan = testing::five_plans().swap_remove(0);
    let text = page(&[review("p", &plan.json).with_accesses(vec![access])]);
    assert!(text.contains("<div class=scroll tabindex=0 role=region aria-label=Accesses>"));
}
