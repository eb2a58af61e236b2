use wardian_review::{ConfigurationFacts, testing};

use super::*;

fn review(name: &str, json: &str) -> Review {
    Review::from_json(name, json.as_bytes(), &ConfigurationFacts::default()).unwrap()
}

fn both() -> [CommentOptions; 2] {
    [CommentFormat::GitHub, CommentFormat::GitLab].map(CommentOptions::for_service)
}

#[test]
fn dangerous_change_is_in_the_first_thousand_characters() {
    for plan in testing::five_plans() {
        for options in both() {
            let text = markdown_comment(&[review(plan.name, &plan.json)], options);
            let start: String = text.chars().take(1000).collect();
            let start = start.replace('`', "");
            assert!(start.contains(plan.dangerous), "{}:\n{start}", plan.name);
            assert!(text.starts_with("<!-- wardian-plan: "));
        }
    }
}

/// Returns plans of all kinds, with titles of different lengths.
fn all_plans() -> Vec<Review> {
    let access = |is_denied| wardian_review::PluginAccess {
        is_denied,
        plugin: "p".into(),
        capability: "network".into(),
        target: "t`".repeat(300).into(),
        count: 1,
        reason: Some("r".into()),
        rule: None,
        objects: Box::default(),
    };
    let warning = wardian_review::ReviewWarning { summary: "w".into(), detail: "d".into(), source: None };
    let mut plans: Vec<Review> =
        testing::five_plans()[..4].iter().map(|plan| review(plan.name, &plan.json)).collect();
    plans.push(review(&"\u{1b}|".repeat(200), &testing::hostile_plan()));
    plans.push(review("wide/\u{202e}\n", &testing::wide_plan()));
    plans.push(
        review(&"a".repeat(61), &testing::plan_with_actions())
            .with_accesses(vec![access(true), access(false)])
            .with_warnings(vec![warning; 150]),
    );
    plans.push(review("differing", &testing::plan_with_differing_members()));
    plans.push(review("large", &testing::large(400)));
    plans
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]
    #[test]
    fn limit_is_kept(
        chosen in proptest::collection::vec(0..9_usize, 0..30),
        limit in CommentOptions::MIN_LIMIT..40_000,
        is_small in proptest::bool::ANY,
        is_github in proptest::bool::ANY,
    ) {
        static PLANS: std::sync::LazyLock<Vec<Review>> = std::sync::LazyLock::new(all_plans);
        let limit = if is_small { CommentOptions::MIN_LIMIT + limit % 2_000 } else { limit };
        let reviews: Vec<Review> = chosen.iter().map(|index| PLANS[*index].clone()).collect();
        let format = if is_github { CommentFormat::GitHub } else { CommentFormat::GitLab };
        let text = markdown_comment(&reviews, CommentOptions { format, limit });
        let length = text.encode_utf16().count();
        proptest::prop_assert!(length <= limit, "{length} > {limit}");
        let active = without_code(&text);
        let elements = |name: &str| active.matches(name).count();
        proptest::prop_assert_eq!(elements("<details>"), elements("</details>"));
        // Each destroyed object is shown or counted.
        let destroyed: usize =
            reviews.iter().map(|review| review.counts.count(ChangeClass::Destroy)).sum();
        if destroyed > 0 {
            proptest::prop_assert!(text.contains("#### Destroy") || text.contains("_Not in this comment: "));
        }
    }
}

#[test]
fn destroys_of_all_plans_come_first() {
    let plans = all_plans();
    let text = markdown_comment(&plans, both()[0]);
    let destroys = text.find("\n#### Destroy\n").unwrap();
    let replaces = text.find("\n#### Replace\n").unwrap();
    let others = text.find("\n### Plan: ").unwrap();
    assert!(destroys < replaces && replaces < others, "{destroys} {replaces} {others}");
    assert_eq!(text.matches("\n#### Destroy\n").count(), 1);
    for dangerous in ["aws_db_instance.main", "module.storage.aws_s3_bucket.audit"] {
        assert!((destroys..replaces).contains(&text.find(dangerous).unwrap()), "{dangerous}");
    }
    // Findings follow the destroys and precede the updates.
    let checks = text.find("- Check failed: ").unwrap();
    assert!(checks > replaces);
    for row in ["| <code>small</code> | 1 | 0 | 1 | 1 | 0 |", "| <code>drift</code> | 0 | 1 | 40 | 1 | 0 |"] {
        assert!(text.contains(row), "{row}:\n{text}");
    }
}

