//! Rules that cannot be enforced for confined native plugins.

mod support;

use support::{parse, plugin, policy, shown};
use wardian_policy::Level;

/// Returns the rules that cannot be enforced for `acme/dns`: line and subject.
#[track_caller]
fn unenforceable(level: Level, text: &str) -> Vec<String> {
    let policy = policy(&[(level, text)]).for_plugin(&plugin("acme/dns"));
    let rules = policy.unenforceable_for_native_code();
    rules.iter().map(|rule| format!("{} {}", rule.location.line, rule.subject)).collect()
}

const RULES: &str = r#"plugin "acme/dns" {
  native        = "confine"
  deterministic = true

  allow network {
    hosts   = ["api.example.com"]
    methods = ["GET"]
  }
  deny network {
    methods = ["DELETE"]
  }
  allow network {
    hosts   = ["dns.example.com"]
    schemes = ["udp"]
    ports   = [53]
  }
  credential {
    header      = "Authorization"
    environment = "ACME_TOKEN"
    hosts       = ["api.example.com"]
  }
}
"#;

#[test]
fn rules_of_requests_cannot_be_enforced() {
    let found = unenforceable(Level::User, RULES);
    assert_eq!(found, ["5 methods", "9 methods", "12 udp", "17 credential", "3 deterministic"]);
}

#[test]
fn rules_of_connections_can_be_enforced() {
    let rules = r#"plugin "acme/dns" {
      native        = "confine"
      deterministic = false

      allow network {
        hosts     = ["api.example.com"]
        schemes   = ["https", "http", "tcp"]
        ports     = [443]
        addresses = ["private"]
      }
      deny network {
        hosts = ["b.example.com"]
      }
      allow filesystem {
        directories = ["zones"]
      }
    }
    plugin "acme/other" {
      allow network {
        hosts   = ["api.example.com"]
        methods = ["GET"]
      }
    }
    "#;
    assert_eq!(unenforceable(Level::RootModule, rules), Vec::<String>::new());
}

#[test]
fn contradiction_is_reported_for_block_that_confines() {
    let file = parse(Level::User, RULES).unwrap();
    insta::assert_snapshot!(shown(file.contradictions()));
    for native in ["confine-or-warn", "confine-files", "warn"] {
        let other = RULES.replace("\"confine\"", &format!("\"{native}\""));
        assert!(parse(Level::User, &other).unwrap().contradictions().is_empty(), "{native}");
    }
    let separate =
        "plugin \"*\" {\n  native = \"confine\"\n}\nplugin \"acme/dns\" {\n  deterministic = true\n}\n";
    assert!(parse(Level::User, separate).unwrap().contradictions().is_empty());
}

#[test]
fn explanation_lists_rules_if_native_code_is_confined() {
    let listed = |native: &str| {
        let text = RULES.replace("\"confine\"", &format!("\"{native}\""));
        policy(&[(Level::User, &text)]).for_plugin(&plugin("acme/dns")).explain().unenforceable.len()
    };
    assert_eq!((listed("confine"), listed("confine-or-warn")), (5, 5));
    assert_eq!((listed("confine-files"), listed("warn"), listed("deny")), (0, 0, 0));
}
