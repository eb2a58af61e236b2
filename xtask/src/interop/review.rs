//! Tests the page of `show -html` in headless Chromium, and writes the screenshots of the
//! documentation.

use std::fs::{self, File};
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::browser::{self, Browser, TAB};
use crate::process;
use crate::progress::say;
use crate::review_plans::{self, ReviewPlan};
use crate::workspace::Workspace;

/// Functions that the checks in the page use.
const FUNCTIONS: &str = r#"
const status = () => document.getElementById("status").textContent;
const shown = () => [...document.querySelectorAll("article.change")].filter((change) => !change.hidden);
const kinds = () => [...new Set(shown().map((change) => change.dataset.kind))].sort().join(" ");
const input = (element) => element.dispatchEvent(new Event("input", {bubbles: true}));
const toggle = (name, value) => {
  const box = [...document.querySelectorAll(`input[name=${name}]`)].find((box) => box.value === value);
  box.click();
};
const search = (text) => { const query = document.getElementById("query"); query.value = text; input(query); };
"#;

/// The host of all addresses in the hostile plan.
const HOST: &[u8] = b"attacker.invalid";

/// The options of the command.
pub(crate) struct Options {
    /// The binary to run. By default, the one that this command builds.
    pub(crate) binary: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        match arguments {
            [] => Ok(Self { binary: None }),
            [option, path] if option == "--binary" => Ok(Self { binary: Some(fs::canonicalize(path)?) }),
            _ => bail!("`interop review` accepts only --binary PATH"),
        }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    if let Some(reason) = browser::missing() {
        say(&format!("skipped: {reason}"));
        return Ok(ExitCode::SUCCESS);
    }
    let place = workspace.own_target().join("interop/review");
    let plans = review_plans::write(workspace, &place)?;
    let wardian = options.binary.clone().unwrap_or_else(|| workspace.host_program("wardian"));
    for plan in &plans {
        write_page(&wardian, &place, &[&plan.name], &plan.name)?;
    }
    write_page(&wardian, &place, &["small", "cascade", "hostile"], "several")?;
    let (requests, port) = count_requests()?;
    let resolver = format!("--host-resolver-rules=MAP * 127.0.0.1:{port}");
    let browser = Browser::start(&[&resolver])?;
    for plan in plans.iter().filter(|plan| !plan.dangerous.is_empty()) {
        check_first_screen(&browser, &place, plan)?;
    }
    check_filters(&browser, &place)?;
    check_hidden_attributes(&browser, &place)?;
    check_differing_members(&browser, &place)?;
    check_links(&browser, &place)?;
    check_tab_order(&browser, &place)?;
    check_accessibility(&browser, &place)?;
    check_directions(&browser, &place)?;
    check_actions(&browser, &place)?;
    for name in ["hostile", "several"] {
        check_hostile(&browser, &place, name)?;
    }
    ensure!(requests.load(Ordering::SeqCst) == 0, "the page sent a request");
    // The browser reports that there is no response, but the request is counted.
    let _ = browser.open("http://attacker.invalid/control");
    ensure!(requests.load(Ordering::SeqCst) > 0, "a request of the browser was not counted");
    drop(browser);
    say("hostile: no script ran, no request was sent");
    check_without_script(&place)?;
    screenshots(workspace, &place)?;
    Ok(ExitCode::SUCCESS)
}

fn url(place: &Path, name: &str) -> String {
    format!("file://{}", place.join(format!("{name}.html")).display())
}

fn write_page(wardian: &Path, place: &Path, plans: &[&str], name: &str) -> Result<()> {
    let mut command = Command::new(wardian);
    command.args(["show", "-html"]).args(plans.iter().map(|plan| format!("{plan}.json")));
    command.current_dir(place).stdout(File::create(place.join(format!("{name}.html")))?);
    process::without_settings(&mut command);
    process::run(&mut command)
}

