//! Module registries.

use serde_json::json;
use wardian_address::Version;
use wardian_registry::modules::{ModuleLocation, RegistryModule};
use wardian_registry::{RegistryErrorKind, ServiceHost};

use crate::server::{Answer, Server, Setting, run};

const VERSIONS: &str = "/m/ns/mod/sys/versions";
const DOWNLOAD: &str = "/m/ns/mod/sys/1.0.0/download";
const ACCESS: &str = "Error accessing remote module registry";

fn module() -> RegistryModule {
    RegistryModule::new(ServiceHost::parse("example.com").unwrap(), "ns", "mod", "sys").unwrap()
}

#[test]
fn module_is_found_with_its_host_token() {
    run(async {
        let server = Server::start().await;
        let versions =
            ["1.0.0", "v1.1", "2.0.0-rc1", "x", "1.2.3.4"].map(|version| json!({"version": version}));
        let list = json!({"modules": [{"versions": versions}, {"versions": [{"version": "9.0.0"}]}]});
        server
            .answer(VERSIONS, Answer::json(&list))
            .answer(DOWNLOAD, Answer::status(204).header("X-Terraform-Get", "/mods/m.zip//sub"));
        let client = Setting::for_server(&server).with_token(module().host(), "t0ken").client();
        let found = client.module_versions(&module()).await.unwrap();
        let versions: Vec<String> = found.versions.iter().map(ToString::to_string).collect();
        assert_eq!(versions, ["1.0.0", "1.1.0", "2.0.0-rc1"]);
        assert_eq!(found.ignored, ["x", "1.2.3.4"]);
        let location = client.module_location(&module(), &Version::new(1, 0, 0)).await.unwrap();
        assert_eq!(location, ModuleLocation::Source(server.url("/mods/m.zip//sub")));
        for request in server.received() {
            assert_eq!(request.authorization(), Some("Bearer t0ken"));
            assert_eq!(request.headers["x-terraform-version"], "1.11.4");
        }
    });
}

#[test]
fn archive_request_has_the_token_if_the_registry_requires_it() {
    run(async {
        let server = Server::start().await;
        let client = Setting::for_server(&server).with_token(module().host(), "t0ken").client();
        let downloader = wardian_download::Downloader::new(wardian_download::DownloaderOptions::default());
        server.answer("/mods/m.tgz", Answer::bytes("", "archive"));
        for (demands, expected) in [(true, Some("Bearer t0ken")), (false, None)] {
            let body = json!({"location": "/mods/m.tgz", "use_registry_credentials": demands});
            server.answer(DOWNLOAD, Answer::json(&body));
            let location = client.module_location(&module(), &Version::new(1, 0, 0)).await.unwrap();
            let ModuleLocation::Archive { url, uses_registry_credentials } = location else {
                panic!("{location:?}")
            };
            let fetch =
                client.module_archive_request(&module(), url, uses_registry_credentials).await.unwrap();
            downloader.fetch(fetch, 1 << 10).await.unwrap();
            assert_eq!(server.received().last().unwrap().authorization(), expected);
        }
    });
}

#[test]
fn unusable_version_lists_are_errors() {
    run(async {
        for (answer, summary, expected) in [
            (
                Answer::status(404),
                "Module not found",
                "cannot be found in the module registry at example.com",
            ),
            (Answer::status(401), ACCESS, "requires authentication credentials"),
            (Answer::status(500), ACCESS, "500 Internal Server Error"),
            (Answer::bytes("application/json", "{"), ACCESS, "not the expected JSON"),
            (Answer::endless(), ACCESS, "larger than the limit"),
            (
                Answer::json(&json!({"modules": []})),
                "Invalid response from remote module registry",
                "no module",
            ),
            (Answer::json(&json!({"modules": [{}]})), "Module has no versions", "no versions available"),
        ] {
            let server = Server::start().await;
            server.answer(VERSIONS, answer);
            let error = Setting::for_server(&server).client().module_versions(&module()).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.to_string().contains(&server.url(VERSIONS)), "{error}");
            assert_eq!(error.summary(), summary);
        }
    });
}

#[test]
fn unusable_locations_are_errors() {
    const PACKAGE: &str = "Invalid package location from module registry";
    run(async {
        for (answer, summary, expected) in [
            (Answer::status(404), ACCESS, "withdrawn"),
            (Answer::status(403), ACCESS, "requires authentication credentials"),
            (Answer::status(204), ACCESS, "no location of the package"),
            (Answer::json(&json!({})), ACCESS, "no location of the package"),
            (Answer::json(&json!({"location": 1})), PACKAGE, "wrong type"),
            (Answer::status(201), ACCESS, "201 Created"),
        ] {
            let server = Server::start().await;
            server.answer(DOWNLOAD, answer);
            let client = Setting::for_server(&server).client();
            let error = client.module_location(&module(), &Version::new(1, 0, 0)).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.summary(), summary, "{error}");
        }
    });
}

#[test]
fn host_without_module_registry_is_reported() {
    run(async {
        let services = json!({"providers.v1": "https://a.example/"});
        let setting = Setting { services: vec![("example.com", services)], ..Setting::default() };
        let error = setting.client().module_versions(&module()).await.unwrap_err();
        assert!(error.to_string().contains("host example.com does not provide a modules service"), "{error}");
        assert_eq!((error.summary(), error.kind()), (ACCESS, RegistryErrorKind::NotFound));
    });
}
