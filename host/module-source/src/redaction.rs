//! Addresses without their secrets.

use crate::address_syntax::split_query;

/// The arguments whose values are not redacted.
const PUBLIC_ARGUMENTS: [&str; 12] = [
    "ref",
    "depth",
    "rev",
    "archive",
    "checksum",
    "tag",
    "digest",
    "version",
    "region",
    "aws_profile",
    "versionId",
    "terraform-get",
];

/// Arguments that contain secrets, or whose values change with every login.
const SECRET_ARGUMENTS: [&str; 11] = [
    "sshkey",
    "aws_access_key_id",
    "aws_access_key_secret",
    "aws_access_token",
    "access_token",
    "private_token",
    "job_token",
    "token",
    "sig",
    "signature",
    "password",
];

/// The prefixes of the arguments of presigned URLs.
const SECRET_PREFIXES: [&str; 2] = ["x-amz-", "x-goog-"];

const REDACTED: &str = "redacted";

/// Returns an address for messages: passwords, and the values of arguments that may contain
/// secrets, are replaced. A user name is preserved only if the scheme is `ssh`, since other user
/// names may be tokens.
pub fn printable_address(address: &str) -> String {
    let (before_query, query) = split_query(address);
    let shown = replace_user(before_query, |scheme, user| {
        let name = if is_ssh(scheme) { user.split(':').next().unwrap_or_default() } else { REDACTED };
        let has_password = user.contains(':');
        Some(if has_password && is_ssh(scheme) { format!("{name}:{REDACTED}") } else { name.to_owned() })
    });
    let Some(query) = query else { return shown };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if !value.is_empty() && !PUBLIC_ARGUMENTS.contains(&name) => {
            format!("{name}={REDACTED}")
        }
        _ => pair.to_owned(),
    });
    format!("{shown}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// Returns an address without the parts that contain secrets. The results for two addresses of the
/// same package with different credentials are equal.
pub(crate) fn without_secrets(address: &str) -> String {
    let (before_query, query) = split_query(address);
    let kept = replace_user(before_query, |scheme, user| {
        is_ssh(scheme).then(|| user.split(':').next().unwrap_or_default().to_owned())
    });
    let pairs = query.unwrap_or_default().split('&').filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        !name.is_empty()
            && !SECRET_ARGUMENTS.contains(&name.as_str())
            && !SECRET_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    let query = pairs.collect::<Vec<_>>().join("&");
    if query.is_empty() { kept } else { format!("{kept}?{query}") }
}

fn is_ssh(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("ssh") || scheme.eq_ignore_ascii_case("git+ssh")
}

/// Replaces the user information of a URL, which is between the scheme and the last `@` before the path.
fn replace_user(url: &str, replace: impl Fn(&str, &str) -> Option<String>) -> String {
    let Some((before, rest)) = url.split_once("://") else {
        // An address without an authority has no user info, but a mistyped one may contain a
        // password: `git::user:password@host`.
        return match url.rsplit_once('@') {
            Some((before, after)) if before.contains(':') => {
                let getter =
                    before.split_once("::").map(|(getter, _)| format!("{getter}::")).unwrap_or_default();
                format!("{getter}{REDACTED}@{after}")
            }
            _ => url.to_owned(),
        };
    };
    let end = rest.find(['/', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((user, host)) = authority.rsplit_once('@') else { return url.to_owned() };
    let scheme = before.rsplit("::").next().unwrap_or_default();
    match replace(scheme, user) {
        Some(user) => format!("{before}://{user}@{host}{path}"),
        None => format!("{before}://{host}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_address_hides_secrets() {
        for (address, shown) in [
            ("git::https://u:secret@a/b?ref=v1", "git::https://redacted@a/b?ref=v1"),
            ("git::https://token@a/b", "git::https://redacted@a/b"),
            ("git::ssh://git@a/b?sshkey=abc&ref=1", "git::ssh://git@a/b?sshkey=redacted&ref=1"),
            ("git::ssh://u:pw@a:22/b", "git::ssh://u:redacted@a:22/b"),
            ("https://a/b.zip?X-Amz-Signature=abc", "https://a/b.zip?X-Amz-Signature=redacted"),
            ("https://a/b@c", "https://a/b@c"),
            ("https://u:p@q@a/b", "https://redacted@a/b"),
            ("git::user:pw@host/x", "git::redacted@host/x"),
            ("s3::https://a/b?aws_access_key_secret=x", "s3::https://a/b?aws_access_key_secret=redacted"),
            ("a/b/c", "a/b/c"),
        ] {
            assert_eq!(printable_address(address), shown);
        }
    }

    #[test]
    fn address_without_secrets_does_not_depend_on_credentials() {
        let address = |user: &str, key: &str| {
            without_secrets(&format!("git::https://{user}a/b.git?ref=v1&sshkey={key}"))
        };
        assert_eq!(address("", "a"), "git::https://a/b.git?ref=v1");
        assert_eq!(address("u:p@", "b"), address("", "c"));
        assert_eq!(without_secrets("git::ssh://git:x@a/b"), "git::ssh://git@a/b");
        assert_eq!(
            without_secrets("https://a/b.zip?X-Amz-Date=1&archive=zip"),
            "https://a/b.zip?archive=zip"
        );
        assert_eq!(without_secrets("https://a/b.zip?token=1"), "https://a/b.zip");
    }
}
