//! Compares sources with the addresses that `terraform get` of Terraform 1.11.4 records for them in
//! `modules.json` or, if the download fails, with the package that it reports.

use proptest::prelude::*;
use wardian_module_source::{ModuleSource, RegistryModuleSource};

/// Sources with their full addresses.
const RECORDED: &[(&str, &str)] = &[
    ("../", "./.."),
    ("./..", "./.."),
    ("../..", "../.."),
    ("./a/../../..", "../.."),
    ("./././a", "./a"),
    ("a/b/c", "registry.terraform.io/a/b/c"),
    ("reg.test/a/b/c//.", "reg.test/a/b/c//."),
    ("reg.test/a/b/c//./sub", "reg.test/a/b/c//sub"),
    ("reg.test/a/b/c///sub", "reg.test/a/b/c///sub"),
    ("REG.test/A/B/c", "reg.test/A/B/c"),
    ("github.com/o/r", "git::https://github.com/o/r.git"),
    ("github.com/o/r.git", "git::https://github.com/o/r.git"),
    ("github.com/o/r/", "git::https://github.com/o/r.git"),
    ("github.com/o/r/sub", "git::https://github.com/o/r.git//sub"),
    ("github.com/o/r/sub/x", "git::https://github.com/o/r.git//sub/x"),
    ("github.com/o/r/sub//x", "git::https://github.com/o/r.git//sub/x"),
    ("github.com/o/r//sub/../sub", "git::https://github.com/o/r.git//sub"),
    ("github.com/o/r.git/sub", "git::https://github.com/o/r.git//sub"),
    ("github.com/o/r/sub?ref=v1", "git::https://github.com/o/r.git//sub?ref=v1"),
    ("github.com/o/r/sub//x?ref=v1", "git::https://github.com/o/r.git//sub/x?ref=v1"),
    ("github.com/o/r?x y", "git::https://github.com/o/r.git?x y"),
    ("github.com/o/r?ref=a&b=c#frag", "git::https://github.com/o/r.git?ref=a&b=c#frag"),
    ("github.com/a/b/c", "git::https://github.com/a/b.git//c"),
    ("git::github.com/o/r", "git::https://github.com/o/r.git"),
    ("git@github.com:o/r.git", "git::ssh://git@github.com/o/r.git"),
    ("git@example.com:22/r.git", "git::ssh://git@example.com/22/r.git"),
    ("git@example.com:/o/r.git", "git::ssh://git@example.com/o/r.git"),
    ("git@example.com:o/r.git?ref=v1&depth=1", "git::ssh://git@example.com/o/r.git?depth=1&ref=v1"),
    ("git@example.com:o/r.git?ref=feature/x", "git::ssh://git@example.com/o/r.git?ref=feature%2Fx"),
    (
        "git@example.com:o/r.git//sub?ref=dev&depth=1",
        "git::ssh://git@example.com/o/r.git//sub?depth=1&ref=dev",
    ),
    ("git@example.com:o/r.git?depth", "git::ssh://git@example.com/o/r.git?depth="),
    ("git::git@example.com:o/r.git//sub", "git::ssh://git@example.com/o/r.git//sub"),
    ("git@example.com:o r.git", "git::ssh://git@example.com/o%20r.git"),
    ("git@example.com:o/r%20.git", "git::ssh://git@example.com/o/r%2520.git"),
    ("git@exa mple.com:o/r", "git::ssh://git@exa%20mple.com/o/r"),
    ("bitbucket.org/o/r", "git::https://bitbucket.org/o/r.git"),
    ("bitbucket.org/o/r//sub?ref=x", "git::https://bitbucket.org/o/r.git//sub?ref=x"),
    ("bitbucket.org/o/r/sub", "git::https://bitbucket.org/o/r/sub.git"),
    ("bitbucket.org/", "git::https://bitbucket.org/.git"),
    ("www.googleapis.com/storage/v1/bucket/obj", "gcs::https://www.googleapis.com/storage/v1/bucket/obj"),
    (
        "www.googleapis.com/storage/v1/bucket/path//sub",
        "gcs::https://www.googleapis.com/storage/v1/bucket/path//sub",
    ),
    ("foo.googleapis.com/a/b/c/d", "gcs::https://www.googleapis.com/storage/b/c/d"),
    ("xgoogleapis.com/a/b/c/d/e f", "gcs::https://www.googleapis.com/storage/b/c/d/e%20f"),
    ("foo/www.googleapis.com/storage/v1/b/c", "gcs::https://www.googleapis.com/storage/storage/v1/b/c"),
    ("s3.amazonaws.com/bucket/foo", "s3::https://s3.amazonaws.com/bucket/foo"),
    (
        "s3-eu-west-1.amazonaws.com/bucket/foo/bar.zip",
        "s3::https://s3-eu-west-1.amazonaws.com/bucket/foo/bar.zip",
    ),
    ("s3.eu-west-1.amazonaws.com/bucket/foo", "s3::https://eu-west-1.amazonaws.com/s3/bucket/foo"),
    ("bucket.s3.amazonaws.com/foo", "s3::https://s3.amazonaws.com/bucket/foo"),
    ("bucket.s3-eu-west-1.amazonaws.com/foo/bar", "s3::https://s3-eu-west-1.amazonaws.com/bucket/foo/bar"),
    ("bucket.s3.eu-west-1.amazonaws.com/foo/bar", "s3::https://s3.eu-west-1.amazonaws.com/bucket/foo/bar"),
    (
        "bucket.s3.eu-west-1.amazonaws.com/foo//sub?region=x",
        "s3::https://s3.eu-west-1.amazonaws.com/bucket/foo//sub?region=x",
    ),
    ("x.y.amazonaws.com/", "s3::https://y.amazonaws.com/x/"),
    ("s3.amazonaws.com/b/c d?x=1", "s3::https://s3.amazonaws.com/b/c%20d?x=1"),
    ("foo.amazonaws.com/a", "s3::https://foo.amazonaws.com/a"),
    ("/tmp/r", "file:///tmp/r"),
    ("/tmp/r//./sub/", "file:///tmp/r//sub"),
    ("/tmp/./r/.", "file:///tmp/./r/."),
    ("/tmp/r?ref=1//sub", "file:///tmp/r?ref=1//sub"),
    ("/tmp/non exist", "file:///tmp/non exist"),
    ("/", "file:///"),
    ("file:///tmp/r//sub?x=1", "file:///tmp/r//sub?x=1"),
    ("file:///tmp/r//sub?", "file:///tmp/r//sub?"),
    ("file::/tmp/r", "file::file:///tmp/r"),
    ("git::/tmp/r//sub?ref=v1", "git::file:///tmp/r//sub?ref=v1"),
    ("git::/tmp/r?ref=%zz", "git::file:///tmp/r?ref=%zz"),
    ("git::file:///tmp/r//*", "git::file:///tmp/r//*"),
    ("git::file:///tmp/r///sub", "git::file:///tmp/r///sub"),
    ("git::file:///tmp/r//.", "git::file:///tmp/r//."),
    ("git::FILE:///tmp/r", "git::FILE:///tmp/r"),
    ("git::https://example.com//o/r", "git::https://example.com//o/r"),
    ("git::https://a/r.git//a/./b/../c", "git::https://a/r.git//a/c"),
    ("git::https://u:p@a/r?ref=x", "git::https://u:p@a/r?ref=x"),
    ("hg::/tmp/x", "hg::file:///tmp/x"),
    ("example.com:o/r.git", "example.com:o/r.git"),
    ("git@example.com:o/r", "git::ssh://git@example.com/o/r"),
    ("ssh://git@example.com/o/r", "ssh://git@example.com/o/r"),
    ("localhost:80/a/b/c", "localhost:80/a/b/c"),
    ("https://a/x.zip ", "https://a/x.zip "),
    ("HTTPS://a/x.zip", "HTTPS://a/x.zip"),
    ("git::", "git::"),
    ("git::hg::https://a/x", "git::hg::https://a/x"),
    ("oci://a.example/x", "oci://a.example/x"),
    ("https://a", "https://a"),
    ("C:\\a", "C:\\a"),
];

