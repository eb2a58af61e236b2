use super::*;
use crate::remote::RemoteModuleSource;

fn location(source: &str) -> Result<PackageLocation, PackageLocationError> {
    RemoteModuleSource::parse(source).unwrap().package.location()
}

#[track_caller]
fn git(source: &str) -> GitLocation {
    match location(source) {
        Ok(PackageLocation::Git(location)) => location,
        other => panic!("{source}: {other:?}"),
    }
}

#[track_caller]
fn http(source: &str) -> HttpLocation {
    match location(source) {
        Ok(PackageLocation::Http(location)) => location,
        other => panic!("{source}: {other:?}"),
    }
}

#[track_caller]
fn s3(source: &str) -> S3Location {
    match location(source) {
        Ok(PackageLocation::S3(location)) => location,
        other => panic!("{source}: {other:?}"),
    }
}

#[track_caller]
fn error(source: &str) -> PackageLocationError {
    location(source).unwrap_err()
}

#[test]
fn git_arguments_are_removed_from_the_url() {
    let parsed = git("git::https://u:p@a.example/r.git//sub?ref=feature%2Fx&depth=2&sshkey=a2V5&other=%31");
    assert_eq!(parsed.url.as_str(), "https://u:p@a.example/r.git?other=%31");
    assert_eq!(parsed.reference.as_deref(), Some("feature/x"));
    assert_eq!(parsed.depth, Some(2));
    assert_eq!(parsed.ssh_key.as_ref().map(SshKey::as_bytes), Some(b"key".as_slice()));
    let shown = format!("{parsed:?}");
    assert!(!shown.contains("u:p") && !shown.contains("a2V5") && !shown.contains("key\""), "{shown}");
    for (source, url) in [
        ("github.com/o/r", "https://github.com/o/r.git"),
        ("git@a.example:o/r.git", "ssh://git@a.example/o/r.git"),
        ("git::/srv/r", "file:///srv/r"),
        ("git://a.example/r?ref=", "git://a.example/r"),
        ("git::ssh://a.example:22/o/r.git?depth=x", "ssh://a.example:22/o/r.git"),
        ("git::https://a.example/r?archive=false&checksum=", "https://a.example/r"),
    ] {
        let parsed = git(source);
        assert_eq!((parsed.url.as_str(), parsed.reference, parsed.depth), (url, None, None), "{source}");
    }
}

#[test]
fn arguments_that_inject_options_are_rejected() {
    use PackageLocationError as Error;
    let dash = |source| matches!(error(source), Error::ArgumentLikeOption { .. });
    assert!(dash("git::https://a.example/r?ref=--upload-pack=touch%20x"));
    assert!(dash("git::https://a.example/r?ref=-b"));
    assert!(dash("git::https://a.example/r?ref=v1%0a"));
    assert!(dash("hg::https://a.example/r?rev=--config=alias.update=!x"));
    for source in [
        "git::ssh://-oProxyCommand=x/r",
        "git::ssh://-oProxyCommand=x@a.example/r",
        "git::https://a.example/r%0ahost=evil.example",
        "git::https://a.example/r#frag",
        "hg::ssh://-oProxyCommand=x/r",
        "git::https:///r",
        "git::file://host/r",
    ] {
        assert!(matches!(error(source), Error::InvalidUrl { .. }), "{source}: {:?}", error(source));
    }
    assert!(RemoteModuleSource::parse("git::ssh://%2DoProxyCommand=x/r").is_err());
    for source in [
        "git::ext::sh -c x",
        "git::ext://sh",
        "git::hg::https://a/b",
        "git::fd::17",
        "git:foo",
        "git::",
        "git::mailto:x",
        "hg::git://a/b",
        "s3::file:///a/b",
        "http::file:///a",
        "file::https://a/b",
    ] {
        assert!(
            matches!(error(source), Error::UrlScheme { .. } | Error::InvalidUrl { .. }),
            "{source}: {:?}",
            error(source)
        );
    }
    assert!(matches!(error("git::https://a/r?archive=zip"), Error::ArchiveNotSupported { .. }));
    assert!(matches!(error("git::https://a/r?checksum=md5:00"), Error::ChecksumWithoutArchive));
    assert!(matches!(error("git::https://a/r?sshkey=abc"), Error::InvalidSshKey));
}

#[test]
fn error_names_unsupported_scheme() {
    for (source, scheme) in [
        ("ftp://a/b", "ftp"),
        ("ssh://git@a/b", "ssh"),
        ("git+ssh://git@a/b", "git+ssh"),
        ("GIT::https://a/b", "GIT"),
        ("foo::https://a/b", "foo"),
        ("example.com:o/r.git", "example.com"),
        ("C:\\a", "c"),
    ] {
        assert_eq!(error(source).to_string(), format!("download not supported for scheme '{scheme}'"));
    }
}