#[test]
fn omitted_parts_are_counted() {
    let plan = testing::large(400);
    let options = CommentOptions { format: CommentFormat::GitHub, limit: CommentOptions::MIN_LIMIT };
    let many: Vec<Review> = (0..50).map(|index| review(&format!("plan-{index}"), &plan)).collect();
    let text = markdown_comment(&many, options);
    assert!(text.contains("### 50 plans: "), "{text}");
    assert!(text.contains(" more plans | | | | | |"), "{text}");
    let (_, note) = text.split_once("\n_Not in this comment: ").unwrap();
    let count: usize = note.split(' ').next().unwrap().parse().unwrap();
    let shown = text.matches("aws_s3_bucket.audit").count();
    assert!(shown > 0 && count + shown <= 50 * 400 && count > 50 * 390, "{text}");
    assert!(note.contains(" differences of changes"), "{text}");
    // Outputs and changes outside of the configuration that do not fit are counted.
    let outputs: Vec<String> = (0..100)
        .map(|index| {
            format!("\"output-{index}\": {{\"actions\": [\"create\"], \"before\": null, \"after\": {index}}}")
        })
        .collect();
    let json = format!("{{\"format_version\": \"1.2\", \"output_changes\": {{{}}}}}", outputs.join(","));
    let text = markdown_comment(&[review("p", &json)], options);
    let shown = text.matches("- create `output-").count();
    assert!(shown > 10 && text.contains("- create `output-0` = `0`\n"), "{text}");
    let note =
        format!("{} actions, outputs, changes outside of the configuration and providers", 100 - shown);
    assert!(text.contains(&note), "{note}:\n{text}");
}

#[test]
fn drift_is_listed() {
    let plan = testing::five_plans().into_iter().find(|plan| plan.name == "drift").unwrap();
    let text = markdown_comment(&[review("p", &plan.json)], both()[0]);
    let (_, drift) = text.split_once("\n#### Changed outside of the configuration\n\n").unwrap();
    for line in [
        "- changed: `aws_security_group_rule.rule[0]` `cidr` `\"10.0.0.0/8\"` \u{2192} `\"0.0.0.0/0\"`\n",
        "- destroyed: `aws_iam_user.ops`\n",
        "\n#### Providers\n\n- `registry.terraform.io/hashicorp/aws`: 42 changes\n",
    ] {
        assert!(drift.contains(line), "{line}:\n{drift}");
    }
}

