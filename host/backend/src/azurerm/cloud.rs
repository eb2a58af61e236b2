//! The clouds of Azure, each with its own services.

use serde_json::Value;
use tokio::sync::OnceCell;
use url::Url;
use wardian_download::{Downloader, Fetch};

use crate::oauth::{parse_token_url, send_for_json};

/// The services of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cloud {
    /// The URL of the service that issues tokens.
    pub(super) login: Url,
    pub(super) resource_manager: Url,
    /// The domain of storage accounts, such as `core.windows.net`.
    pub(super) storage_domain: String,
}

/// A cloud, or the metadata service that describes it.
#[derive(Debug)]
pub(super) enum CloudSource {
    Known(Cloud),
    /// The description is requested once.
    Metadata {
        url: Url,
        found: OnceCell<Cloud>,
    },
}

impl CloudSource {
    /// Returns the cloud with a name; [`None`] if there is none.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let (login, resource_manager, storage_domain) = match name.to_ascii_lowercase().as_str() {
            "public" | "global" | "canary" => {
                ("https://login.microsoftonline.com/", "https://management.azure.com/", "core.windows.net")
            }
            "usgovernment" | "usgovernmentl4" | "usgovernmentl5" | "dod" => (
                "https://login.microsoftonline.us/",
                "https://management.usgovcloudapi.net/",
                "core.usgovcloudapi.net",
            ),
            "china" => (
                "https://login.chinacloudapi.cn/",
                "https://management.chinacloudapi.cn/",
                "core.chinacloudapi.cn",
            ),
            _ => return None,
        };
        Some(Self::Known(Cloud {
            login: Url::parse(login).ok()?,
            resource_manager: Url::parse(resource_manager).ok()?,
            storage_domain: storage_domain.to_owned(),
        }))
    }

    /// Returns the cloud that a metadata service describes; [`None`] if the host is not valid.
    pub(super) fn from_metadata_host(host: &str) -> Option<Self> {
        let mut url =
            Url::parse(&format!("https://{host}/metadata/endpoints?api-version=2022-09-01")).ok()?;
        let is_host = url.path() == "/metadata/endpoints" && url.username().is_empty();
        url.set_fragment(None);
        is_host.then(|| Self::Metadata { url, found: OnceCell::new() })
    }

    /// Returns the services of the cloud.
    ///
    /// # Errors
    /// Returns the reason if the metadata service does not describe them.
    pub(super) async fn cloud(&self, downloader: &Downloader) -> Result<&Cloud, String> {
        match self {
            Self::Known(cloud) => Ok(cloud),
            Self::Metadata { url, found } => {
                found
                    .get_or_try_init(|| async {
                        let response = send_for_json(downloader, Fetch::get(url.clone()), url).await?;
                        parse_metadata(&response)
                    })
                    .await
            }
        }
    }
}

fn parse_metadata(response: &Value) -> Result<Cloud, String> {
    let text = |pointer: &str| {
        let value = response.pointer(pointer).and_then(Value::as_str);
        value.ok_or_else(|| format!("the description of the cloud has no member \"{pointer}\""))
    };
    Ok(Cloud {
        login: parse_token_url(text("/authentication/loginEndpoint")?)?,
        resource_manager: parse_token_url(text("/resourceManager")?)?,
        storage_domain: text("/suffixes/storage")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clouds_have_names() {
        for (name, domain) in [
            ("public", "core.windows.net"),
            ("USGovernment", "core.usgovcloudapi.net"),
            ("china", "core.chinacloudapi.cn"),
        ] {
            let Some(CloudSource::Known(cloud)) = CloudSource::from_name(name) else { panic!("{name}") };
            assert_eq!(cloud.storage_domain, domain);
        }
        assert!(CloudSource::from_name("germany").is_none());
    }

    #[test]
    fn metadata_is_read() {
        let description = |login: &str| {
            json!({"authentication": {"loginEndpoint": login}, "resourceManager": "https://arm.example/",
                   "suffixes": {"storage": "storage.example"}})
        };
        let cloud = parse_metadata(&description("https://login.example")).unwrap();
        assert_eq!(cloud.login.as_str(), "https://login.example/");
        assert!(parse_metadata(&description("http://login.example")).is_err());
        assert!(parse_metadata(&json!({})).unwrap_err().contains("loginEndpoint"));
        assert!(CloudSource::from_metadata_host("a.example:1").is_some());
        for bad in ["", "a/b", "a?b", "u@a", "a b"] {
            assert!(CloudSource::from_metadata_host(bad).is_none(), "{bad}");
        }
    }
}