/// Counts the requests to the host in the hostile plan. The browser resolves all names to a local port.
fn count_requests() -> Result<(Arc<AtomicUsize>, u16)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // The browser has requests of its own. Names are readable in requests and in TLS handshakes.
            let _ = connection.set_read_timeout(Some(Duration::from_secs(1)));
            let mut start = [0; 4096];
            let length = connection.read(&mut start).unwrap_or_default();
            let is_of_page = start[..length].windows(HOST.len()).any(|bytes| bytes == HOST);
            counted.fetch_add(usize::from(is_of_page), Ordering::SeqCst);
        }
    });
    Ok((count, port))
}

fn evaluate(browser: &Browser, body: &str) -> Result<Value> {
    browser.evaluate(&format!("{FUNCTIONS}\n{body}")).with_context(|| body.to_owned())
}

fn expect(browser: &Browser, body: &str, expected: &str) -> Result<()> {
    let found = evaluate(browser, body)?;
    let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    ensure!(found == expected, "{body}\n  returned {found}\n  instead of {expected}");
    Ok(())
}

fn check_first_screen(browser: &Browser, place: &Path, plan: &ReviewPlan) -> Result<()> {
    browser.open(&url(place, &plan.name))?;
    let address = serde_json::to_string(&plan.dangerous)?;
    expect(
        browser,
        &format!(
            "const found = [...document.querySelectorAll('summary code')].find((code) => code.textContent === {address});
             const box = found.getBoundingClientRect();
             return box.top >= 0 && box.bottom <= innerHeight && found.checkVisibility();"
        ),
        "true",
    )?;
    let count = plan.changes;
    expect(browser, "return document.querySelectorAll('main [id^=p0c]').length;", &count.to_string())?;
    expect(browser, "return status().replaceAll(',', '');", &format!("{count} of {count} changes"))?;
    say(&format!("{}: {count} changes, and {} is on the first screen", plan.name, plan.dangerous));
    Ok(())
}

fn check_filters(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "large"))?;
    let steps = [
        (
            "toggle('kind', 'create'); return kinds() + ': ' + status();",
            "destroy update: 6,050 of 10,000 changes",
        ),
        ("toggle('kind', 'update'); return kinds() + ': ' + status();", "destroy: 50 of 10,000 changes"),
        ("toggle('kind', 'destroy'); return shown().length + ': ' + status();", "0: 0 of 10,000 changes"),
        ("return [...document.querySelectorAll('h3[class]')].every((heading) => heading.hidden);", "true"),
        (
            "['create', 'update', 'destroy'].forEach((kind) => toggle('kind', kind)); return status();",
            "10,000 of 10,000 changes",
        ),
        ("search('aws_s3_bucket.audit'); return kinds() + ': ' + status();", "destroy: 1 of 10,000 changes"),
        ("search('NODE[5001]'); return kinds() + ': ' + status();", "update: 1 of 10,000 changes"),
        ("search('there is no such text'); return status();", "0 of 10,000 changes"),
        ("search(''); return status();", "10,000 of 10,000 changes"),
        (
            "toggle('attribute', 'tags.release'); return kinds() + ': ' + status();",
            "create destroy update: 6,000 of 10,000 changes",
        ),
        ("toggle('attribute', 'tags.release'); return status();", "10,000 of 10,000 changes"),
        (
            "dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true})); return document.activeElement.id;",
            "query",
        ),
    ];
    for (body, expected) in steps {
        let body = body.replace("dispatchEvent(new Keyboard", "document.body.dispatchEvent(new Keyboard");
        expect(browser, &body, expected)?;
    }
    say(&format!("filters: {} states are as expected", steps.len()));
    Ok(())
}

/// Hides an attribute. Changes that destroy objects remain, also those that replace them.
fn check_hidden_attributes(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "drift"))?;
    for (body, expected) in [
        ("return kinds() + ': ' + status();", "create replace update: 42 of 42 changes"),
        ("toggle('attribute', 'cidr'); return kinds() + ': ' + status();", "create replace: 2 of 42 changes"),
        (
            "toggle('attribute', 'engine_version'); return kinds() + ': ' + status();",
            "create replace: 2 of 42 changes",
        ),
    ] {
        expect(browser, body, expected)?;
    }
    say("hidden attributes: no replacement is hidden");
    Ok(())
}