#[test]
fn http_archives_are_recognized() {
    let format = |source| http(source).archive.format;
    assert_eq!(format("https://a.example/x.tar.gz"), Some(PackageArchive::TarGzip));
    assert_eq!(format("https://a.example/x?archive=zip"), Some(PackageArchive::Zip));
    for page in [
        "https://a.example/x",
        "https://a.example/x.zip?archive=false",
        "https://a.example/x.zip?archive=foo",
    ] {
        assert_eq!(format(page), None, "{page}");
    }
    let parsed = http("HTTPS://u:p%40@A.example/x.zip?b=2&archive=zip&a=%2f&checksum=");
    assert_eq!(parsed.url.as_str(), "https://a.example/x.zip?b=2&a=%2f");
    let credentials = parsed.credentials.clone().unwrap();
    assert_eq!((credentials.user.as_str(), credentials.password.as_str()), ("u", "p@"));
    assert!(!format!("{parsed:?}").contains("p@"));
    use PackageLocationError as Error;
    assert!(matches!(error("https://a/x.gz"), Error::SingleFile { .. }));
    assert!(matches!(error("https://a/x?checksum=md5:00"), Error::InvalidChecksum { .. }));
    let md5 = "0".repeat(32);
    assert!(matches!(error(&format!("https://a/x?checksum=md5:{md5}")), Error::ChecksumWithoutArchive));
    assert!(http(&format!("https://a/x.zip?checksum={md5}")).archive.checksum.is_some());
    for source in ["http:foo", "http:/foo", "https:///x"] {
        assert!(matches!(error(source), Error::InvalidUrl { .. }), "{source}");
    }
}

#[test]
fn file_paths_are_decoded() {
    let path = |source: &str| match location(source) {
        Ok(PackageLocation::File(location)) => location.path.display().to_string(),
        other => panic!("{source}: {other:?}"),
    };
    assert_eq!(path("/srv/modules/vpc//sub"), "/srv/modules/vpc");
    assert_eq!(path("/srv/../a%20b"), "/srv/../a b");
    assert_eq!(path("file:///srv/vpc?a=b"), "/srv/vpc");
    assert_eq!(path("file::/srv"), "/srv");
    assert_eq!(path("/"), "/");
    assert!(location("file://srv/vpc").is_err());
    assert!(location("file:///a%00b").is_err());
}

#[test]
fn bucket_name_may_be_in_host_or_path() {
    for (source, bucket, key, region) in [
        ("s3.amazonaws.com/b/k/x.zip", "b", "k/x.zip", "us-east-1"),
        ("s3-eu-west-1.amazonaws.com/b/k", "b", "k", "eu-west-1"),
        ("s3.eu-west-1.amazonaws.com/b/k", "b", "k", "eu-west-1"),
        ("b.s3.amazonaws.com/k", "b", "k", "us-east-1"),
        ("b.s3-eu-west-1.amazonaws.com/k", "b", "k", "eu-west-1"),
        ("b.s3.eu-west-1.amazonaws.com/k", "b", "k", "eu-west-1"),
        ("s3::https://s3.eu-west-1.amazonaws.com/b/k", "b", "k", "eu-west-1"),
        ("s3::https://my.b.s3.eu-west-1.amazonaws.com/k", "my.b", "k", "eu-west-1"),
        ("s3::https://s3.cn-north-1.amazonaws.com.cn/b/k", "b", "k", "cn-north-1"),
        ("s3::http://127.0.0.1:9000/b/k%20x?region=eu", "b", "k x", "eu"),
        ("s3::http://127.0.0.1:9000/b/k", "b", "k", "us-east-1"),
    ] {
        let parsed = s3(source);
        let found = (parsed.bucket.as_str(), parsed.key.as_str(), parsed.region.as_str());
        assert_eq!(found, (bucket, key, region), "{source}");
    }
    let parsed = s3(
        "s3::https://a.example/b/k?aws_access_key_id=i&aws_access_key_secret=s&aws_access_token=t&version=3",
    );
    assert_eq!(parsed.version.as_deref(), Some("3"));
    let credentials = parsed.credentials.unwrap();
    assert_eq!(
        (credentials.secret_access_key.as_str(), credentials.session_token.as_deref()),
        ("s", Some("t"))
    );
    assert!(!format!("{credentials:?}").contains("\"s\""));
    use PackageLocationError as Error;
    assert!(matches!(error("s3::https://a.example/b"), Error::BucketUrl { .. }));
    assert!(matches!(error("foo.amazonaws.com/a"), Error::BucketUrl { .. }));
    assert!(matches!(error("s3::https://a/b/k?aws_access_key_id=i"), Error::IncompleteCredentials));
}

#[test]
fn gcs_object_generation_is_parsed() {
    let parsed = match location("gcs::https://www.googleapis.com/storage/v1/b/p/o%20x.zip#123") {
        Ok(PackageLocation::Gcs(parsed)) => parsed,
        other => panic!("{other:?}"),
    };
    assert_eq!((parsed.bucket.as_str(), parsed.object.as_str()), ("b", "p/o x.zip"));
    assert_eq!(parsed.generation.as_deref(), Some("123"));
    assert_eq!(parsed.archive.format, Some(PackageArchive::Zip));
    for bad in ["gcs::https://a.example/storage/v1/b/o", "gcs::https://www.googleapis.com/storage/v1/b"] {
        assert!(matches!(error(bad), PackageLocationError::BucketUrl { .. }), "{bad}");
    }
}

#[test]
fn oci_addresses_require_the_oci_scheme() {
    let oci = |source: &str| match location(source) {
        Ok(PackageLocation::Oci(location)) => location.address,
        other => panic!("{source}: {other:?}"),
    };
    assert_eq!(oci("oci://a.example:5000/o/r//sub?tag=1.0"), "oci://a.example:5000/o/r?tag=1.0");
    for bad in ["oci::https://a.example/r", "oci://", "oci:a/b"] {
        assert!(location(bad).is_err(), "{bad}");
    }
}
