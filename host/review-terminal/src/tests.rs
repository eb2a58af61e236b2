use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use wardian_printable::direction::{ISOLATE_END, ISOLATE_START};
use wardian_printable::escape::is_deceptive;
use wardian_review::testing::{
    ODD_RULE, WIDE_TEXTS, five_plans, hostile_plan, large, plan_with_actions, plan_with_differing_members,
    wide_plan,
};
use wardian_review::{ConfigurationFacts, PluginAccess, Review, ReviewWarning, SourcePosition};

use super::*;

const SETTINGS: ViewSettings =
    ViewSettings { has_color: true, approval: ViewApproval::Apply, has_editor: true };

fn review(json: &str) -> std::sync::Arc<Review> {
    let mut facts = ConfigurationFacts::default();
    let position = SourcePosition { file: "main.tf".into(), line: 12 };
    facts.positions.insert("aws_db_instance.main".to_owned(), position);
    std::sync::Arc::new(Review::from_json("plan", json.as_bytes(), &facts).unwrap())
}

fn plan(name: &str) -> std::sync::Arc<Review> {
    review(&five_plans().iter().find(|plan| plan.name == name).unwrap().json)
}

/// A view with a terminal in memory.
struct Screen {
    view: ReviewView,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    fn new(review: &std::sync::Arc<Review>, width: u16, height: u16) -> Self {
        let view = ReviewView::new(std::sync::Arc::clone(review), SETTINGS);
        let mut screen = Self { view, terminal: Terminal::new(TestBackend::new(width, height)).unwrap() };
        screen.draw();
        screen
    }

    fn draw(&mut self) {
        let view = &mut self.view;
        self.terminal
            .draw(|frame| {
                view.draw(frame.buffer_mut());
            })
            .unwrap();
    }

    fn press(&mut self, keys: &str) -> ViewEffect {
        let mut effect = ViewEffect::Draw;
        for character in keys.chars() {
            effect = self.key(match character {
                '\n' => ViewKey::Enter,
                '\t' => ViewKey::Tab,
                '\u{1b}' => ViewKey::Escape,
                '\u{8}' => ViewKey::Backspace,
                '↓' => ViewKey::Down,
                '↑' => ViewKey::Up,
                '→' => ViewKey::Right,
                '←' => ViewKey::Left,
                other => ViewKey::Char(other),
            });
        }
        effect
    }

    fn key(&mut self, key: ViewKey) -> ViewEffect {
        let effect = self.view.press(key);
        self.draw();
        effect
    }