/// Sources that Terraform rejects as "Invalid module source address", and sources that lead out of
/// the package.
const INVALID: &[&str] = &[
    "",
    ".",
    "..",
    "foo",
    "a/b",
    "a/b/C",
    "a/b/c_d",
    "a/b/c-d",
    "-a/b/c",
    "a/b/c?x=1",
    "a/b/c//sub?x=1",
    "a/b/c//../x",
    "localhost/a/b/c",
    "xn--bcher-kva.example/a/b/c",
    "a/b/c/d/e",
    "github.com/o",
    "GitHub.com/o/r",
    "github.com//o/r",
    "user@example.com:o/r.git",
    "git::user@example.com:o/r.git?ref=1",
    "git::https://example.com/o/r.git//../x",
    "git::example.com/o/r.git",
    "git::./r",
    "git::../r",
    "file::./x",
    "www.googleapis.com/storage",
    "foo.googleapis.com/a/b",
    "a.b.c.d.e.f.amazonaws.com/foo/bar",
    "s3.amazonaws.com",
    "foo/s3.amazonaws.com/x",
    "//tmp/x",
    " a/b/c",
    " ./a",
    ".../a",
    "~/x",
    "example.com/foo.git",
    "git.example.com/foo/bar.git//sub",
    "git::https://a/r.git//a/../../c",
    "git::https://a/r.git//..",
    "git::ssh://git@example.com:o/r.git",
    "hg@example.com:o/r",
    "git::file:///tmp/r%zz",
    "reg.test/a/b/c/",
    "reg.test//a/b/c",
    "::https://a",
    "git::?ref=1",
    "?ref=1",
    "git::ssh://git@[::1/x",
    "git::https://a:b:c/x",
    "git::https://a b/x",
    "1git://x/y",
];