/// Checks that the member of a group with a rare value is the first one, and that its value is visible.
fn check_differing_members(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "differing"))?;
    for (body, expected) in [
        (
            "document.querySelectorAll('details').forEach((part) => { part.open = true; });
             const rules = [...document.querySelectorAll('article.update .members > li')];
             return rules.length + ': ' + rules[0].textContent.replace(/\\s+/g, ' ').trim();",
            "30: aws_security_group_rule.rule[17]cidr - \"192.168.0.0/16\" becomes→ + \"0.0.0.0/0\"",
        ),
        ("search('0.0.0.0/0'); return kinds() + ': ' + status();", "update: 1 of 41 changes"),
    ] {
        expect(browser, body, expected)?;
    }
    say("groups: the member with the rare value is the first one");
    Ok(())
}

/// Follows references to changes, which are then visible and have the focus.
fn check_links(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "cascade"))?;
    expect(browser, "return document.querySelectorAll('svg a').length;", "4")?;
    for selector in
        ["svg a[href=\"#p0c0\"]", "article:nth-of-type(3) .why a", ".members li:nth-of-type(2) .why a"]
    {
        let body = format!(
            "location.hash = '';
             document.querySelectorAll('details').forEach((part) => {{ part.open = false; }});
             const link = document.querySelector('{selector}');
             link.dispatchEvent(new MouseEvent('click', {{bubbles: true, cancelable: true}}));
             return new Promise((done) => setTimeout(() => {{
               const target = document.getElementById(link.getAttribute('href').slice(1));
               const summary = target.querySelector(':scope > details > summary');
               done([
                 location.hash === link.getAttribute('href'),
                 target.checkVisibility(),
                 !summary || document.activeElement === summary,
               ].join(' '));
             }}, 100));"
        );
        expect(browser, &body, "true true true")?;
    }
    say("links: references open the change");
    Ok(())
}

/// Presses the tab key until the end of the page. The focus follows the order of the document.
fn check_tab_order(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "cascade"))?;
    let places = "const places = [...document.querySelectorAll('a[href], input, summary, [tabindex=\"0\"]')]
        .filter((element) => element.checkVisibility());";
    let count = evaluate(browser, &format!("{places} return places.length;"))?.as_u64();
    let count = count.context("no number of elements")?;
    ensure!(count > 10, "only {count} elements can have the focus");
    for expected in 0..count {
        browser.press(TAB)?;
        let body = format!("{places} return places.indexOf(document.activeElement);");
        expect(browser, &body, &expected.to_string()).context("after the tab key")?;
        if expected == 0 {
            expect(browser, "return document.activeElement.className;", "skip")?;
        }
    }
    say(&format!("keyboard: the tab key visits {count} elements in their order"));
    Ok(())
}

fn check_accessibility(browser: &Browser, place: &Path) -> Result<()> {
    for name in ["cascade", "several"] {
        browser.open(&url(place, name))?;
        for (body, expected) in [
            ("return document.documentElement.lang;", "en"),
            (
                "return [...document.querySelectorAll('input')].every((input) => input.labels.length > 0);",
                "true",
            ),
            (
                "const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
                 return new Set(ids).size === ids.length;",
                "true",
            ),
            ("return document.querySelectorAll('h1').length;", "1"),
            (
                "return [...document.querySelectorAll('svg a')].every((link) => link.getAttribute('aria-label'));",
                "true",
            ),
            // Each link within the page has a target.
            (
                "return [...document.querySelectorAll('a[href^=\"#\"]')]
                   .every((link) => document.getElementById(link.getAttribute('href').slice(1)));",
                "true",
            ),
            ("return document.documentElement.scrollWidth <= innerWidth;", "true"),
        ] {
            expect(browser, body, expected)?;
        }
    }
    say("accessibility: labels, headings, links and identifiers are as expected");
    Ok(())
}

