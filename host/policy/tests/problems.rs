//! Messages for invalid policies.

mod support;

use support::{parse, shown};
use wardian_policy::{Level, PolicyPaths, load, read_file};

#[track_caller]
fn problems_of(level: Level, text: &str) -> String {
    match parse(level, text) {
        Ok(_) => "nothing".to_owned(),
        Err(problems) => shown(&problems),
    }
}

#[test]
fn misspelled_names_are_reported() {
    insta::assert_snapshot!(problems_of(
        Level::RootModule,
        r#"otherwize = "deny"
plugins "acme/*" {
}
plugin "acme/*" {
  native = "forbid"
  alow network {
    hosts = ["a.example"]
  }
  allow netwrok {
    hosts = ["a.example"]
  }
  allow network {
    host = ["a.example"]
  }
  limits = {}
}
plugin {
}
plugin "acme//x" {
}
"#
    ));
}

#[test]
fn invalid_values_are_reported() {
    insta::assert_snapshot!(problems_of(
        Level::Organisation,
        r#"plugin "*" {
  deterministic = "yes"
  allow network {
    hosts     = ["https://a.example/v1", "0177.0.0.1", "a..b", var.host, 5]
    schemes   = ["htps"]
    ports     = [0, "9-1", "all"]
    methods   = ["get"]
    addresses = ["privat", "10.0.0.1/8"]
  }
  allow network {
    hosts   = ["db.example"]
    schemes = ["tcp"]
  }
  allow filesystem {
    directories = ["../other", "~/x", "*.tf"]
    access      = ["execute"]
  }
  allow environment {
    names = []
  }
  allow process {
    program   = "./git"
    arguments = ["...", "a"]
  }
  limits {
    memory              = "256 mib"
    cpu_time            = "30"
    concurrent_requests = "4"
    response_size       = "0 B"
  }
  credential {
    header = "Host"
    prefix = "a\nb"
    hosts  = ["**"]
  }
}
"#
    ));
}

#[test]
fn rejects_credentials_in_root_module() {
    insta::assert_snapshot!(problems_of(
        Level::RootModule,
        "plugin \"*\" {\n  credential {\n    header = \"x\"\n  }\n}\n"
    ));
}

#[test]
fn unreadable_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let read = |name: &str| read_file(Level::User, &at(name), name, folder.path());
    assert!(matches!(read("none"), Ok(None)));
    std::fs::write(at("good"), "plugin \"*\" {\n}\n# caf\u{e9}\n").unwrap();
    assert!(matches!(read("good"), Ok(Some(_))));
    std::fs::write(at("bytes"), b"otherwise = \"\xff\"\n").unwrap();
    insta::assert_snapshot!(shown(&read("bytes").unwrap_err()));
    std::fs::write(at("large"), "#".repeat((1 << 20) + 1)).unwrap();
    insta::assert_snapshot!(shown(&read("large").unwrap_err()));
    std::fs::create_dir(at("directory")).unwrap();
    insta::assert_snapshot!(shown(&read("directory").unwrap_err()));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        assert!(read("link").is_err());
    }
}

#[test]
fn policies_of_all_levels_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let paths = PolicyPaths {
        system: Some(at("system.hcl")),
        from_environment: Some(at("named.hcl")),
        user: Some(at("user.hcl")),
        root_module: folder.path().to_owned(),
    };
    let problems = load(&paths).unwrap_err();
    assert!(problems.to_string().contains("named.hcl"), "{problems}");
    std::fs::write(at("named.hcl"), "otherwise = \"defer\"\n").unwrap();
    assert_eq!(load(&paths).unwrap().files().len(), 1);
    for name in ["system.hcl", "user.hcl", "wardian.policy.hcl"] {
        std::fs::write(at(name), "").unwrap();
    }
    let policy = load(&paths).unwrap();
    let levels: Vec<Level> = policy.files().iter().map(wardian_policy::PolicyFile::level).collect();
    assert_eq!(levels, [Level::Organisation, Level::Organisation, Level::User, Level::RootModule]);
    std::fs::write(at("user.hcl"), "x = 1").unwrap();
    std::fs::write(at("wardian.policy.hcl"), "y = 1").unwrap();
    assert_eq!(load(&paths).unwrap_err().len(), 2);
}

#[test]
fn rejects_control_characters() {
    for text in [
        "allow network {\n hosts = [\"a\"]\n reason = \"\\u001b[2J\"\n}",
        "allow filesystem {\n directories = [\"a\\u001b\"]\n}",
        "allow environment {\n names = [\"A\\u0007\"]\n}",
        "credential {\n header = \"x\"\n hosts = [\"a\"]\n file = \"/a\\u001b\"\n}",
        "credential {\n header = \"x\"\n hosts = [\"a\"]\n environment = \"A\\u001b\"\n}",
    ] {
        let problems_of = problems_of(Level::Organisation, &format!("plugin \"*\" {{\n{text}\n}}\n"));
        assert!(problems_of.contains("control character"), "{problems_of}");
    }
}

#[test]
fn documented_policies_are_valid() {
    let text = include_str!("../../../docs/policy.md");
    let examples: Vec<&str> =
        text.split("```hcl\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 5, "{}", examples.len());
    for example in examples {
        assert_eq!(problems_of(Level::Organisation, example), "nothing", "{example}");
    }
}
