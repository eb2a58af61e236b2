//! Widens the hosts of learnt rules to the other hosts of the same service, if the plugin's
//! template contains the service.
//!
//! A later resource of a service that is already in use often has another host in the same domain,
//! such as a bucket that is part of the host name. If the plugin's template contains the host, the
//! rule therefore matches all hosts of the same region or service: for `**.amazonaws.com` and
//! `ec2.eu-west-1.amazonaws.com`, the pattern is `*.eu-west-1.amazonaws.com`. The first label after the
//! domain of the template is never replaced, so the rule never matches the whole template.

use wardian_access::Host;
use wardian_address::ProviderAddress;

use crate::host_pattern::Depth;
use crate::template::PolicyTemplate;

/// The domains with several levels of names in the template of a plugin.
#[derive(Debug)]
pub(super) struct Widening {
    domains: Vec<String>,
}

impl Widening {
    /// Returns the widening for a plugin, which has no effect without a template.
    pub(super) fn for_plugin(plugin: &ProviderAddress) -> Self {
        let patterns = PolicyTemplate::for_plugin(plugin).map(|template| template.host_patterns());
        let domains = patterns.unwrap_or_default().into_iter().filter_map(|pattern| pattern.suffix());
        let domains = domains.filter(|(depth, _)| *depth == Depth::Any).map(|(_, suffix)| suffix).collect();
        Self { domains }
    }

    /// Returns the pattern for a host, if it is wider than the host.
    pub(super) fn pattern_for(&self, host: &Host) -> Option<String> {
        let Host::Name(name) = host else { return None };
        let is_in = |domain: &&String| {
            let own = name.strip_suffix(domain.as_str()).and_then(|rest| rest.strip_suffix('.'));
            own.is_some_and(|own| own.contains('.'))
        };
        self.domains.iter().find(is_in)?;
        let (_, rest) = name.split_once('.')?;
        Some(format!("*.{rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(plugin: &str, host: &str) -> Option<String> {
        let widening = Widening::for_plugin(&ProviderAddress::parse(plugin).unwrap());
        widening.pattern_for(&Host::parse(host).unwrap())
    }

    #[test]
    fn hosts_are_widened_to_the_region_or_service() {
        let regional = pattern("hashicorp/aws", "ec2.eu-west-1.amazonaws.com");
        assert_eq!(regional.as_deref(), Some("*.eu-west-1.amazonaws.com"));
        let bucket = pattern("hashicorp/aws", "code.s3.eu-west-1.amazonaws.com");
        assert_eq!(bucket.as_deref(), Some("*.s3.eu-west-1.amazonaws.com"));
        let china = pattern("hashicorp/aws", "ec2.cn-north-1.amazonaws.com.cn");
        assert_eq!(china.as_deref(), Some("*.cn-north-1.amazonaws.com.cn"));
    }

    #[test]
    fn other_hosts_stay_exact() {
        for (plugin, host) in [
            ("hashicorp/aws", "iam.amazonaws.com"),
            ("hashicorp/aws", "amazonaws.com"),
            ("hashicorp/aws", "a.b.amazonaws.com.example"),
            ("hashicorp/aws", "a.b.xamazonaws.com"),
            ("hashicorp/aws", "127.0.0.1"),
            ("hashicorp/google", "compute.googleapis.com"),
            ("hashicorp/http", "a.b.example.com"),
            ("acme/aws", "ec2.eu-west-1.amazonaws.com"),
        ] {
            assert_eq!(pattern(plugin, host), None, "{host}");
        }
    }
}
