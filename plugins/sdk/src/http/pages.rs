//! Responses that are divided into pages.

use super::{Request, Response};
use crate::{Diagnostics, Result};

/// The maximum number of pages, for servers whose pages do not end.
const MAX_PAGES: u32 = 100_000;

/// The pages of a response, which are requested one by one; see [`pages`].
///
/// ```
/// use wardian_sdk::http::{self, Response, pages};
/// use wardian_sdk::testing::with_mock_http;
///
/// let count = with_mock_http(
///     |_| Ok(Response::new(200, "[]")),
///     || pages(http::get("https://api.example/numbers"), |_, _| None).count(),
/// );
/// assert_eq!(count, 1);
/// ```
pub struct Pages<N> {
    next: Option<Request>,
    next_page: N,
    count: u32,
}

/// Returns the pages of a response. `next_page` returns the request for the page after a response;
/// `None` after the last page.
///
/// ```
/// use wardian_sdk::http::{self, Response, pages};
/// use wardian_sdk::testing::with_mock_http;
///
/// let numbers = with_mock_http(
///     |request| {
///         let body = if request.url().ends_with("page=2") { "[3]" } else { "[1, 2]" };
///         Ok(Response::new(200, body))
///     },
///     || {
///         let first = http::get("https://api.example/numbers?page=1");
///         let all = pages(first, |request, _| {
///             request.url().ends_with("page=1").then(|| http::get("https://api.example/numbers?page=2"))
///         });
///         all.map(|page| Ok(page?.json::<Vec<i64>>()?)).collect::<wardian_sdk::Result<Vec<_>>>()
///     },
/// );
/// assert_eq!(numbers?.concat(), [1, 2, 3]);
/// # Ok::<(), wardian_sdk::Diagnostics>(())
/// ```
pub fn pages<N: FnMut(&Request, &Response) -> Option<Request>>(first: Request, next_page: N) -> Pages<N> {
    Pages { next: Some(first), next_page, count: 0 }
}

/// Returns the request for the next page of a server that sends `Link` headers with `rel="next"`,
/// with the headers of the previous request. A link to another host ends the pages, because the
/// headers of the request can contain credentials.
///
/// ```
/// use wardian_sdk::http::{self, Response, next_link};
///
/// let response = Response::new(200, "[]").with_header("Link", "</items?page=2>; rel=\"next\"");
/// let request = http::get("https://api.example/items").header("Authorization", "Bearer ...");
/// assert_eq!(next_link(&request, &response).unwrap().url(), "https://api.example/items?page=2");
/// ```
pub fn next_link(request: &Request, response: &Response) -> Option<Request> {
    let link = response.header("link")?;
    let target = link.split(',').find_map(|one| {
        let (target, parameters) = one.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let parameter = parameter.trim().to_ascii_lowercase();
            parameter == "rel=\"next\"" || parameter == "rel=next"
        });
        is_next.then_some(target)
    })?;
    let origin_end = request.url().find("://").map(|start| {
        let authority = start + 3;
        request.url()[authority..].find(['/', '?', '#']).map_or(request.url().len(), |end| authority + end)
    })?;
    let origin = &request.url()[..origin_end];
    let url = if target.starts_with('/') && !target.starts_with("//") {
        format!("{origin}{target}")
    } else {
        target.strip_prefix(origin).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))?;
        target.to_owned()
    };
    let mut next = request.clone();
    next.url = url;
    Some(next)
}

impl<N: FnMut(&Request, &Response) -> Option<Request>> Iterator for Pages<N> {
    type Item = Result<Response>;

    fn next(&mut self) -> Option<Result<Response>> {
        let request = self.next.take()?;
        if self.count >= MAX_PAGES {
            return Some(Err(Diagnostics::error(
                "Too many pages",
                format!("The server returned more than {MAX_PAGES} pages."),
            )));
        }
        self.count += 1;
        Some(match request.send().and_then(Response::error_for_status) {
            Ok(response) => {
                self.next = (self.next_page)(&request, &response);
                Ok(response)
            }
            Err(error) => Err(error.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http;
    use crate::testing::with_mock_http;

    #[test]
    fn links_are_followed_on_the_same_host() {
        let request = http::get("https://a.example/x?y").header("Authorization", "t");
        let linked = |link: &str| {
            let response = Response::new(200, "").with_header("Link", link);
            next_link(&request, &response).map(|next| (next.url().to_owned(), next.headers().count()))
        };
        let both = "<https://a.example/x?p=1>; rel=\"prev\", <https://a.example/x?p=3>; rel=\"next\"";
        assert_eq!(linked(both), Some(("https://a.example/x?p=3".to_owned(), 1)));
        assert_eq!(linked("</x?p=2>; title=a; rel=next"), Some(("https://a.example/x?p=2".to_owned(), 1)));
        for refused in [
            "<https://b.example/x>; rel=\"next\"",
            "<https://a.example.b.example/x>; rel=\"next\"",
            "<//b.example/x>; rel=\"next\"",
            "</x>; rel=\"last\"",
            "</x",
            "",
        ] {
            assert_eq!(linked(refused), None, "{refused}");
        }
    }

    #[test]
    fn pages_end_with_an_error() {
        let found: Vec<_> = with_mock_http(
            |request| Ok(Response::new(if request.url().ends_with('2') { 500 } else { 200 }, "")),
            || pages(http::get("https://a/1"), |_, _| Some(http::get("https://a/2"))).collect(),
        );
        assert_eq!(found.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
    }
}
