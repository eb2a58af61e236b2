//! The cases: each fault of a server or archive, with the object that is installed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends there")]

use std::collections::BTreeMap;

use wardian_registry_server::{
    ComponentChannel, Fault, FaultRule, FileDescription, HostileArchive, ModuleRelease, OciRepository,
    Origin, PackageContent, ProviderRelease, ServerDescription, SignatureKind,
};

use crate::install_setup::{CLI_CONFIGURATION, CLI_FILE, Installation, requiring, usual_content};

/// The object to install, and the server from which it is installed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A provider from a registry over HTTP.
    Provider,
    /// A provider from a registry over TLS, which is found by service discovery.
    TlsProvider,
    /// A provider from a network mirror over TLS.
    Mirror,
    /// A provider from an OCI mirror over TLS.
    Oci,
    /// A module from a registry.
    Module,
    /// A module at this address, in which placeholders for addresses are replaced.
    Archive(&'static str),
}

/// One fault.
pub(super) struct FaultCase {
    pub(super) name: &'static str,
    pub(super) title: String,
    pub(super) subject: Subject,
    /// Whether the installation succeeds despite the fault.
    pub(super) recovers: bool,
    change: Box<dyn Fn(&mut ServerDescription) + Sync>,
}

impl FaultCase {
    fn new(
        name: &'static str,
        title: &str,
        subject: Subject,
        change: impl Fn(&mut ServerDescription) + Sync + 'static,
    ) -> Self {
        Self { name, title: title.to_owned(), subject, recovers: false, change: Box::new(change) }
    }

    fn recovering(mut self) -> Self {
        self.recovers = true;
        self
    }

    pub(super) fn content_with_addresses(&self, installation: &Installation) -> ServerDescription {
        let mut content = usual_content();
        content.providers[0].versions.truncate(1);
        content.modules[0].versions.truncate(1);
        if self.subject == Subject::Oci {
            content.oci.push(OciRepository {
                name: "mirror/acme/fake".to_owned(),
                provider: Some("acme/fake".to_owned()),
                ..OciRepository::default()
            });
        }
        (self.change)(&mut content);
        // Locations in the description may contain placeholders for server addresses.
        for module in &mut content.modules {
            for version in &mut module.versions {
                version.source = version.source.as_ref().map(|source| installation.replaced(source));
            }
        }
        for provider in &mut content.providers {
            for version in &mut provider.versions {
                version.download_url = version.download_url.as_ref().map(|url| installation.replaced(url));
            }
        }
        content.discovery =
            content.discovery.map(|document| installation.replaced(&document.to_string()).parse().unwrap());
        for file in content.files.values_mut() {
            for value in file.headers.values_mut() {
                *value = installation.replaced(value);
            }
        }
        content
    }

    pub(super) fn configuration(&self) -> String {
        match self.subject {
            Subject::Provider | Subject::Mirror | Subject::Oci => {
                requiring(&[("fake", "example.test/acme/fake", "")])
            }
            Subject::TlsProvider => requiring(&[("fake", "[HOST]/acme/fake", "")]),
            Subject::Module => "module \"net\" {\n  source = \"example.test/acme/net/aws\"\n}\n".to_owned(),
            Subject::Archive(source) => format!("module \"net\" {{\n  source = \"{source}\"\n}}\n"),
        }
    }

    /// Returns the CLI configuration. Each host has a token that no other host may receive.
    pub(super) fn files(&self) -> Vec<(&'static str, String)> {
        let installation = match self.subject {
            Subject::Mirror => {
                "provider_installation {\n  network_mirror {\n    url = \"[TLS]/mirror/\"\n  }\n}\n"
            }
            Subject::Oci => {
                "provider_installation {\n  oci_mirror {\n    repository_template = \
                 \"[HOST]/mirror/${namespace}/${type}\"\n    include = [\"example.test/*/*\"]\n  }\n}\n"
            }
            _ => "",
        };
        let credentials = "credentials \"example.test\" {\n  token = \"secret-1\"\n}\n\ncredentials \"[HOST]\" {\n  \
                           token = \"secret-1\"\n}\n";
        vec![(CLI_FILE, format!("{CLI_CONFIGURATION}\n{credentials}\n{installation}"))]
    }
}

