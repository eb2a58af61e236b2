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

#[test]
fn limit_is_kept() {
    let plans: Vec<Review> = testing::five_plans().iter().map(|plan| review(plan.name, &plan.json)).collect();
    for limit in [CommentOptions::MIN_LIMIT, 3_000, 10_000, 64_000] {
        for reviews in [&plans[4..], &plans[..]] {
            let text = markdown_comment(reviews, CommentOptions { format: CommentFormat::GitHub, limit });
            assert!(text.encode_utf16().count() <= limit, "{limit}: {}", text.len());
            assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        }
    }
    let hostile: Vec<Review> =
        (0..40).map(|index| review(&format!("{index}\n`"), &testing::hostile_plan())).collect();
    for limit in [CommentOptions::MIN_LIMIT, 20_000] {
        let text = markdown_comment(&hostile, CommentOptions { format: CommentFormat::GitLab, limit });
        assert!(text.encode_utf16().count() <= limit, "{limit}: {}", text.len());
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
            "- policy denied `registry.terraform.io/hashicorp/http` the access to ``https://`b`.example``\n\
             - accesses of plugins: 1 allowed, 1 denied\n"
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
