//! Replaces values that differ in every run because the remote system generates them. The values
//! are listed explicitly in this module; all other values must be equal.

use anyhow::Result;
use regex::Regex;
use serde_json::Value;

/// Patterns of generated values, and their replacements.
const FORMS: &[(&str, &str)] = &[
    // Addresses of the server.
    (r"127\.0\.0\.1:\d+", "SERVER"),
    // IDs of EC2 objects.
    (r"\b(vpc-cidr-assoc|vpc|subnet|igw|rtb|rtbassoc|sg|sgr|acl|dopt|eni|r)-[0-9a-f]{8,17}", "$1-ID"),
    // IDs of IAM users and groups.
    (r"^[0-9a-z]{20}$", "UNIQUE-ID"),
    // UUIDs of keys, subscriptions and versions.
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID"),
    // Timestamps.
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", "TIME"),
    // IDs of IAM users, roles and others.
    (r"\bA(ROA|IDA|GPA|IPA|NPA)[A-Z0-9]{10,20}\b", "A$1-ID"),
    // Names that the provider generates from a time and a counter.
    (r"-\d{26}\b", "-NAME"),
    // Secrets, which have six random characters after their name.
    (r"(secret:interop/password)-[A-Za-z0-9]{6}", "$1-ID"),
    // Values that `null_data_source` generates whenever it is read.
    (r"^\d{15,20}$", "RANDOM"),
    // Salted password hashes.
    (r"^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$", "BCRYPT"),
    // IDs of Route 53 zones.
    (r"\b[A-Z0-9]{21,32}(_www_A)?\b", "ZONE$1"),
];

/// Members of documents that contain the time, the version or the number of writes. Terraform
/// writes a state several times during an apply, and counts each write.
const MEMBERS: &[&str] = &["timestamp", "terraform_version", "lineage", "serial"];

/// Replaces generated values in documents.
pub(crate) struct Generated(Vec<(Regex, &'static str)>);

impl Generated {
    pub(crate) fn new() -> Result<Self> {
        let forms = FORMS.iter().map(|(form, stands_for)| Ok((Regex::new(form)?, *stands_for)));
        forms.collect::<Result<_>>().map(Self)
    }

    /// Returns the document with generated values replaced.
    pub(crate) fn without(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(elements) => elements.iter().map(|element| self.without(element)).collect(),
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| !MEMBERS.contains(&name.as_str()))
                .map(|(name, value)| (self.text(name), self.without(value)))
                .collect(),
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (form, stands_for) in &self.0 {
            text = form.replace_all(&text, *stands_for).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_values_are_removed_and_others_remain() {
        let generated = Generated::new().unwrap();
        let without = |text: &str| generated.text(text);
        assert_eq!(without("http://127.0.0.1:43215/1/orders"), "http://SERVER/1/orders");
        assert_eq!(without("arn:aws:ec2:x:1:vpc/vpc-0a1b2c3d4e5f60718"), "arn:aws:ec2:x:1:vpc/vpc-ID");
        assert_eq!(without("2026-01-02T03:04:05.678Z"), "TIME");
        assert_eq!(without("vpc-cidr-assoc-7a7c7a1647d1b4165"), "vpc-cidr-assoc-ID");
        assert_eq!(without("1h3qatgf9fxhwj5p2gp5"), "UNIQUE-ID");
        assert_eq!(without("7623521406411642895"), "RANDOM");
        assert_eq!(without("worker-20260102030405678900000001"), "worker-NAME");
        for stays in ["arn:aws:iam::123456789012:role/worker", "10.1.0.0/16", "eu-central-1a", "A"] {
            assert_eq!(without(stays), stays);
        }
        let document = serde_json::json!({ "timestamp": "now", "version": 4, "a": ["vpc-12345678"] });
        assert_eq!(generated.without(&document), serde_json::json!({ "version": 4, "a": ["vpc-ID"] }));
    }
}