#[test]
fn members_with_other_values_are_shown() {
    let json = testing::plan_with_differing_members();
    let text = markdown_comment(&[review("p", &json)], both()[0]);
    let (address, value) = testing::ODD_RULE;
    assert!(
        text.contains("- 30 \u{d7} `aws_security_group_rule` `cidr`, `release` `\"v1\"` \u{2192} `\"v2\"` (2 different changes): "),
        "{text}"
    );
    let odd = format!(
        "# {address}\n- cidr = \"192.168.0.0/16\"\n+ cidr = \"{value}\"\n# aws_security_group_rule.rule[0]\n"
    );
    assert!(text.contains(&odd), "{text}");
    for part in [
        "# aws_instance.moved[2]; it was moved from aws_instance.old[2]\n",
        "# aws_instance.imported[1]; it is imported with the ID i-1\n",
        "# aws_instance.moved[1]; it is the deposed object 00000001\n",
        "`aws_iam_user.gone` \u{2014} the resource is not in the configuration\n",
        "`aws_iam_user.team[\"x\"]` \u{2014} the key is not in for_each\n",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    // Without room for all values, the rare one is shown.
    let text = markdown_comment(&[review("p", &json)], CommentOptions { limit: 3_000, ..both()[0] });
    assert!(text.contains(&format!("+ cidr = \"{value}\"")), "{text}");
}

#[test]
fn long_values_that_differ_look_different() {
    let long = "x".repeat(5_000);
    let plan = |start: &str| {
        format!(
            "{{\"format_version\":\"1.2\",\"resource_changes\":[{{\"address\":\"a.b\",\"change\":{{\"actions\":\
             [\"update\"],\"before\":{{\"v\":\"{start}{long}1\"}},\"after\":{{\"v\":\"{start}{long}2\"}}}}}}]}}"
        )
    };
    let text = markdown_comment(&[review("p", &plan("a\\n"))], both()[0]);
    for line in ["\n-   ", "\n+   "] {
        assert!(text.contains(&format!("{line}(4970 equal characters)...{}", "x".repeat(30))), "{text}");
    }
    let json = plan("");
    let text = markdown_comment(&[review("p", &json)], both()[0]);
    for end in ["1\"\n+ v", "2\"\n```"] {
        assert!(text.contains(&format!("(4971 equal characters)...{}{end}", "x".repeat(30))), "{text}");
    }
}

/// Returns a comment without code spans, code blocks and `<code>` elements, as a parser of GitHub's
/// Markdown finds them.
fn without_code(text: &str) -> String {
    let mut rest = String::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let run: String = line.chars().take_while(|character| *character == '`').collect();
        match &fence {
            Some(open) => {
                if run.len() >= open.len() && line.trim() == run {
                    fence = None;
                }
                continue;
            }
            None if run.len() >= 3 && !line[run.len()..].contains('`') => {
                fence = Some(run);
                continue;
            }
            None => {}
        }
        let mut left = line;
        while let Some(at) = left.find('`') {
            rest.push_str(&left[..at]);
            let after = &left[at..];
            let length = after.len() - after.trim_start_matches('`').len();
            let body = &after[length..];
            let ticks = "`".repeat(length);
            let end = body
                .match_indices(&ticks)
                .map(|(at, _)| at)
                .find(|at| !body[..*at].ends_with('`') && !body[at + length..].starts_with('`'));
            let end = end.unwrap_or_else(|| panic!("an open code span: {line}"));
            left = &body[end + length..];
        }
        rest.push_str(left);
        rest.push('\n');
    }
    assert!(fence.is_none(), "an open code block");
    while let Some(start) = rest.find("<code>") {
        let end = rest[start..].find("</code>").unwrap() + start + "</code>".len();
        assert!(!rest[start + 6..end - 7].contains(['<', '>']));
        rest.replace_range(start..end, "");
    }
    rest
}

#[test]
fn hostile_text_is_inert() {
    let reviews = [review("p`\n--> <b>", &testing::hostile_plan()), review("q", &testing::hostile_plan())];
    for options in both() {
        let text = markdown_comment(&reviews, options);
        let active = without_code(&text);
        for forbidden in
            ["script", "attack", "javascript", "@everyone", "Approved", "http", "](", "topsecret"]
        {
            assert!(!active.contains(forbidden), "{forbidden}:\n{active}");
        }
        assert!(!text.contains("topsecret"));
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}', '\u{9b}']));
        assert_eq!(active.matches("<!--").count(), 1);
        assert_eq!(active.matches("-->").count(), 1);
        for line in active.lines() {
            assert!(!line.starts_with('/'), "a quick action of GitLab: {line}");
        }
    }
}

#[test]
fn denied_accesses_are_listed() {
    let plan = testing::five_plans().swap_remove(0);
    let access = |is_denied, target: &str| wardian_review::PluginAccess {
        is_denied,
        plugin: "registry.terraform.io/hashicorp/http".into(),
        capability: "network".into(),
        target: target.into(),
        count: 3,
        reason: None,
        rule: None,
        objects: Box::default(),
    };
    let review = review("p", &plan.json)
        .with_accesses(vec![access(false, "https://a.example"), access(true, "https://`b`.example")]);
    let text = markdown_comment(&[review], both()[0]);
    assert!(
        text.contains(
            "- accesses of plugins: 1 allowed, 1 denied\n\
             - policy denied `registry.terraform.io/hashicorp/http` the access to ``https://`b`.example``\n"
        ),
        "{text}"
    );
}

#[test]
fn marker_depends_only_on_the_title() {
    let [first, second] = ["small", "drift"].map(|name| {
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == name).unwrap();
        let text = markdown_comment(&[review("infra/prod.plan", &plan.json)], both()[0]);
        text.lines().next().unwrap().to_owned()
    });
    assert_eq!(first, second);
    assert_eq!(first, "<!-- wardian-plan: infra/prod.plan -->");
}