    fn text(&self) -> String {
        let buffer = self.terminal.backend().buffer();
        let area = buffer.area();
        let mut text = String::new();
        for y in 0..area.height {
            let mut line = String::new();
            let mut skipped = 0;
            for x in 0..area.width {
                let symbol = buffer[(x, y)].symbol();
                if skipped == 0 {
                    line.push_str(symbol);
                    skipped = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
                } else {
                    skipped -= 1;
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    #[track_caller]
    fn shows(&self, part: &str) {
        assert!(self.text().contains(part), "{part}\n{}", self.text());
    }
}

#[test]
fn views_at_three_widths() {
    for width in [60, 80, 120] {
        let mut screen = Screen::new(&plan("small"), width, 24);
        insta::assert_snapshot!(format!("small-{width}"), screen.text());
        screen.press("?");
        insta::assert_snapshot!(format!("help-{width}"), screen.text());
        let mut screen = Screen::new(&plan("cascade"), width, 24);
        insta::assert_snapshot!(format!("cascade-{width}"), screen.text());
        screen.press("g");
        insta::assert_snapshot!(format!("graph-{width}"), screen.text());
        let mut screen = Screen::new(&plan("instances"), width, 24);
        screen.press("↓");
        insta::assert_snapshot!(format!("group-{width}"), screen.text());
        let screen = Screen::new(&plan("drift"), width, 24);
        insta::assert_snapshot!(format!("drift-{width}"), screen.text());
    }
}

#[test]
fn other_views_at_two_sizes() {
    for (width, height) in [(20, 5), (80, 24)] {
        let size = format!("{width}x{height}");
        let mut screen = Screen::new(&review_with_findings(), width, height);
        insta::assert_snapshot!(format!("browse-{size}"), screen.text());
        screen.press("f");
        insta::assert_snapshot!(format!("findings-{size}"), screen.text());
        screen.press("xh ");
        insta::assert_snapshot!(format!("hide-{size}"), screen.text());
        screen.press("\u{1b}a");
        insta::assert_snapshot!(format!("confirm-{size}"), screen.text());
        screen.press("\u{1b}x/main");
        insta::assert_snapshot!(format!("search-{size}"), screen.text());
    }
}

#[test]
fn groups_show_members_with_other_values() {
    let review = review(&plan_with_differing_members());
    let (address, value) = ODD_RULE;
    let mut screen = Screen::new(&review, 160, 40);
    screen.press("/security_group_rule\n");
    screen.shows("▸ ~ 30× aws_security_group_rule");
    screen.shows("~ cidr: different values");
    screen.shows("~ release: \"v1\" → \"v2\"");
    let text = screen.text();
    let odd = text.find(&format!("[1] {address}")).unwrap();
    assert!(text[odd..].contains(&format!("~ cidr: \"192.168.0.0/16\" → \"{value}\"")), "{text}");
    screen.shows("[2] aws_security_group_rule.rule[0] and 28 more");
    screen.shows("~ cidr: \"192.168.0.0/16\" → \"10.0.0.0/8\"");
    // A hidden attribute is no different value.
    screen.press("h \u{1b}");
    assert!(!screen.text().contains("Different values"), "{}", screen.text());
    screen.press("x/moved\n");
    screen.key(ViewKey::Home);
    screen.shows("[1] aws_instance.moved[0], deposed object 00000000");
    screen.press("↓");
    screen.shows("[2] aws_instance.moved[1], moved from aws_instance.old[1]");
    screen.press("x/imported\n");
    screen.shows("[3] aws_instance.imported[2], imported with the ID i-2");
    screen.press("x/iam_user\n");
    screen.shows("- destroy: the resource is not in the configuration");
    screen.press("↓");
    screen.shows("- destroy: the key is not in for_each");
}

#[test]
fn confirmation_states_what_the_filter_hides() {
    let mut screen = Screen::new(&plan("instances"), 60, 24);
    screen.press("u");
    assert!(screen.text().starts_with(" only: update │ 1 destroy, "), "{}", screen.text());
    screen.press("a");
    screen.shows(" Apply with 1 change hidden? Type yes:");
    screen.press("\u{1b}xh \u{1b}");
    assert!(screen.text().starts_with(" 1 attribute hidden │ "), "{}", screen.text());
    screen.press("a");
    screen.shows(" Apply with 300 changes hidden? Type yes:");
    screen.press("\u{1b}xa");
    screen.shows(" Apply the plan? Type yes:");
    let mut screen = Screen::new(&plan("instances"), 60, 24);
    screen.press("/a long text that nothing contains\n");
    assert!(screen.text().starts_with(" only: /…t that nothing contains │ "), "{}", screen.text());
}

/// Returns a plan with one update from a text to another one.
fn update(before: &str, after: &str) -> std::sync::Arc<Review> {
    review(&format!(
        "{{\"format_version\":\"1.2\",\"resource_changes\":[{{\"address\":\"a.b\",\"change\":{{\
         \"actions\":[\"update\"],\"before\":{{\"t\":{before:?}}},\"after\":{{\"t\":{after:?}}}}}}}]}}"
    ))
}

#[test]
fn differences_of_texts_are_visible() {
    let screen = Screen::new(&update("a\r\nb\n", "a\nb"), 80, 24);
    screen.shows("    - a\\r");
    screen.shows("    + a");
    screen.shows("    - (line break at the end)");
    // Lines after the first 200 ones are compared.
    let lines = |end: &str| format!("{}{end}", "same\n".repeat(300));
    let screen = Screen::new(&update(&lines("old"), &lines("new")), 80, 24);
    screen.shows("    - old");
    screen.shows("    + new");
    // Both sides of long texts without equal lines are shown.
    let lines = |start: &str| (0..600).map(|index| format!("{start}{index}")).collect::<Vec<_>>().join("\n");
    let mut screen = Screen::new(&update(&lines("x"), &lines("y")), 80, 600);
    screen.press("\t");
    screen.shows("    - x199");
    screen.shows("    + y199");
    screen.shows("      and 800 more lines");
    // Long texts in one line that differ at their ends look different.
    let long = |end: &str| format!("{}{end}", "z".repeat(5000));
    let screen = Screen::new(&update(&long("1"), &long("2")), 250, 40);
    screen.shows("zzzz1\" (5001 bytes) → ");
    screen.shows("zzzz2\" (5001 bytes)");
    let screen = Screen::new(&update(&format!("a\n{}", long("1")), &format!("a\n{}", long("2"))), 250, 40);
    screen.shows("- …(4970 equal characters)zzz");
}

#[test]
fn dangerous_change_is_on_the_first_screen() {
    for plan in five_plans() {
        let review = review(&plan.json);
        for (width, height) in [(60, 24), (80, 24), (120, 40)] {
            let screen = Screen::new(&review, width, height);
            assert!(
                screen.text().contains(plan.dangerous),
                "{}: {}\n{}",
                plan.name,
                plan.dangerous,
                screen.text()
            );
        }
    }
}

#[test]
fn filters_select_rows() {
    let mut screen = Screen::new(&plan("large"), 100, 30);
    screen.shows("module.storage.aws_s3_bucket.audit");
    screen.press("u");
    screen.shows("only: update");
    assert!(!screen.text().contains("aws_s3_bucket"), "{}", screen.text());
    screen.press("u/AUDIT");
    screen.shows("Search: AUDIT");
    screen.press("\n");
    screen.shows("1/1");
    screen.press("x");
    assert!(!screen.text().contains("only:"));
    screen.press("/no such thing");
    screen.shows("No change matches.");
    screen.press("\u{1b}");
    screen.shows("aws_s3_bucket");
}

#[test]
fn hidden_attributes_remove_updates() {
    let mut screen = Screen::new(&plan("instances"), 80, 24);
    screen.shows("300× aws_instance");
    screen.press("h");
    screen.shows("[shown]  tags.release");
    screen.press(" \u{1b}");
    assert!(!screen.text().contains("300× aws_instance"), "{}", screen.text());
    screen.shows("1 attribute hidden");
    screen.shows("aws_ebs_volume.data");
    screen.press("h \u{1b}");
    screen.shows("300× aws_instance");
}

#[test]
fn groups_are_folded_and_unfolded() {
    let mut screen = Screen::new(&plan("instances"), 80, 24);
    screen.press("↓→");
    screen.shows("▾ ~ 300× aws_instance");
    screen.shows("aws_instance.node[0]");
    screen.press("↓↓←");
    screen.shows("▸ ~ 300× aws_instance");
    screen.press("+");
    screen.shows("2/302");
    screen.key(ViewKey::End);
    screen.shows("302/302");
    screen.press("-");
    screen.shows("/2");
}

#[test]
fn references_are_followed_and_returned_from() {
    let mut screen = Screen::new(&plan("cascade"), 120, 40);
    screen.press("/subnet\n");
    screen.shows("aws_subnet");
    screen.press("1");
    let before = screen.text();
    screen.press("9");
    screen.shows("There is no reference with the number 9.");
    screen.press("\u{8}");
    assert_ne!(screen.text(), before);
    screen.press("xg→\n");
    screen.shows("vpc_id");
}

#[test]
fn approval_requires_yes() {
    let mut screen = Screen::new(&plan("small"), 60, 24);
    assert_eq!(screen.press("ay\n"), ViewEffect::Draw);
    screen.shows("so nothing was approved.");
    assert_eq!(screen.press("ayes\u{1b}"), ViewEffect::Draw);
    assert_eq!(screen.press("a"), ViewEffect::Draw);
    screen.shows("Apply the plan? Type yes:");
    assert_eq!(screen.press("yes\n"), ViewEffect::Approve);
    assert_eq!(screen.press("q"), ViewEffect::Quit);
    screen.view.settings.approval = ViewApproval::None;
    assert_eq!(screen.press("ayes\n"), ViewEffect::Draw);
    screen.view.press(ViewKey::Escape);
    screen.press("a");
    screen.shows("Nothing can be approved here");
}

#[test]
fn source_is_opened_if_an_editor_is_allowed() {
    let mut screen = Screen::new(&plan("small"), 80, 24);
    let source = SourcePosition { file: "main.tf".into(), line: 12 };
    screen.shows("main.tf:12");
    assert_eq!(screen.press("s"), ViewEffect::OpenSource(source));
    screen.view.settings.has_editor = false;
    assert_eq!(screen.press("s"), ViewEffect::Draw);
    screen.shows("No editor is started");
}

#[test]
fn sensitive_values_are_masked() {
    let mut screen = Screen::new(&plan("small"), 80, 40);
    screen.shows("(sensitive value)");
    screen.press("+\t");
    assert!(!screen.text().contains("hunter2"));
}

/// Returns a line without the characters that isolate text. They must form pairs that are not nested, and
/// no right-to-left text may be outside of a pair.
#[track_caller]
fn without_isolates(line: &str) -> String {
    let mut is_open = false;
    for character in line.chars() {
        match character {
            ISOLATE_START | ISOLATE_END => {
                assert_eq!(is_open, character == ISOLATE_END, "{line:?}");
                is_open = !is_open;
            }
            _ => assert!(
                is_open || !wardian_printable::direction::has_right_to_left(&character.to_string()),
                "{line:?}"
            ),
        }
    }
    assert!(!is_open, "{line:?}");
    line.replace([ISOLATE_START, ISOLATE_END], "")
}

#[test]
fn wide_and_right_to_left_text_is_shown_and_isolated() {
    let review = review(&wide_plan());
    for (width, height) in [(60, 24), (20, 5), (120, 40)] {
        let mut screen = Screen::new(&review, width, height);
        let mut seen = String::new();
        for _ in 0..screen.view.rows.len() {
            for key in ["", "\t", "\t", "g", "\u{1b}", "h", "\u{1b}", "/שלום ", "\u{1b}"] {
                screen.press(key);
                // Unlike a terminal, the backend keeps what was in the second column of a wide character.
                screen.terminal.clear().unwrap();
                screen.draw();
                let text = screen.text();
                for line in text.lines() {
                    let line = without_isolates(line);
                    assert!(unicode_width::UnicodeWidthStr::width(&*line) <= usize::from(width), "{line:?}");
                    seen.push_str(&line);
                    seen.push('\n');
                }
            }
            screen.press("↓");
        }
        if width >= 60 {
            for text in WIDE_TEXTS {
                assert!(seen.contains(text), "{text} {width}");
            }
        }
    }
    let mut screen = Screen::new(&review, 60, 24);
    screen.key(ViewKey::End);
    screen.press("\u{1b}");
    insta::assert_snapshot!("wide-60", screen.text().replace(ISOLATE_START, "⟨").replace(ISOLATE_END, "⟩"));
}

/// Returns a plan with actions, checks, a warning and accesses.
fn review_with_findings() -> std::sync::Arc<Review> {
    let access = |is_denied, target: &str| PluginAccess {
        is_denied,
        plugin: "hashicorp/http".into(),
        capability: "network".into(),
        target: target.into(),
        count: 2,
        reason: is_denied.then(|| "No rule allows the request.".into()),
        rule: (!is_denied).then(|| "wardian.policy.hcl:3".into()),
        objects: Box::new(["data.http.a".into()]),
    };
    let warning = ReviewWarning {
        summary: "Native plugin is not confined".into(),
        detail: "The plugin\u{1b}[2J can read all files.".into(),
        source: Some(SourcePosition { file: "main.tf".into(), line: 3 }),
    };
    let review = Review::from_json("plan", plan_with_actions().as_bytes(), &ConfigurationFacts::default())
        .unwrap()
        .with_accesses(vec![access(false, "https://a.example"), access(true, "https://b.example")])
        .with_warnings(vec![warning]);
    std::sync::Arc::new(review)
}

#[test]
fn actions_checks_warnings_and_accesses_are_shown() {
    let mut screen = Screen::new(&review_with_findings(), 120, 40);
    screen.shows("30 actions  2 checks failed  1 access denied  1 warning");
    screen.shows("29× aws_instance  tags.release  invokes actions");
    screen.shows("action.aws_lambda_invoke.restore, after it is created");
    screen.press("f");
    screen.shows("only: findings");
    assert!(!screen.text().contains("29× aws_instance"), "{}", screen.text());
    let mut seen = String::new();
    for _ in 0..screen.view.rows.len() {
        seen.push_str(&screen.text());
        screen.press("↓");
    }
    seen.push_str(&screen.text());
    for part in [
        "failed check.website",
        "The website does not respond.",
        "error output.url",
        "warning Native plugin is not confined",
        "The plugin\\u{1b}[2J can read all files.",
        "29× action.aws_ssm_command.restart  after it is updated",
        "payload.token = (sensitive value)",
        "denied network https://b.example",
        "No rule allows the request.",
        "rule: wardian.policy.hcl:3",
        "data.http.a",
    ] {
        assert!(seen.contains(part), "{part}\n{seen}");
    }
    assert!(!seen.contains("topsecret"));
    // The object whose change triggers an action can be followed.
    screen.press("x/restore\n1");
    screen.shows("-/+ replace, destroyed first");
}

#[test]
fn hostile_text_is_inert_and_aligned() {
    let review = review(&hostile_plan());
    for (width, height) in [(20, 5), (60, 24), (120, 40)] {
        let mut screen = Screen::new(&review, width, height);
        screen.press("+");
        for step in 0..screen.view.rows.len() {
            screen.press("↓");
            for key in ["", "\t", "\t", "g", "\u{1b}", "h", "\u{1b}"] {
                screen.press(key);
                let text = screen.text();
                for line in text.lines() {
                    let without = without_isolates(line);
                    assert!(
                        !without.contains(|one| is_deceptive(one) && one != '\u{200d}'),
                        "{step} {line:?}"
                    );
                    let used = unicode_width::UnicodeWidthStr::width(line);
                    assert!(used <= usize::from(width), "{step} {line:?}");
                }
                assert!(!text.contains("topsecret"), "{text}");
                if width == 120 && matches!(screen.view.mode, view::Mode::Browse) {
                    let buffer = screen.terminal.backend().buffer();
                    assert!((1..height - 1).all(|y| buffer[(60, y)].symbol() == "│"), "{text}");
                }
            }
        }
    }
}

#[test]
fn every_size_is_possible() {
    let review = review(&large(300));
    for width in (1..30).chain([60, 99, 100, 200]) {
        for height in (1..16).chain([50]) {
            let mut screen = Screen::new(&review, width, height);
            for keys in ["↓↓", "\t↓", "\t", "?↓\u{1b}", "g→↓\u{1b}", "h↓\u{1b}", "/a\n", "ayes\u{1b}"]
            {
                screen.press(keys);
            }
        }
    }
    let screen = Screen::new(&review, 20, 5);
    screen.shows("destroy");
    screen.shows("bucket.audit");
    let screen = Screen::new(&review, 10, 3);
    screen.shows("Enlarge");
}

#[test]
fn screen_without_color_has_none() {
    let view = ReviewView::new(plan("cascade"), ViewSettings { has_color: false, ..SETTINGS });
    let mut screen = Screen { view, terminal: Terminal::new(TestBackend::new(80, 24)).unwrap() };
    for keys in ["", "g", "\u{1b}h", "\u{1b}?"] {
        screen.press(keys);
        screen.draw();
        let cells = &screen.terminal.backend().buffer().content;
        let reset = ratatui_core::style::Color::Reset;
        assert!(cells.iter().all(|cell| cell.fg == reset && cell.bg == reset));
    }
}

#[test]
fn empty_plan_is_shown() {
    let json = r#"{"format_version": "1.2", "resource_changes": [], "complete": true, "errored": false}"#;
    let mut screen = Screen::new(&review(json), 60, 24);
    screen.shows("The plan has no changes.");
    screen.press("↓↑→←1\u{8}gs\u{1b}h \u{1b}/x\n");
}

#[test]
fn frame_does_not_visit_the_whole_plan() {
    // Drawing visits only visible rows: a frame without changes of the filter leaves the rows as they are.
    let mut screen = Screen::new(&review(&large(2000)), 80, 24);
    screen.press("+");
    let rows = screen.view.rows.as_ptr();
    screen.key(ViewKey::PageDown);
    screen.key(ViewKey::Down);
    assert_eq!(screen.view.rows.as_ptr(), rows);
}

/// Set `WARDIAN_RECORD=1` to write the screenshot and the keys to the documentation.
#[test]
fn documentation_shows_the_view_and_its_keys() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/review.md");
    let screen = Screen::new(&plan("cascade"), 80, 22);
    let screenshot = format!("<!-- screenshot -->\n\n```text\n{}```\n", screen.text());
    let rows = help::KEYS.iter().fold(String::new(), |mut rows, (keys, effect)| {
        rows.extend(["| ", *keys, " | ", *effect, " |\n"]);
        rows
    });
    let keys = format!("<!-- keys -->\n\n| keys | effect |\n|---|---|\n{rows}");
    let document = std::fs::read_to_string(&path).unwrap();
    let mut expected = document.clone();
    for (mark, part) in [("<!-- screenshot -->\n", &screenshot), ("<!-- keys -->\n", &keys)] {
        let start = expected.find(mark).unwrap();
        let end = expected[start..].find("\n\n<!-- end -->").unwrap() + start;
        expected.replace_range(start..end, part.trim_end());
    }
    if std::env::var_os("WARDIAN_RECORD").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(document, expected);
    }
}