#[test]
fn full_addresses_match_terraform() {
    for (source, expected) in RECORDED {
        let parsed = ModuleSource::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(parsed.full_address(), *expected, "{source}");
    }
}

#[test]
fn sources_that_terraform_rejects_are_rejected() {
    for source in INVALID {
        assert!(ModuleSource::parse(source).is_err(), "{source}: {:?}", ModuleSource::parse(source));
    }
}

#[test]
fn display_redacts_secrets() {
    let parsed =
        ModuleSource::parse("git::https://user:secret@a.example/r//sub?ref=v1&sshkey=secret").unwrap();
    assert_eq!(parsed.to_string(), "git::https://redacted@a.example/r//sub?ref=v1&sshkey=redacted");
    assert!(!format!("{parsed:?}").contains("secret"));
    let ModuleSource::Remote(remote) = parsed else { panic!("remote") };
    assert_eq!(remote.package.without_secrets(), "git::https://a.example/r?ref=v1");
}

proptest! {
    #[test]
    fn arbitrary_sources_never_panic(source in "\\PC{0,60}") {
        check(&source);
    }

    #[test]
    fn address_like_text_never_panics(
        source in "((git|hg|s3|gcs|file|http|oci)::)?((https?|ssh|file|oci|git)://)?[a-z@:%./?&=#*\\[\\]-]{0,40}"
    ) {
        check(&source);
    }

    #[test]
    fn parsing_a_full_address_preserves_it(
        host in "[a-z]{1,5}\\.example", path in "[a-z/]{0,12}", sub in "[a-z./]{0,8}"
    ) {
        for source in [
            format!("git::https://{host}/{path}//{sub}?ref=x"),
            format!("git@{host}:{path}//{sub}"),
            format!("/{path}//{sub}"),
        ] {
            if let Ok(parsed) = ModuleSource::parse(&source) {
                let again = ModuleSource::parse(&parsed.full_address()).unwrap();
                prop_assert_eq!(again.full_address(), parsed.full_address());
            }
        }
    }
}

fn check(source: &str) {
    let _ = RegistryModuleSource::parse(source);
    if let Ok(parsed) = ModuleSource::parse(source) {
        let _ = (parsed.to_string(), parsed.full_address(), format!("{parsed:?}"));
        if let ModuleSource::Remote(remote) = parsed {
            let _ = format!("{:?}", remote.package.location());
            assert!(remote.subdirectory.to_path().components().all(|part| part.as_os_str() != ".."));
        }
    }
}
