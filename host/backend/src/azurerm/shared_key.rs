//! Signatures with the key of a storage account ("Shared Key").

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use url::Url;

/// The key of a storage account. `Debug` output contains only the account.
#[derive(Clone)]
pub(super) struct SharedKey {
    account: String,
    key: Vec<u8>,
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedKey").field("account", &self.account).finish_non_exhaustive()
    }
}

impl SharedKey {
    /// Returns the key with a text in base64; [`None`] if the text is not valid.
    pub(super) fn from_base64(account: &str, text: &str) -> Option<Self> {
        let key = STANDARD.decode(text.trim()).ok().filter(|key| !key.is_empty())?;
        Some(Self { account: account.to_owned(), key })
    }

    /// Returns the value of the `Authorization` header. The names of the headers are in lower case;
    /// one of them is `x-ms-date`.
    pub(super) fn authorization(
        &self,
        method: &str,
        url: &Url,
        headers: &[(String, String)],
        body_length: usize,
    ) -> String {
        let text = self.text_to_sign(method, url, headers, body_length);
        // A key of any length is accepted.
        let signature = Hmac::<Sha256>::new_from_slice(&self.key).map(|mut mac| {
            mac.update(text.as_bytes());
            STANDARD.encode(mac.finalize().into_bytes())
        });
        format!("SharedKey {}:{}", self.account, signature.unwrap_or_default())
    }

    fn text_to_sign(
        &self,
        method: &str,
        url: &Url,
        headers: &[(String, String)],
        body_length: usize,
    ) -> String {
        let value = |name: &str| {
            let found = headers.iter().find(|(header, _)| header == name);
            found.map_or("", |(_, value)| value.trim())
        };
        let length = if body_length == 0 { String::new() } else { body_length.to_string() };
        let fields = [
            method,
            value("content-encoding"),
            value("content-language"),
            &length,
            value("content-md5"),
            value("content-type"),
            // The service uses the header x-ms-date instead.
            "",
            value("if-modified-since"),
            value("if-match"),
            value("if-none-match"),
            value("if-unmodified-since"),
            value("range"),
        ];
        let mut text = fields.join("\n");
        text.push('\n');
        let mut own: Vec<(&str, &str)> = headers
            .iter()
            .filter(|(name, _)| name.starts_with("x-ms-"))
            .map(|(name, value)| (name.as_str(), value.trim()))
            .collect();
        own.sort_unstable();
        for (name, value) in own {
            text.extend([name, ":", value, "\n"]);
        }
        text.extend(["/", &self.account, url.path()]);
        let mut parameters: Vec<(String, String)> =
            url.query_pairs().map(|(name, value)| (name.to_lowercase(), value.into_owned())).collect();
        parameters.sort();
        for (name, value) in parameters {
            text.extend(["\n", &name, ":", &value]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The example in Azure's documentation, "Authorize with Shared Key".
    #[test]
    fn text_matches_the_azure_documentation() {
        let key = SharedKey::from_base64("myaccount", "AAAA").unwrap();
        let url = Url::parse(
            "https://myaccount.blob.core.windows.net/mycontainer?comp=metadata&restype=container&timeout=20",
        )
        .unwrap();
        let headers =
            headers(&[("x-ms-version", "2015-02-21"), ("x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT")]);
        assert_eq!(
            key.text_to_sign("GET", &url, &headers, 0),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n\
             /myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"
        );
    }

    /// A request that Terraform sent to an emulator, which accepted its signature.
    #[test]
    fn signature_matches_terraform() {
        let key = SharedKey::from_base64("acct", "a2V5LWZvci10ZXN0cy0wMTIzNDU2Nzg5MDEyMzQ1").unwrap();
        let url = Url::parse("https://acct.blob.core.windows.net/cont?comp=list&prefix=a%2Fb+c.tfstateenv%3A&restype=container")
            .unwrap();
        let sent = headers(&[
            ("content-type", "application/xml; charset=utf-8"),
            ("x-ms-date", "Sat, 28 Nov 2026 18:19:08 GMT"),
            ("x-ms-version", "2023-11-03"),
        ]);
        assert_eq!(
            key.authorization("GET", &url, &sent, 0),
            "SharedKey acct:OSpNyVbtfULq9aX5EZVMK7ejgvZEjtkTZa1ON8cOIv4="
        );
        let url = Url::parse("https://acct.blob.core.windows.net/cont/a/b%20c.tfstate").unwrap();
        let sent = headers(&[
            ("content-type", "application/json"),
            ("x-ms-blob-content-type", "application/json"),
            ("x-ms-blob-type", "BlockBlob"),
            ("x-ms-date", "Sat, 28 Nov 2026 18:19:09 GMT"),
            ("x-ms-version", "2023-11-03"),
        ]);
        assert_eq!(
            key.authorization("PUT", &url, &sent, 0),
            "SharedKey acct:sLwF0Zumj4YH0X5E5uFHqVuNJ25BJ3IPpP1j23bWMfU="
        );
        assert!(!format!("{key:?}").contains("key-for"));
    }

    #[test]
    fn invalid_keys_are_rejected() {
        for bad in ["", " ", "nonsense%%", "a"] {
            assert!(SharedKey::from_base64("a", bad).is_none(), "{bad}");
        }
    }
}