fn fault(path: &'static str, fault: Fault) -> impl Fn(&mut ServerDescription) + Sync + 'static {
    move |content| content.faults.push(FaultRule::new(path, fault.clone()))
}

fn fault_once(path: &'static str, fault: Fault) -> impl Fn(&mut ServerDescription) + Sync + 'static {
    move |content| content.faults.push(FaultRule::new(path, fault.clone()).with_times(1))
}

fn release(change: impl Fn(&mut ProviderRelease) + Sync + 'static) -> impl Fn(&mut ServerDescription) + Sync {
    move |content| change(&mut content.providers[0].versions[0])
}

fn module(change: impl Fn(&mut ModuleRelease) + Sync + 'static) -> impl Fn(&mut ServerDescription) + Sync {
    move |content| change(&mut content.modules[0].versions[0])
}

fn with_file(
    name: &'static str,
    file: impl Fn() -> FileDescription + Sync + 'static,
) -> impl Fn(&mut ServerDescription) + Sync {
    move |content| {
        content.files.insert(name.to_owned(), file());
    }
}

fn archive_of_one_file() -> FileDescription {
    FileDescription {
        archive: Some(BTreeMap::from([("main.tf".to_owned(), "# net\n".to_owned())])),
        ..FileDescription::default()
    }
}

fn text(value: &str) -> Fault {
    Fault::Text(value.to_owned())
}

/// Returns the faults that every document of a protocol can have.
fn faults_of_documents() -> Vec<(&'static str, &'static str, Fault)> {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    vec![
        ("not-json", "an HTML page", text("<html><body>Sign in</body></html>")),
        ("other-json", "JSON of another form", text("[1, 2, 3]")),
        ("nested-json", "JSON with 100,000 nested arrays", Fault::Text(nested)),
        ("cut-json", "JSON that ends in the middle", Fault::Shorter(5)),
        ("endless", "a body that never ends", Fault::EndlessBody),
        ("large", "a body of 2 GB", Fault::LargeBody(2_000_000_000)),
        ("no-answer", "no answer at all", Fault::NoAnswer),
        ("stalled", "a body that stops in the middle", Fault::StallAfter(10)),
        ("cut", "a connection that ends in the middle", Fault::CutAfter(10)),
        ("closed", "a connection that ends without an answer", Fault::Close),
        ("redirect-loop", "a redirect to the same address", Fault::RedirectLoop),
        ("endless-redirects", "redirects without an end", Fault::EndlessRedirects),
        ("redirect-to-file", "a redirect to a file", Fault::Redirect("file:///etc/passwd".to_owned())),
        ("401", "status 401", Fault::Status(401)),
        ("403", "status 403", Fault::Status(403)),
        ("404", "status 404", Fault::Status(404)),
        ("429", "status 429 each time", Fault::Status(429)),
        ("500", "status 500 each time", Fault::Status(500)),
    ]
}

/// Adds the faults of the documents at a path.
fn documents(cases: &mut Vec<FaultCase>, prefix: &'static str, subject: Subject, path: &'static str) {
    for (name, title, kind) in faults_of_documents() {
        // The names are leaked, since they are used until the process exits.
        let name: &'static str = Box::leak(format!("{prefix}/{name}").into_boxed_str());
        cases.push(FaultCase::new(name, title, subject, fault(path, kind)));
    }
}

pub(super) fn every_case() -> Vec<FaultCase> {
    let mut cases = Vec::new();
    documents(&mut cases, "discovery", Subject::TlsProvider, "/.well-known/terraform.json");
    documents(&mut cases, "versions", Subject::Provider, "/v1/providers/*/versions");
    documents(&mut cases, "download", Subject::TlsProvider, "/v1/providers/*/download/*");
    documents(&mut cases, "mirror-index", Subject::Mirror, "/mirror/*/index.json");
    documents(&mut cases, "mirror-version", Subject::Mirror, "/mirror/*/1.0.0.json");
    documents(&mut cases, "oci-tags", Subject::Oci, "/v2/*/tags/list");
    documents(&mut cases, "oci-manifest", Subject::Oci, "/v2/*/manifests/*");
    documents(&mut cases, "module-versions", Subject::Module, "/v1/modules/*/versions");
    registry(&mut cases);
    signatures(&mut cases);
    packages(&mut cases);
    mirrors(&mut cases);
    oci(&mut cases);
    modules(&mut cases);
    cases
}

fn registry(cases: &mut Vec<FaultCase>) {
    use Subject::{Provider, TlsProvider};
    const DISCOVERY: &str = "/.well-known/terraform.json";
    const VERSIONS: &str = "/v1/providers/*/versions";
    let html = || Fault::ContentType("text/html".to_owned());
    cases.extend([
        FaultCase::new(
            "discovery/content-type",
            "a wrong content type",
            TlsProvider,
            fault(DISCOVERY, html()),
        ),
        FaultCase::new(
            "discovery/downgrade",
            "a redirect from https to http",
            TlsProvider,
            fault(DISCOVERY, Fault::RedirectToPlain),
        ),
        FaultCase::new(
            "discovery/other-service",
            "a host without a provider registry",
            TlsProvider,
            |content| {
                content.discovery = Some(serde_json::json!({ "modules.v1": "/v1/modules/" }));
            },
        ),
        FaultCase::new(
            "discovery/service-on-http",
            "a registry at an http address",
            TlsProvider,
            |content| {
                content.discovery = Some(serde_json::json!({ "providers.v1": "http://127.0.0.1:9/v1/" }));
            },
        ),
        FaultCase::new("discovery/service-is-file", "a registry at a file address", TlsProvider, |content| {
            content.discovery = Some(serde_json::json!({ "providers.v1": "file:///etc/" }));
        }),
        FaultCase::new("discovery/redirect-to-other", "a redirect to another host", TlsProvider, |content| {
            let rule = FaultRule::new(DISCOVERY, Fault::RedirectToOther).with_origin(Origin::Tls);
            content.faults.push(rule);
            content.discovery = Some(serde_json::json!({ "providers.v1": "[TLS]/v1/providers/" }));
        })
        .recovering(),
        FaultCase::new(
            "versions/redirect-to-other",
            "a redirect to another host, which must not receive the token",
            TlsProvider,
            |content| {
                let rule = FaultRule::new(VERSIONS, Fault::RedirectToOther).with_origin(Origin::Tls);
                content.faults.push(rule);
            },
        )
        .recovering(),
        FaultCase::new(
            "versions/downgrade",
            "a redirect from https to http",
            TlsProvider,
            fault(VERSIONS, Fault::RedirectToPlain),
        ),
        FaultCase::new(
            "versions/once-500",
            "status 500 once",
            Provider,
            fault_once(VERSIONS, Fault::Status(500)),
        )
        .recovering(),
        FaultCase::new(
            "versions/once-429",
            "status 429 once, with the time to wait",
            Provider,
            fault_once(
                VERSIONS,
                Fault::StatusWith {
                    status: 429,
                    headers: BTreeMap::from([("Retry-After".to_owned(), "1".to_owned())]),
                },
            ),
        )
        .recovering(),
        FaultCase::new(
            "versions/once-cut",
            "one connection that ends",
            Provider,
            fault_once(VERSIONS, Fault::Close),
        )
        .recovering(),
        FaultCase::new("versions/empty", "no versions", Provider, |content| {
            content.providers[0].versions.clear();
        }),
        FaultCase::new("versions/withdrawn", "a version whose packages are gone", Provider, |content| {
            content.providers[0].versions[0].is_withdrawn = true;
        }),
        FaultCase::new("versions/other-protocol", "a version of an unknown protocol", Provider, |content| {
            content.providers[0].versions[0].protocols = vec!["99.0".to_owned()];
        }),
        FaultCase::new("versions/other-platform", "a version for other platforms", Provider, |content| {
            content.providers[0].versions[0].platforms = vec!["plan9_mips".to_owned()];
        }),
        FaultCase::new(
            "versions/invalid",
            "a version that is not a version",
            Provider,
            fault(
                VERSIONS,
                text(r#"{"versions":[{"version":"../../x","protocols":["5.0"],"platforms":[]}]}"#),
            ),
        ),
        FaultCase::new(
            "download/empty",
            "an answer without addresses",
            Provider,
            fault("/v1/providers/*/download/*", text("{}")),
        ),
        FaultCase::new(
            "download/other-protocol",
            "a package at a file address",
            Provider,
            release(|release| release.download_url = Some("file:///etc/passwd".to_owned())),
        ),
    ]);
}

fn signatures(cases: &mut Vec<FaultCase>) {
    const SUMS: &str = "/releases/*_SHA256SUMS";
    let kinds = [
        ("signature/missing", "no signature", SignatureKind::MissingFile),
        ("signature/no-keys", "no keys", SignatureKind::NoKeys),
        ("signature/wrong-key", "a signature by another key", SignatureKind::WrongKey),
        ("signature/revoked-key", "a signature by a revoked key", SignatureKind::RevokedKey),
        ("signature/expired", "an expired signature", SignatureKind::ExpiredSignature),
        ("signature/changed-sums", "a signature of other checksums", SignatureKind::ChangedSums),
        ("signature/damaged", "a damaged signature", SignatureKind::Damaged),
        ("signature/armored", "a signature as text", SignatureKind::Armored),
        ("signature/broken-key", "a key that is not a key", SignatureKind::BrokenKey),
        ("signature/bad-trust", "an invalid trust signature", SignatureKind::BadTrust),
    ];
    for (name, title, kind) in kinds {
        cases.push(FaultCase::new(
            name,
            title,
            Subject::Provider,
            release(move |release| release.signature = kind),
        ));
    }
    cases.push(
        FaultCase::new(
            "signature/expired-key",
            "a signature by a key that expired later",
            Subject::Provider,
            release(|release| release.signature = SignatureKind::ExpiredKey),
        )
        .recovering(),
    );
    for (name, title, kind) in [
        ("sums/404", "no checksums", Fault::Status(404)),
        ("sums/endless", "checksums without an end", Fault::EndlessBody),
        ("sums/large", "checksums of 2 GB", Fault::LargeBody(2_000_000_000)),
        ("sums/corrupt", "damaged checksums", Fault::Corrupt),
        ("sums/html", "an HTML page", text("<html></html>")),
    ] {
        cases.push(FaultCase::new(name, title, Subject::Provider, fault(SUMS, kind)));
    }
    cases.extend([
        FaultCase::new("signature/endless", "a signature without an end", Subject::Provider, {
            fault("/releases/*_SHA256SUMS.sig", Fault::EndlessBody)
        }),
        FaultCase::new("sums/other-digest", "checksums of another package", Subject::Provider, |content| {
            let release = &mut content.providers[0].versions[0];
            release.shasum = Some("0".repeat(64));
        }),
        FaultCase::new("sums/no-line", "checksums without a line for the package", Subject::Provider, {
            release(|release| release.sums = Some((".zip".to_owned(), ".gz".to_owned())))
        }),
    ]);
}

fn packages(cases: &mut Vec<FaultCase>) {
    const PACKAGE: &str = "/releases/*.zip";
    for (name, title, kind) in [
        ("package/404", "no package", Fault::Status(404)),
        ("package/403", "status 403", Fault::Status(403)),
        ("package/500", "status 500 each time", Fault::Status(500)),
        ("package/corrupt", "one wrong bit", Fault::Corrupt),
        ("package/longer", "more bytes than there should be", Fault::Longer(100)),
        ("package/shorter", "fewer bytes than there should be", Fault::Shorter(10)),
        ("package/endless", "a package without an end", Fault::EndlessBody),
        ("package/html", "an HTML page", text("<html><body>Sign in</body></html>")),
        ("package/cut-at-start", "a connection that ends before the body, each time", Fault::CutAfter(0)),
        ("package/closed", "a connection that ends without an answer", Fault::Close),
        ("package/redirect-loop", "a redirect to the same address", Fault::RedirectLoop),
        ("package/endless-redirects", "redirects without an end", Fault::EndlessRedirects),
    ] {
        cases.push(FaultCase::new(name, title, Subject::Provider, fault(PACKAGE, kind)));
    }
    cases.extend([
        FaultCase::new("package/downgrade", "a redirect from https to http", Subject::TlsProvider, {
            fault(PACKAGE, Fault::RedirectToPlain)
        }),
        FaultCase::new(
            "package/redirect-to-other",
            "a redirect to another host",
            Subject::TlsProvider,
            |content| {
                content.faults.push(FaultRule::new(PACKAGE, Fault::RedirectToOther).with_origin(Origin::Tls));
            },
        )
        .recovering(),
        FaultCase::new("package/cut-once", "one connection that ends in the middle", Subject::Provider, {
            fault_once(PACKAGE, Fault::CutAfter(50))
        })
        .recovering(),
        FaultCase::new("package/cut", "connections that end after 200 bytes each", Subject::Provider, {
            fault(PACKAGE, Fault::CutAfter(200))
        })
        .recovering(),
        FaultCase::new("package/slow", "a package in small pieces", Subject::Provider, {
            fault(PACKAGE, Fault::SlowBody { bytes: 20, pause_ms: 20 })
        })
        .recovering(),
        FaultCase::new("package/500-once", "status 500 once", Subject::Provider, {
            fault_once(PACKAGE, Fault::Status(500))
        })
        .recovering(),
    ]);
    // A setuid bit is removed when the package is unpacked, so the installation succeeds.
    let harmless = [HostileArchive::Setuid];
    for kind in HostileArchive::ALL {
        let name: &'static str = Box::leak(format!("package-archive/{}", kind.name()).into_boxed_str());
        let case = FaultCase::new(name, kind.title(), Subject::Provider, move |content| {
            content.providers[0].versions[0].package = PackageContent::Hostile(kind);
        });
        cases.push(if harmless.contains(&kind) { case.recovering() } else { case });
    }
    cases.extend([
        FaultCase::new(
            "component/not-a-component",
            "a component that is none",
            Subject::Provider,
            |content| {
                let release = &mut content.providers[0].versions[0];
                release.component = Some(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
                release.component_channel = ComponentChannel::Sums;
            },
        ),
        FaultCase::new(
            "component/missing",
            "a component that the checksums list, but is gone",
            Subject::Provider,
            |content| {
                let release = &mut content.providers[0].versions[0];
                release.component = Some(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
                release.component_channel = ComponentChannel::Sums;
                content.faults.push(FaultRule::new("/releases/*.wasm", Fault::Status(500)));
            },
        ),
    ]);
}

fn mirrors(cases: &mut Vec<FaultCase>) {
    const PACKAGE: &str = "/mirror/*.zip";
    let html = || Fault::ContentType("text/html".to_owned());
    for (name, title, path, kind) in [
        ("mirror-index/content-type", "a wrong content type", "/mirror/*/index.json", html()),
        ("mirror-index/downgrade", "a redirect to http", "/mirror/*/index.json", Fault::RedirectToPlain),
        ("mirror-package/404", "no package", PACKAGE, Fault::Status(404)),
        ("mirror-package/corrupt", "one wrong bit", PACKAGE, Fault::Corrupt),
        ("mirror-package/endless", "a package without an end", PACKAGE, Fault::EndlessBody),
        ("mirror-package/downgrade", "a redirect to http", PACKAGE, Fault::RedirectToPlain),
        ("mirror-package/html", "an HTML page", PACKAGE, text("<html></html>")),
    ] {
        cases.push(FaultCase::new(name, title, Subject::Mirror, fault(path, kind)));
    }
    let hashes = |hash: &'static str| {
        release(move |release: &mut ProviderRelease| release.mirror_hashes = Some(vec![hash.to_owned()]))
    };
    cases.extend([
        FaultCase::new(
            "mirror-version/other-hash",
            "a hash of another package",
            Subject::Mirror,
            hashes("zh:0000000000000000000000000000000000000000000000000000000000000000"),
        ),
        FaultCase::new("mirror-version/unknown-hash", "a hash of an unknown scheme", Subject::Mirror, hashes("h9:x")),
        FaultCase::new("mirror-version/invalid-hash", "a hash that is none", Subject::Mirror, hashes("nonsense")),
        FaultCase::new("mirror-version/url-of-file", "a package at a file address", Subject::Mirror, {
            fault(
                "/mirror/*/1.0.0.json",
                text(r#"{"archives":{"linux_amd64":{"url":"file:///etc/passwd"},"linux_arm64":{"url":"file:///etc/passwd"},"darwin_arm64":{"url":"file:///etc/passwd"}}}"#),
            )
        }),
    ]);
}

fn oci(cases: &mut Vec<FaultCase>) {
    for (name, title, kind) in [
        ("oci-blob/404", "no package", Fault::Status(404)),
        ("oci-blob/corrupt", "one wrong bit", Fault::Corrupt),
        ("oci-blob/longer", "more bytes than the manifest states", Fault::Longer(100)),
        ("oci-blob/shorter", "fewer bytes than the manifest states", Fault::Shorter(10)),
        ("oci-blob/endless", "a package without an end", Fault::EndlessBody),
        ("oci-blob/downgrade", "a redirect from https to http", Fault::RedirectToPlain),
    ] {
        cases.push(FaultCase::new(name, title, Subject::Oci, fault("/v2/*/blobs/*", kind)));
    }
    cases.extend([
        FaultCase::new("oci-manifest/corrupt", "one wrong bit in a manifest", Subject::Oci, {
            fault("/v2/*/manifests/sha256:*", Fault::Corrupt)
        }),
        FaultCase::new("oci-tags/endless-pages", "pages of tags without an end", Subject::Oci, {
            fault(
                "/v2/*/tags/list*",
                Fault::Header {
                    name: "Link".to_owned(),
                    value: "</v2/mirror/acme/fake/tags/list?n=1&last=1.0.0>; rel=\"next\"".to_owned(),
                },
            )
        }),
        FaultCase::new("oci-token/wrong-password", "a password that is missing", Subject::Oci, |content| {
            content.password = Some("user:pass".to_owned());
        }),
        FaultCase::new("oci-token/500", "a token service that fails", Subject::Oci, |content| {
            content.oci_requires_token = true;
            content.faults.push(FaultRule::new("/token", Fault::Status(500)));
        }),
        FaultCase::new("oci-blob/redirect-to-storage", "packages of another host", Subject::Oci, |content| {
            content.oci_requires_token = true;
            content.oci_redirects_blobs = true;
        })
        .recovering(),
        FaultCase::new("oci-tags/pages", "one tag on each page", Subject::Oci, |content| {
            let release = &content.providers[0].versions[0];
            let mut others = Vec::new();
            for patch in 0..5 {
                others.push(ProviderRelease { version: format!("0.9.{patch}"), ..release.clone() });
            }
            content.providers[0].versions.extend(others);
            content.oci_page = Some(1);
        })
        .recovering(),
    ]);
}

fn modules(cases: &mut Vec<FaultCase>) {
    use Subject::{Archive, Module};
    let located = |source: &'static str| module(move |release| release.source = Some(source.to_owned()));
    cases.extend([
        FaultCase::new("module/no-location", "no location", Module, module(|release| release.has_no_location = true)),
        FaultCase::new("module/file-location", "a location on the user's disk", Module, located("file:///etc")),
        FaultCase::new("module/absolute-location", "a path on the user's disk", Module, located("/etc")),
        FaultCase::new(
            "module/ext-location",
            "a location that runs a program",
            Module,
            located("git::ext::sh -c touch% escaped"),
        ),
        FaultCase::new(
            "module/option-location",
            "a location that git would read as an option",
            Module,
            located("git::--upload-pack=touch escaped"),
        ),
        FaultCase::new(
            "module/registry-location",
            "a location in a registry",
            Module,
            located("example.test/acme/zone/aws"),
        ),
        FaultCase::new("module/missing-archive", "no archive", Module, fault("/module-archives/*", Fault::Status(404))),
        FaultCase::new("module/endless-archive", "an archive without an end", Module, {
            fault("/module-archives/*", Fault::EndlessBody)
        }),
        FaultCase::new("module/corrupt-archive", "one wrong bit", Module, fault("/module-archives/*", Fault::Corrupt)),
        FaultCase::new("module/html-archive", "an HTML page", Module, fault("/module-archives/*", text("<html>"))),
        FaultCase::new("module/cut-archive", "a connection that ends in the middle, each time", Module, {
            fault("/module-archives/*", Fault::CutAfter(20))
        }),
        FaultCase::new("module/no-versions", "no versions", Module, |content: &mut ServerDescription| {
            content.modules[0].versions.clear();
        }),
        FaultCase::new("archive/404", "no archive", Archive("[PLAIN]/files/none.zip"), |_| {}),
        FaultCase::new("archive/html", "an HTML page", Archive("[PLAIN]/files/net.zip"), {
            with_file("net.zip", || FileDescription {
                text: Some("<html></html>".to_owned()),
                ..FileDescription::default()
            })
        }),
        FaultCase::new(
            "archive/checksum",
            "an archive with another checksum",
            Archive(
                "[PLAIN]/files/net.zip?checksum=sha256:0000000000000000000000000000000000000000000000000000000000000000",
            ),
            with_file("net.zip", archive_of_one_file),
        ),
        FaultCase::new("archive/redirect-loop", "a redirect to the same address", Archive("[PLAIN]/files/net.zip"), {
            fault("/files/net.zip", Fault::RedirectLoop)
        }),
        FaultCase::new("archive/downgrade", "a redirect from https to http", Archive("[TLS]/files/net.zip"), {
            |content: &mut ServerDescription| {
                content.files.insert("net.zip".to_owned(), archive_of_one_file());
                content.faults.push(FaultRule::new("/files/net.zip", Fault::RedirectToPlain).with_origin(Origin::Tls));
            }
        }),
        FaultCase::new("archive/no-location", "a page that names no location", Archive("[PLAIN]/files/page"), {
            with_file("page", || FileDescription {
                text: Some("<html></html>".to_owned()),
                ..FileDescription::default()
            })
        }),
        FaultCase::new("archive/location-loop", "a page that names itself", Archive("[PLAIN]/files/page"), {
            with_file("page", || FileDescription {
                headers: BTreeMap::from([("X-Terraform-Get".to_owned(), "[PLAIN]/files/page".to_owned())]),
                ..FileDescription::default()
            })
        }),
        FaultCase::new("archive/location-is-file", "a page that names a file", Archive("[PLAIN]/files/page"), {
            with_file("page", || FileDescription {
                headers: BTreeMap::from([("X-Terraform-Get".to_owned(), "file:///etc".to_owned())]),
                ..FileDescription::default()
            })
        }),
        FaultCase::new("git/404", "no repository", Archive("git::[PLAIN]/git/none.git"), |_| {}),
    ]);
    for (prefix, source, file) in [
        ("module-zip", "[PLAIN]/files/net.zip", "net.zip"),
        ("module-tar", "[PLAIN]/files/net.tar.gz", "net.tar.gz"),
    ] {
        for kind in HostileArchive::ALL {
            let name: &'static str = Box::leak(format!("{prefix}/{}", kind.name()).into_boxed_str());
            let case = FaultCase::new(
                name,
                kind.title(),
                Archive(source),
                with_file(file, move || FileDescription {
                    hostile: Some(kind),
                    ..FileDescription::default()
                }),
            );
            if kind == HostileArchive::Bomb {
                // The limit for modules is 4 GiB; only the tests of the archive crate unpack that
                // much.
                continue;
            }
            cases.push(if is_within_limits(prefix, kind) { case.recovering() } else { case });
        }
    }
}

/// Returns whether a module package can be installed despite its fault: its setuid bit is removed,
/// and its size, number of files and depth are within the limits for modules.
fn is_within_limits(prefix: &str, kind: HostileArchive) -> bool {
    match kind {
        HostileArchive::Setuid | HostileArchive::NoExecutable => true,
        HostileArchive::TooMany => prefix == "module-zip",
        HostileArchive::Overlap
        | HostileArchive::WrongSize
        | HostileArchive::TooDeep
        | HostileArchive::LongName => prefix == "module-tar",
        _ => false,
    }
}
