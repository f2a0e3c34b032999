//! What is known of a request before its body, and who it goes to.

use http::{HeaderMap, Method, Uri, header::HOST};

/// A request without its body, for [`Measure::detect`](crate::Measure::detect).
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    method: &'a Method,
    authority: Option<&'a str>,
    target: &'a str,
    headers: &'a HeaderMap,
    /// The port where the authority names none.
    default_port: Option<u16>,
}

impl<'a> RequestHead<'a> {
    /// A request as `http` has it.
    pub(crate) fn new(method: &'a Method, uri: &'a Uri, headers: &'a HeaderMap) -> Self {
        let by_header = || headers.get(HOST).and_then(|host| host.to_str().ok());
        let authority = uri.authority().map(http::uri::Authority::as_str).or_else(by_header);
        let target = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        Self {
            method,
            authority: authority.map(without_user),
            target,
            headers,
            default_port: port_of(uri.scheme_str()),
        }
    }

    /// A request by its whole URL.
    #[cfg(feature = "reqwest")]
    pub(crate) fn of_url(method: &'a Method, url: &'a str, headers: &'a HeaderMap) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (authority, target) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        Self { method, authority: Some(without_user(authority)), target, headers, default_port: port_of(Some(scheme)) }
    }

    /// The method. Only `POST`s are ever measured.
    #[must_use]
    pub fn method(&self) -> &'a Method {
        self.method
    }

    /// The host, with its port where the request names one.
    #[must_use]
    pub fn authority(&self) -> Option<&'a str> {
        self.authority
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> Option<&'a str> {
        self.authority.map(|authority| split(authority).0)
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// The path with the query.
    #[must_use]
    pub fn path_and_query(&self) -> &'a str {
        self.target
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// Address and port of the server.
    pub(crate) fn server(&self) -> Option<(&'a str, Option<u16>)> {
        let (host, port) = split(self.authority?);
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (!address.is_empty()).then_some((address, port.or(self.default_port)))
    }
}

fn port_of(scheme: Option<&str>) -> Option<u16> {
    match scheme? {
        "https" => Some(443),
        "http" => Some(80),
        _ => None,
    }
}

/// What stands before an `@` may be a secret.
fn without_user(authority: &str) -> &str {
    authority.rsplit_once('@').map_or(authority, |(_, authority)| authority)
}

/// Host, in brackets where it is an IPv6 address, and port.
fn split(authority: &str) -> (&str, Option<u16>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_port_come_from_the_url_the_host_header_or_the_scheme() {
        let headers = HeaderMap::new();
        let by_header = HeaderMap::from_iter([(HOST, http::HeaderValue::from_static("llm.internal:8000"))]);
        for (uri, headers, server) in [
            ("https://api.openai.com/v1", &headers, Some(("api.openai.com", Some(443)))),
            ("http://10.0.0.7/v1", &headers, Some(("10.0.0.7", Some(80)))),
            ("http://user:key@[::1]:8080/v1", &headers, Some(("::1", Some(8080)))),
            ("http://[::1]/v1", &headers, Some(("::1", Some(80)))),
            ("/v1", &by_header, Some(("llm.internal", Some(8000)))),
            ("/v1", &headers, None),
        ] {
            let uri: Uri = uri.parse().unwrap();
            assert_eq!(RequestHead::new(&Method::POST, &uri, headers).server(), server, "{uri}");
        }
    }

    #[cfg(feature = "reqwest")]
    #[test]
    fn a_url_is_parted_as_http_parts_it() {
        let headers = HeaderMap::new();
        for (url, authority, target) in [
            ("https://a.example/v1/x?y=1#z", "a.example", "/v1/x?y=1"),
            ("http://u:p@a.example:81/", "a.example:81", "/"),
            ("http://a.example?y=1", "a.example", "?y=1"),
            ("http://a.example", "a.example", "/"),
        ] {
            let head = RequestHead::of_url(&Method::POST, url, &headers);
            assert_eq!((head.authority(), head.path_and_query()), (Some(authority), target), "{url}");
        }
    }
}