/// Checks that right-to-left values do not change the order of the values before and after a change.
fn check_directions(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "wide"))?;
    evaluate(
        browser,
        "document.querySelectorAll('details').forEach((part) => { part.open = true; }); return 0;",
    )?;
    for (body, expected) in [
        (
            "const pairs = [...document.querySelectorAll('li')]
               .map((item) => [item.querySelector(':scope > del'), item.querySelector(':scope > ins')])
               .filter(([before, after]) => before && after);
             const left = (element) => element.getBoundingClientRect().left;
             return pairs.length + ' ' + pairs.every(([before, after]) => left(before) > 0 && left(before) < left(after));",
            "12 true",
        ),
        (
            "return [...document.querySelectorAll('code, bdi, del, ins')]
               .every((element) => getComputedStyle(element).unicodeBidi === 'isolate');",
            "true",
        ),
        ("return document.documentElement.scrollWidth <= innerWidth;", "true"),
    ] {
        expect(browser, body, expected)?;
    }
    say("directions: right-to-left text is isolated");
    Ok(())
}

fn check_actions(browser: &Browser, place: &Path) -> Result<()> {
    browser.open(&url(place, "actions"))?;
    for (body, expected) in [
        (
            "return document.querySelector('.summary').textContent;",
            "1 to replace, 30 to update, 30 actions to invoke",
        ),
        ("return document.querySelectorAll('.actions > li').length;", "2"),
        ("return document.querySelectorAll('.actions .members > li').length;", "30"),
        ("return document.querySelectorAll('.findings > li').length;", "2"),
        (
            "return [...document.querySelectorAll('.actions a')]
               .every((link) => document.getElementById(link.getAttribute('href').slice(1)));",
            "true",
        ),
    ] {
        expect(browser, body, expected)?;
    }
    say("actions: invocations and checks are as expected");
    Ok(())
}

fn check_hostile(browser: &Browser, place: &Path, name: &str) -> Result<()> {
    browser.open(&url(place, name))?;
    for (body, expected) in [
        ("return String(window.attacked);", "undefined"),
        ("return performance.getEntriesByType('resource').length;", "0"),
        ("return document.querySelectorAll('script').length;", "1"),
        ("return document.querySelectorAll('style').length;", "1"),
        ("return document.querySelectorAll('img, iframe, object, embed, link, base, form[action]').length;", "0"),
        (
            "return [...document.querySelectorAll('a')].every((link) => link.getAttribute('href').startsWith('#'));",
            "true",
        ),
        ("return document.documentElement.outerHTML.includes('topsecret');", "false"),
        (
            "return [...document.querySelectorAll('*')]
               .every((element) => [...element.attributes].every((attribute) => !attribute.name.startsWith('on')));",
            "true",
        ),
    ] {
        expect(browser, body, expected)?;
    }
    Ok(())
}

/// Opens a page in a browser that runs no scripts of pages.
fn check_without_script(place: &Path) -> Result<()> {
    let browser = Browser::start(&["--blink-settings=scriptEnabled=false"])?;
    browser.open(&url(place, "large"))?;
    expect(&browser, "return document.getElementById('tools').hidden;", "true")?;
    expect(&browser, "return document.querySelectorAll('main [id^=p0c]').length;", "10000")?;
    expect(&browser, "return shown().length === document.querySelectorAll('article').length;", "true")?;
    say("without scripts: every change is in the page");
    Ok(())
}

fn screenshots(workspace: &Workspace, place: &Path) -> Result<()> {
    let images = workspace.root.join("docs/images");
    fs::create_dir_all(&images)?;
    for (plan, image, arguments) in [
        ("cascade", "review-page.png", &["--blink-settings=preferredColorScheme=1"][..]),
        ("small", "review-page-dark.png", &["--blink-settings=preferredColorScheme=0"][..]),
    ] {
        let file: PathBuf = images.join(image);
        let mut command = Command::new("chromium");
        command
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args(["--window-size=1000,640", "--virtual-time-budget=2000"])
            .args(arguments)
            .arg(format!("--screenshot={}", file.display()))
            .arg(url(place, plan));
        process::output(&mut command)?;
        say(&format!("wrote docs/images/{image}"));
    }
    Ok(())
}
