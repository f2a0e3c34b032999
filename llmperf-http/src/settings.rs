//! What a layer was told: which requests are calls, how far their bodies are read, what is passed on.

use std::{borrow::Cow, fmt, sync::Arc};

use http::{HeaderMap, Method, header::CONTENT_ENCODING};
use llmperf_core::Instrumentation;
use llmperf_wire::{Endpoint, Request};

use crate::RequestHead;

/// How much of a request's body is read ahead, unless told otherwise.
const LIMIT: usize = 1024 * 1024;

type Detect = Arc<dyn Fn(&RequestHead<'_>) -> Option<Endpoint> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) instrumentation: Option<Instrumentation>,
    pub(crate) endpoints: Vec<(Pattern, Endpoint)>,
    pub(crate) ignored: Vec<Pattern>,
    /// Who answers at a host.
    pub(crate) hosts: Vec<(String, Cow<'static, str>)>,
    pub(crate) detect: Option<Detect>,
    pub(crate) provider: Option<Cow<'static, str>>,
    pub(crate) limit: usize,
    pub(crate) inject: bool,
    pub(crate) extract: bool,
}

/// A request that is a call.
#[derive(Debug)]
pub(crate) struct Recognised {
    pub(crate) endpoint: Endpoint,
    pub(crate) provider: Cow<'static, str>,
    /// Its user has said so: there is no doubt.
    told: bool,
}

/// What could be seen of the body of a request.
#[derive(Debug)]
pub(crate) enum Seen {
    Read(Box<Request>),
    /// It is no JSON.
    Other,
    /// It had not come yet, is coded, or is larger than may be read.
    Nothing,
}

impl Seen {
    /// What is seen in a body that was read, and that is no coded one.
    pub(crate) fn of(body: Option<&[u8]>, headers: &HeaderMap) -> Self {
        match body.filter(|_| !headers.contains_key(CONTENT_ENCODING)).map(Request::read) {
            None => Self::Nothing,
            Some(None) => Self::Other,
            Some(Some(request)) => Self::Read(Box::new(request)),
        }
    }

    pub(crate) fn request(&self) -> Option<&Request> {
        match self {
            Self::Read(request) => Some(request),
            Self::Other | Self::Nothing => None,
        }
    }
}

impl Recognised {
    /// Whether a request with this body is meant for a model after all. What could not be read is believed.
    pub(crate) fn fits(&self, seen: &Seen) -> bool {
        self.told
            || match seen {
                Seen::Read(request) => self.endpoint.fits(request),
                Seen::Other => self.endpoint.fits(&Request::default()),
                Seen::Nothing => true,
            }
    }
}

impl Settings {
    /// Whether this is a request to a model, as far as its head tells. Nothing is allocated for one that is not.
    pub(crate) fn recognise(&self, head: &RequestHead<'_>) -> Option<Recognised> {
        if head.method() != Method::POST || self.ignored.iter().any(|pattern| pattern.matches(head)) {
            return None;
        }
        let own =
            self.endpoints.iter().find(|(pattern, _)| pattern.matches(head)).map(|(_, endpoint)| endpoint.clone());
        let told = own.is_some();
        let found = own.or_else(|| Endpoint::detect("POST", head.authority(), head.path_and_query()));
        let found = found.map(|endpoint| (endpoint, told));
        let (endpoint, told) = found.or_else(|| Some((self.detected(head)?, true)))?;
        let by_host = self.hosts.iter().find(|(host, _)| is_host(host, head)).map(|(_, provider)| provider);
        let named = self.provider.as_ref().or(by_host);
        let provider = named.cloned().unwrap_or_else(|| endpoint.provider().to_owned().into());
        Some(Recognised { endpoint, provider, told: told || by_host.is_some() })
    }

    /// Asks the closure that was given; one that panics has seen nothing.
    fn detected(&self, head: &RequestHead<'_>) -> Option<Endpoint> {
        let detect = self.detect.as_ref()?;
        let guarded = |instrumentation: &Instrumentation| instrumentation.guarded(|| detect(head)).flatten();
        self.instrumentation.as_ref().map_or_else(|| guarded(&Instrumentation::current()), guarded)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instrumentation: None,
            endpoints: Vec::new(),
            ignored: Vec::new(),
            hosts: Vec::new(),
            detect: None,
            provider: None,
            limit: LIMIT,
            inject: false,
            extract: true,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("endpoints", &self.endpoints)
            .field("ignored", &self.ignored)
            .field("hosts", &self.hosts)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// `host/path` or `/path`; a `*` at its end stands for anything.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    host: Option<String>,
    path: String,
    open: bool,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Self {
        let (host, path) = match pattern.find('/') {
            Some(at) => pattern.split_at(at),
            None => (pattern, "/*"),
        };
        let (path, open) = path.strip_suffix('*').map_or((path, false), |path| (path, true));
        Self { host: (!host.is_empty()).then(|| host.to_owned()), path: path.to_owned(), open }
    }

    fn matches(&self, head: &RequestHead<'_>) -> bool {
        let at_host = self.host.as_ref().is_none_or(|host| is_host(host, head));
        at_host && if self.open { head.path().starts_with(&self.path) } else { head.path() == self.path }
    }
}

/// Whether a request goes to this host, named with or without the port.
fn is_host(host: &str, head: &RequestHead<'_>) -> bool {
    [head.authority(), head.host()].into_iter().flatten().any(|asked| asked.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Uri};

    use super::*;

    #[test]
    fn patterns_match_host_and_path() {
        let headers = HeaderMap::new();
        for (pattern, url, matches) in [
            ("/generate", "http://a/generate?x=1", true),
            ("/generate", "http://a/generate/2", false),
            ("/gen*", "http://a/generate", true),
            ("a.example/generate", "http://A.example:8000/generate", true),
            ("a.example:8000/generate", "http://a.example:8000/generate", true),
            ("a.example:8000/generate", "http://a.example:8001/generate", false),
            ("a.example", "http://a.example/anything", true),
            ("a.example", "http://b.example/anything", false),
        ] {
            let uri: Uri = url.parse().unwrap();
            let head = RequestHead::new(&Method::POST, &uri, &headers);
            assert_eq!(Pattern::new(pattern).matches(&head), matches, "{pattern} {url}");
        }
    }
}
