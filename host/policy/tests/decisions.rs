//! Policy decisions, and the rules that determine them.

mod support;

use support::{parse, plugin, policy, project, request, shown};
use wardian_access::{AccessRequest, NetworkRequest};
use wardian_policy::{Decision, DenialReason, Level, NativePlugins, Policy};

/// Checks requests that a policy must allow, and requests that it must deny.
#[track_caller]
fn check(policy: &Policy, address: &str, allowed: &[&str], denied: &[&str]) {
    let view = policy.for_plugin(&plugin(address));
    for text in allowed {
        let decision = view.decide(&request(text));
        assert!(decision.is_allowed(), "{text}: {decision:?}");
    }
    for text in denied {
        let decision = view.decide(&request(text));
        assert!(!decision.is_allowed(), "{text}: {decision:?}");
    }
}

#[test]
fn empty_policy_grants_no_access() {
    let policy = policy(&[]);
    check(
        &policy,
        "acme/http",
        &[],
        &["GET https://example.com", "read .", "env HOME", "run git", "connect a 22", "lookup a"],
    );
    let view = policy.for_plugin(&plugin("acme/http"));
    assert_eq!(view.native(), NativePlugins::Warn);
    let Decision::Denied(denial) = view.decide(&request("read .")) else { panic!() };
    assert_eq!(denial.reason, DenialReason::NoPolicy);
}

