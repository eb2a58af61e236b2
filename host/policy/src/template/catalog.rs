//! The texts of the templates.

pub(super) const TEMPLATES: &[&str] = &[
    include_str!("../../templates/archive.hcl"),
    include_str!("../../templates/aws.hcl"),
    include_str!("../../templates/azure.hcl"),
    include_str!("../../templates/cloudflare.hcl"),
    include_str!("../../templates/datadog.hcl"),
    include_str!("../../templates/digitalocean.hcl"),
    include_str!("../../templates/docker.hcl"),
    include_str!("../../templates/external.hcl"),
    include_str!("../../templates/github.hcl"),
    include_str!("../../templates/gitlab.hcl"),
    include_str!("../../templates/google.hcl"),
    include_str!("../../templates/hcloud.hcl"),
    include_str!("../../templates/helm.hcl"),
    include_str!("../../templates/http.hcl"),
    include_str!("../../templates/kubernetes.hcl"),
    include_str!("../../templates/mysql.hcl"),
    include_str!("../../templates/postgresql.hcl"),
    include_str!("../../templates/tls.hcl"),
    include_str!("../../templates/vault.hcl"),
];
