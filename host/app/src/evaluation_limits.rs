//! The limits on the values that the expressions of a run produce.

use wardian_lang::EvaluationLimits;
use wardian_policy::{Policy, PolicySetting};

/// The limits under `-untrusted`, unless the policy of the organisation or the user sets others.
const UNTRUSTED_EXPRESSION: u64 = 64 << 20;
const UNTRUSTED_TOTAL: u64 = 384 << 20;

/// The advice for changing a limit that no policy sets.
const REMEDY: &str = "If the configuration needs more, the organisation's or the user's policy can set \
                      another limit: evaluation { expression_size = \"2 GiB\", total_size = \"16 GiB\" }, \
                      each on a separate line.";

/// Returns the limits of a run. The policies of the organisation and the user replace the host's
/// limits; the root module's policy can only lower them.
pub(crate) fn for_run(policy: Option<&Policy>, is_untrusted: bool) -> EvaluationLimits {
    let EvaluationLimits { mut expression, mut total, .. } = EvaluationLimits::default();
    if is_untrusted {
        (expression, total) = (UNTRUSTED_EXPRESSION, UNTRUSTED_TOTAL);
    }
    let Some(policy) = policy else {
        return EvaluationLimits { expression, total, origin: REMEDY.into() };
    };
    let (machine, all) = policy.evaluation_settings();
    let mut origins = Vec::new();
    for (limit, machine, set) in [
        (&mut expression, &machine.expression_size, &all.expression_size),
        (&mut total, &machine.total_size, &all.total_size),
    ] {
        if let Some(PolicySetting { value, location }) =
            set.as_ref().filter(|set| machine.is_some() || set.value < *limit)
        {
            *limit = *value;
            origins.push(location.to_string());
        }
    }
    let origin = if origins.is_empty() {
        REMEDY.into()
    } else {
        format!("The limits are set in {}.", origins.join(" and ")).into()
    };
    EvaluationLimits { expression, total, origin }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wardian_diagnostic::SourceFile;
    use wardian_policy::{Level, PolicyFile};

    use super::*;

    fn limits(files: &[(Level, &str)], is_untrusted: bool) -> (u64, u64) {
        let root = Path::new("/srv/project");
        let files = files.iter().map(|(level, set)| {
            let text = format!("otherwise = \"defer\"\nevaluation {{\n  {set}\n}}\n");
            PolicyFile::parse(*level, &SourceFile::new("p.hcl", text), root).unwrap()
        });
        let limits = for_run(Some(&Policy::new(root, files, [])), is_untrusted);
        (limits.expression >> 20, limits.total >> 20)
    }

    #[test]
    fn root_module_lowers_and_user_raises_limits() {
        let large = "expression_size = \"4 GiB\"";
        assert_eq!(limits(&[], false), (1_024, 8_192));
        assert_eq!(limits(&[], true), (64, 384));
        assert_eq!(limits(&[(Level::RootModule, large)], false), (1_024, 8_192));
        assert_eq!(limits(&[(Level::RootModule, large)], true), (64, 384));
        assert_eq!(limits(&[(Level::RootModule, "total_size = \"1 MiB\"")], false), (1_024, 1));
        assert_eq!(limits(&[(Level::User, large)], true), (4_096, 384));
        assert_eq!(
            limits(&[(Level::Organisation, large), (Level::RootModule, "expression_size = \"2 GiB\"")], true),
            (2_048, 384)
        );
    }
}
