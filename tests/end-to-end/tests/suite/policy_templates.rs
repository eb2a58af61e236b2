//! `policy grant -template`.

use wardian_end_to_end::{Project, Seen, assert_seen, assert_seen_text};

/// The variables that name files in the template of AWS.
const VARIABLES: [(&str, &str); 4] = [
    ("AWS_CA_BUNDLE", "/etc/acme/ca.pem"),
    ("AWS_CONFIG_FILE", ""),
    ("AWS_SHARED_CREDENTIALS_FILE", ""),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", ""),
];

fn grant(project: &Project, rest: &str) -> Seen {
    project.run_with(&format!("policy grant {rest}"), "", &VARIABLES)
}

#[test]
fn template_is_shown_and_needs_approval() {
    let project = Project::new(&[]);
    assert_seen!("policy_template_unapproved", grant(&project, "hashicorp/aws -template").ended_with(1));
    assert!(!project.has("wardian.policy.hcl"));
    grant(&project, "hashicorp/aws -template -yes").success();
    let home = project.path("home").display().to_string();
    assert_seen_text!(
        "policy_template_added",
        project.read("wardian.policy.hcl").replace(&home, "[FOLDER]/home")
    );
    project.run("policy check").success();
    assert_seen!("policy_template_explained", project.run("policy explain hashicorp/aws").success());
    let before = project.read("wardian.policy.hcl");
    let again = grant(&project, "hashicorp/aws -template -yes").success();
    assert!(again.out.contains("already has these grants"), "{}", again.text());
    assert_eq!(project.read("wardian.policy.hcl"), before);
    grant(&project, "hashicorp/aws -template -instance-credentials -yes").success();
    let explained = project.run("policy explain hashicorp/aws").success();
    assert!(explained.out.contains("http to 169.254.169.254"), "{}", explained.text());
}

#[test]
fn template_uses_specified_hosts() {
    let project = Project::new(&[("wardian.policy.hcl", "# mine\notherwise = \"defer\"\n")]);
    grant(&project, "cyrilgdn/postgresql -template -hosts=db.example.com -ports=5433 -yes").success();
    let explained = project.run("policy explain cyrilgdn/postgresql").success();
    assert!(explained.out.contains("tcp to db.example.com, port 5433"), "{}", explained.text());
    grant(&project, "hashicorp/tls -template -yes").success();
    let explained = project.run("policy explain hashicorp/tls").success();
    assert!(explained.out.contains("runs only if it can be confined"), "{}", explained.text());
    let docker = grant(&project, "kreuzwerker/docker -template -yes").success();
    assert!(docker.text().contains("equivalent to root access"), "{}", docker.text());
    assert!(project.read("wardian.policy.hcl").starts_with("# mine\n"));
}

#[test]
fn invalid_uses_of_templates_are_reported() {
    let project = Project::new(&[]);
    let wrong: String = [
        "acme/dns -template",
        "cyrilgdn/postgresql -template",
        "hashicorp/aws -template -hosts=a.example",
        "cloudflare/cloudflare -template -instance-credentials",
        "hashicorp/aws -instance-credentials",
        "hashicorp/aws network -template",
        "hashicorp/aws -template -methods=GET",
        "hashicorp/http -template -hosts=https://a.example/",
    ]
    .into_iter()
    .map(|rest| grant(&project, rest).ended_with(1).text())
    .collect();
    assert_seen_text!("policy_template_wrong", wrong);
    assert!(!project.has("wardian.policy.hcl"));
}

#[test]
fn template_that_another_policy_denies_is_reported() {
    let organisation = "otherwise = \"defer\"\nplugin \"*\" {\n  native = \"deny\"\n  deny network {\n    hosts = \
                        [\"api.hetzner.cloud\"]\n  }\n}\n";
    let project = Project::new(&[("organisation.hcl", organisation)]);
    let variables = [("WARDIAN_POLICY", "organisation.hcl")];
    let line = "policy grant hetznercloud/hcloud -template -yes";
    assert_seen!("policy_template_denied", project.run_with(line, "", &variables).ended_with(1));
}