#[test]
fn network_rules_match_destinations() {
    let policy = project(
        r#"
        plugin "acme/http" {
          allow network {
            hosts   = ["api.example.com", "*.cdn.example.com"]
            methods = ["GET"]
          }
          allow network {
            hosts   = ["db.example.com"]
            schemes = ["tcp"]
            ports   = [5432, "6000-6010"]
          }
          allow network {
            hosts   = ["**.open.example"]
            schemes = ["https", "http"]
            ports   = ["*"]
          }
          deny network {
            hosts   = ["secret.cdn.example.com"]
          }
          deny network {
            methods = ["DELETE"]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/http",
        &[
            "GET https://api.example.com",
            "get https://API.example.com.:443",
            "GET https://a.cdn.example.com",
            "tcp://db.example.com:5432",
            "tcp://db.example.com:6010",
            "lookup db.example.com",
            "POST http://a.b.open.example:8080",
        ],
        &[
            "GET http://api.example.com",
            "GET https://api.example.com:8443",
            "GET https://example.com",
            "POST https://api.example.com",
            "GET https://a.b.cdn.example.com",
            "GET https://cdn.example.com",
            "GET https://secret.cdn.example.com",
            "GET https://db.example.com",
            "tcp://db.example.com:5433",
            "tcp://api.example.com:443",
            "lookup api.example.com",
            "DELETE http://a.b.open.example",
            "delete http://a.b.open.example",
            "GET https://open.example",
        ],
    );
    check(&policy, "acme/other", &[], &["GET https://api.example.com"]);
    check(&policy, "example.com/acme/http", &[], &["GET https://api.example.com"]);
}

#[test]
fn connection_with_unknown_method_matches_only_denials_of_methods() {
    let policy = project(
        r#"
        plugin "acme/http" {
          allow network {
            hosts = ["open.example.com", "closed.example.com"]
          }
          allow network {
            hosts   = ["get.example.com"]
            methods = ["GET"]
          }
          allow network {
            hosts   = ["closed.example.com"]
            schemes = ["tcp"]
            ports   = [443]
          }
          deny network {
            hosts   = ["closed.example.com"]
            methods = ["DELETE"]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/http",
        &[
            "open https://open.example.com:443",
            "GET https://closed.example.com",
            "tcp://closed.example.com:443",
        ],
        &[
            "open https://get.example.com:443",
            "open https://closed.example.com:443",
            "open https://open.example.com:8443",
            "open http://open.example.com:80",
        ],
    );
}

#[test]
fn confinement_of_native_code_is_ordered_by_strictness() {
    let with = |level, native: &str| (level, format!("plugin \"*\" {{\n  native = \"{native}\"\n}}\n"));
    let native = |one: &str, two: &str| {
        let (one, two) = (with(Level::User, one), with(Level::RootModule, two));
        policy(&[(one.0, &one.1), (two.0, &two.1)]).for_plugin(&plugin("acme/a")).native()
    };
    assert_eq!(native("confine-or-warn", "confine-files"), NativePlugins::ConfineFiles);
    assert_eq!(native("confine", "confine-files"), NativePlugins::Confine);
    assert_eq!(native("deny", "confine"), NativePlugins::Deny);
}

#[test]
fn resolved_address_is_checked_separately() {
    let policy = project(
        r#"
        plugin "acme/http" {
          allow network {
            hosts = ["api.example.com"]
          }
          allow network {
            hosts     = ["intern.example.com"]
            addresses = ["10.0.0.0/8", "loopback"]
          }
          allow network {
            hosts     = ["meta.example.com"]
            addresses = ["metadata"]
          }
          deny network {
            addresses = ["10.66.0.0/16"]
          }
          allow communicator {
            hosts     = ["*.machines.example"]
            addresses = ["private"]
          }
        }
        "#,
    );
    let view = policy.for_plugin(&plugin("acme/http"));
    for (text, allowed, denied) in [
        (
            "GET https://api.example.com",
            &["93.184.216.34", "2606:2800::1"][..],
            &[
                "127.0.0.1",
                "::1",
                "10.0.0.1",
                "169.254.169.254",
                "::ffff:127.0.0.1",
                "64:ff9b::10.0.0.1",
                "0.0.0.0",
            ][..],
        ),
        (
            "GET https://intern.example.com",
            &["10.1.2.3", "::ffff:10.1.2.3", "127.0.0.1"],
            &["93.184.216.34", "192.168.0.1", "10.66.1.1", "169.254.169.254"],
        ),
        ("GET https://meta.example.com", &["169.254.169.254"], &["169.254.1.1", "93.184.216.34"]),
        ("connect a.machines.example 22", &["192.168.1.1"], &["93.184.216.34", "127.0.0.1"]),
    ] {
        let request = request(text);
        assert!(view.decide(&request).is_allowed(), "{text}");
        for address in allowed {
            let decision = view.decide_at(&request, address.parse().unwrap());
            assert!(decision.is_allowed(), "{text} at {address}: {decision:?}");
        }
        for address in denied {
            let decision = view.decide_at(&request, address.parse().unwrap());
            assert!(!decision.is_allowed(), "{text} at {address}");
        }
    }
    let Decision::Denied(denial) =
        view.decide_at(&request("GET https://api.example.com"), "::ffff:127.0.0.1".parse().unwrap())
    else {
        panic!()
    };
    insta::assert_snapshot!(denial);
}

#[test]
fn address_is_matched_by_address_patterns() {
    let policy = project(
        r#"
        plugin "*" {
          allow network {
            hosts   = ["127.0.0.1", "10.0.0.0/8", "**"]
            schemes = ["http"]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/http",
        &["GET http://127.0.0.1", "GET http://0x7f.1", "GET http://[::ffff:7f00:1]", "GET http://10.9.9.9"],
        &[
            "GET http://127.0.0.2",
            "GET http://93.184.216.34",
            "GET http://169.254.169.254",
            "GET http://[::1]",
        ],
    );
}

#[test]
fn filesystem_rules_match_paths() {
    let policy = project(
        r#"
        plugin "acme/files" {
          allow filesystem {
            directories = [".", "/opt/data/./x/.."]
          }
          allow filesystem {
            directories = ["out", "."]
            access      = ["write"]
          }
          deny filesystem {
            directories = ["out/keep", "secrets"]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/files",
        &[
            "read main.tf",
            "read .",
            "read a/../b",
            "read /srv/project/x",
            "write out/a",
            "write a",
            "read /opt/data/y",
        ],
        &[
            "read /srv/project2/x",
            "read /etc/passwd",
            "read /srv/project/../other",
            "write /opt/data/y",
            "read secrets/key",
            "write out/keep",
            // The policy file itself cannot be written.
            "write wardian.policy.hcl",
            "write .terraform.lock.hcl",
            "write .terraform/providers/x",
            "write .",
        ],
    );
}

#[test]
fn environment_and_process_rules_match_names() {
    let policy = project(
        r#"
        plugin "acme/tools" {
          allow environment {
            names = ["HOME", "ACME_*"]
          }
          deny environment {
            names = ["*_TOKEN"]
          }
          allow process {
            program   = "git"
            arguments = ["clone", "https://example.com/*"]
          }
          allow process {
            program   = "/usr/bin/make"
            arguments = ["-C", "*", "..."]
          }
          allow process {
            program   = "uptime"
            arguments = []
          }
          deny process {
            program   = "make"
            arguments = ["-C", "forbidden", "..."]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/tools",
        &[
            "env HOME",
            "env ACME_REGION",
            "run git clone https://example.com/a.git",
            "run /usr/bin/make -C x install -j4",
            "run uptime",
        ],
        &[
            "env PATH",
            "env home",
            "env ACME_TOKEN",
            "run git",
            "run git clone",
            "run git clone https://example.com/a/b",
            "run git clone https://example.com/a --upload-pack=x",
            "run /usr/bin/git clone https://example.com/a.git",
            "run make -C x",
            "run /usr/bin/make -C --eval=x",
            "run /usr/bin/make -C forbidden all",
            "run uptime -s",
        ],
    );
}

#[test]
fn lower_level_narrows_higher_level() {
    let policy = policy(&[
        (
            Level::Organisation,
            r#"
            plugin "hashicorp/*" {
              allow network {
                hosts = ["*.example.com"]
              }
              deny network {
                hosts  = ["secret.example.com"]
                reason = "personal data"
              }
            }
            "#,
        ),
        (
            Level::RootModule,
            r#"
            plugin "*" {
              allow network {
                hosts   = ["**"]
                schemes = ["https", "http"]
                methods = ["GET"]
              }
            }
            "#,
        ),
    ]);
    check(
        &policy,
        "hashicorp/http",
        &["GET https://a.example.com"],
        &[
            "GET http://a.example.com",
            "POST https://a.example.com",
            "GET https://other.example",
            "GET https://secret.example.com",
        ],
    );
    check(&policy, "acme/http", &[], &["GET https://a.example.com"]);
    let view = policy.for_plugin(&plugin("hashicorp/http"));
    let places = |text: &str| match view.decide(&request(text)) {
        Decision::Allowed(grant) => grant.rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Decision::Denied(denial) => denial.to_string(),
    };
    insta::assert_snapshot!(places("GET https://a.example.com"));
    insta::assert_snapshot!(places("GET https://secret.example.com"));
    insta::assert_snapshot!(places("POST https://a.example.com"));
    insta::assert_snapshot!(places("GET https://other.example"));
}

#[test]
fn file_with_defer_leaves_decision_to_other_files() {
    let organisation = (
        Level::Organisation,
        r#"
        otherwise = "defer"
        plugin "*" {
          native = "warn"
          deny environment {
            names = ["AWS_*"]
          }
        }
        "#,
    );
    let project = (
        Level::RootModule,
        r#"
        plugin "acme/*" {
          allow environment {
            names = ["*"]
          }
        }
        "#,
    );
    check(&policy(&[organisation]), "acme/a", &[], &["env HOME", "env AWS_KEY"]);
    check(&policy(&[organisation, project]), "acme/a", &["env HOME"], &["env AWS_KEY"]);
    assert_eq!(policy(&[organisation]).for_plugin(&plugin("acme/a")).native(), NativePlugins::Warn);
    // The project's file does not set `native`, so it denies native code.
    assert_eq!(policy(&[organisation, project]).for_plugin(&plugin("acme/a")).native(), NativePlugins::Deny);
}

#[test]
fn most_specific_block_and_strictest_file_apply() {
    let policy = policy(&[
        (
            Level::Organisation,
            r#"
            plugin "*" {
              native = "deny"
              limits {
                memory    = "256 MiB"
                wall_time = "5m"
              }
            }
            plugin "acme/big" {
              native        = "warn"
              deterministic = true
              limits {
                memory = "2 GiB"
              }
            }
            "#,
        ),
        (
            Level::RootModule,
            r#"
            plugin "acme/*" {
              native = "allow"
              deterministic = false
              limits {
                memory              = "1 GiB"
                wall_time           = "10m"
                concurrent_requests = 4
              }
            }
            "#,
        ),
    ]);
    let big = policy.for_plugin(&plugin("acme/big"));
    let entries = |view: &wardian_policy::PluginPolicy| {
        let entries = view.settings().limits.entries();
        let lines = entries.iter().map(|(name, value, place)| format!("{name} = {value} ({place})"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(entries(&big));
    insta::assert_snapshot!(entries(&policy.for_plugin(&plugin("acme/small"))));
    assert_eq!(big.native(), NativePlugins::Warn);
    assert_eq!(policy.for_plugin(&plugin("acme/small")).native(), NativePlugins::Deny);
    assert!(big.settings().deterministic.as_ref().is_some_and(|set| set.value));
}

#[test]
fn credentials_are_sent_only_to_bound_hosts() {
    let policy = policy(&[
        (
            Level::Organisation,
            r#"
            plugin "acme/api" {
              credential {
                header      = "Authorization"
                prefix      = "Bearer "
                environment = "ACME_TOKEN"
                hosts       = ["api.acme.example"]
              }
            }
            "#,
        ),
        (
            Level::User,
            r#"
            plugin "*" {
              credential {
                header = "authorization"
                file   = "/run/secrets/token"
                hosts  = ["*.acme.example"]
              }
            }
            "#,
        ),
    ]);
    let bound = |address: &str, authority: &str, scheme: &str| {
        let Ok(request) = NetworkRequest::http(scheme, authority, "GET") else { panic!() };
        let view = policy.for_plugin(&plugin(address));
        let found = view.credentials(&request);
        found.iter().map(|one| format!("{} {:?}", one.header, one.source)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(bound("acme/api", "API.acme.example.", "https"), "authorization Environment(\"ACME_TOKEN\")");
    assert_eq!(bound("acme/api", "b.acme.example", "https"), "authorization File(\"/run/secrets/token\")");
    assert_eq!(bound("acme/api", "api.acme.example", "http"), "");
    assert_eq!(bound("acme/api", "api.acme.example:8443", "https"), "");
    assert_eq!(bound("acme/api", "api.acme.example.evil.example", "https"), "");
}

#[test]
fn denial_suggests_the_missing_rule() {
    let view = project("plugin \"*\" {\n}\n").for_plugin(&plugin("acme/http"));
    let rule = |text: &str| view.rule_for(&request(text), None).unwrap_or_default();
    insta::assert_snapshot!(rule("POST http://api.example.com:8080"));
    insta::assert_snapshot!(rule("run git clone --depth=1"));
    let address = "127.0.0.1".parse().ok();
    let network = view.rule_for(&request("GET https://localhost"), address).unwrap_or_default();
    insta::assert_snapshot!(network);
    assert_eq!(rule("run git *"), "");
    assert!(matches!(request("lookup a"), AccessRequest::LookUp(_)));
}

#[test]
fn connections_to_sockets_are_a_separate_access() {
    let policy = project(
        r#"
        plugin "acme/files" {
          allow filesystem {
            directories = ["/run/acme.sock", "/run/user/1000"]
            access      = ["connect"]
          }
          allow filesystem {
            directories = ["/srv/data"]
            access      = ["read", "write"]
          }
          deny filesystem {
            directories = ["/run/user/1000/bus"]
          }
        }
        "#,
    );
    check(
        &policy,
        "acme/files",
        &["socket /run/acme.sock", "socket /run/user/1000/agent.sock", "read /srv/data/a"],
        &[
            "read /run/acme.sock",
            "write /run/acme.sock",
            "socket /srv/data/a.sock",
            "socket /run/user/1000/bus",
            "socket /run/docker.sock",
        ],
    );
    let view = policy.for_plugin(&plugin("acme/files"));
    let Decision::Denied(denial) = view.decide(&request("socket /run/docker.sock")) else { panic!() };
    assert!(denial.to_string().contains("connecting to the socket \"/run/docker.sock\""), "{denial}");
    insta::assert_snapshot!(view.rule_for(&request("socket /run/docker.sock"), None).unwrap_or_default());
    let explanation = view.explain();
    let allowed: Vec<&str> = explanation.allowed.iter().map(|one| &*one.description).collect();
    assert_eq!(allowed, ["connect /run/acme.sock", "connect /run/user/1000", "read, write /srv/data"]);
    let denied: Vec<&str> = explanation.denied.iter().map(|one| &*one.description).collect();
    assert_eq!(denied, ["read, write, connect /run/user/1000/bus"]);
}

#[test]
fn programs_receive_only_listed_variables() {
    let policy = policy(&[
        (
            Level::Organisation,
            r#"
            plugin "acme/*" {
              allow process {
                program     = "**"
                arguments   = ["..."]
                environment = ["**"]
              }
              deny process {
                program     = "git"
                arguments   = ["fetch"]
                environment = ["GIT_SSH*"]
              }
            }
            "#,
        ),
        (
            Level::RootModule,
            r#"
            plugin "acme/tools" {
              allow process {
                program     = "git"
                arguments   = ["fetch"]
                environment = ["ACME_*", "GIT_SSH_COMMAND", "GIT_TRACE"]
              }
              allow process {
                program   = "git"
                arguments = ["status"]
              }
            }
            "#,
        ),
    ]);
    check(
        &policy,
        "acme/tools",
        &["run git fetch", "run ACME_A= git fetch", "run ACME_A= GIT_TRACE= git fetch", "run git status"],
        &[
            // The organisation denies the request in each case.
            "run GIT_SSH_COMMAND= git fetch",
            "run git_ssh_command= git fetch",
            // The root module does not grant the request.
            "run GIT_TRACE2= git fetch",
            "run LD_PRELOAD= git fetch",
            "run ACME_A= LD_PRELOAD= git fetch",
            "run ACME_PATH= git fetch",
            "run acme_a= git fetch",
            "run ACME_A= git status",
        ],
    );
    check(&policy, "acme/other", &[], &["run git fetch"]);
}

#[test]
fn wildcard_for_controlling_variables_is_an_error() {
    let rule = |names: &str, program: &str, arguments: &str| {
        format!(
            "plugin \"acme/tools\" {{\n  allow process {{\n    program = \"{program}\"\n    arguments = \
             [{arguments}]\n    environment = [{names}]\n  }}\n}}\n"
        )
    };
    let read = |names: &str| parse(Level::RootModule, &rule(names, "git", "\"...\""));
    for bad in ["\"GIT_*\"", "\"LD_*\"", "\"*_PATH\"", "\"A=B\"", "\"\""] {
        assert!(read(bad).is_err(), "{bad}");
    }
    assert!(shown(&read("\"GIT_*\"").unwrap_err()).contains("name each variable"));
    for good in ["\"GIT_SSH\", \"LD_PRELOAD\"", "\"*\"", "\"ACME_*\"", ""] {
        assert!(read(good).is_ok(), "{good}");
    }
    assert!(parse(Level::RootModule, &rule("\"GIT_*\"", "**", "\"...\"")).is_ok());
}