#[test]
fn markers_of_different_titles_are_different() {
    let plan = testing::requested_invocation();
    let marker = |titles: &[String]| {
        let reviews: Vec<Review> = titles.iter().map(|title| review(title, &plan)).collect();
        markdown_comment(&reviews, both()[0]).lines().next().unwrap().to_owned()
    };
    let titles = |last: &str| ["a", "b", "c", "d", last].map(str::to_owned).to_vec();
    let (one, other) = (marker(&titles("e")), marker(&titles("f")));
    assert!(one.starts_with("<!-- wardian-plan: a b c d +1 #"), "{one}");
    assert_ne!(one, other);
    assert_eq!(one, marker(&titles("e")));
    let long = |end: &str| marker(&[format!("{}{end}", "a".repeat(300))]);
    assert_ne!(long("1"), long("2"));
    // The boundaries between titles matter.
    let all = |titles: &[&str]| marker(&titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>());
    assert_ne!(all(&["a", "b", "c", "d", "ef", "g"]), all(&["a", "b", "c", "d", "e", "fg"]));
}

#[test]
fn groups_and_causes_are_shown() {
    let plan = |name: &str| {
        let plan = testing::five_plans().into_iter().find(|plan| plan.name == name).unwrap();
        markdown_comment(&[review(name, &plan.json)], both()[0])
    };
    let text = plan("instances");
    assert!(
        text.contains("- 300 \u{d7} `aws_instance` `tags.release` `\"v1\"` \u{2192} `\"v2\"`: "),
        "{text}"
    );
    assert!(text.contains("the key is not in for_each"), "{text}");
    let text = plan("cascade");
    assert!(
        text.contains("`cidr_block` forces the replacement; `cidr_block` depends on `var.cidr`"),
        "{text}"
    );
    let text = plan("small");
    assert!(text.contains("- password = (sensitive value)"), "{text}");
}

#[test]
fn right_to_left_text_is_isolated() {
    for options in both() {
        let text = markdown_comment(&[review("p", &testing::wide_plan())], options);
        for line in text.lines() {
            let mut is_open = false;
            for character in line.chars() {
                match character {
                    '\u{2068}' | '\u{2069}' => {
                        assert_eq!(is_open, character == '\u{2069}', "{line}");
                        is_open = !is_open;
                    }
                    'א'..='ת' | 'ء'..='ي' => assert!(is_open, "{line}"),
                    _ => {}
                }
            }
            assert!(!is_open, "{line}");
        }
        for name in testing::WIDE_TEXTS {
            assert!(text.contains(name), "{name}:\n{text}");
        }
    }
}

#[test]
fn actions_checks_and_warnings_are_shown() {
    let warning = wardian_review::ReviewWarning {
        summary: "A `warning`".into(),
        detail: "Detail".into(),
        source: None,
    };
    let review_of = |json: &str| review("p", json);
    let review = review_of(&testing::plan_with_actions()).with_warnings(vec![warning]);
    let text = markdown_comment(&[review], both()[0]);
    for part in [
        "### Plan: 1 to replace, 30 to update, 30 actions to invoke\n",
        "- Check failed: `check.website` `The website does not respond.`\n",
        "- checks: 1 passed, 1 failed, 1 could not be evaluated, 1 evaluated during the apply\n",
        "- warning: `` A `warning` ``\n",
        "; invokes `action.aws_ssm_command.restart` after it is updated\n",
        "\n#### Actions\n\n- `action.aws_lambda_invoke.restore` after it is created: `aws_db_instance.main` \u{2014} \
         `function_name` = `\"restore\"`, `id` = `(known after apply)`, `payload.token` = `(sensitive value)`\n\
         - 29 \u{d7} `action.aws_ssm_command.restart` after it is updated: `aws_instance.node[0]`, ",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("topsecret"));
    let text = markdown_comment(&[review_of(&testing::requested_invocation())], both()[1]);
    assert!(
        text.contains("### Plan: 1 action to invoke") && text.contains("requested with `-invoke`"),
        "{text}"
    );
}
