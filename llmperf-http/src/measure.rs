//! The layer and middleware, as it is built.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use llmperf_core::{ByType, Instrumentation};
use llmperf_wire::Endpoint;
use tower_layer::Layer;

use crate::{
    MeasureServer, MeasuredClient, RequestHead,
    settings::{Pattern, Settings},
};

/// Measures the LLM calls that pass: a [`tower_layer::Layer`] for HTTP clients, with the feature `reqwest` a
/// `reqwest_middleware::Middleware`, and by [`server`](Self::server) a layer for servers.
///
/// A request is a call if it is a `POST` to an endpoint that is known ([`Endpoint`] lists them), or that it was told of.
/// All others pass untouched. Within a live call the request is an attempt at it, and counted once.
///
/// `By` says how the service's errors are classified, and is inferred: [`ByType`] for every [`std::error::Error`],
/// [`ByHeld`](llmperf_core::ByHeld) for what holds one (`Box<dyn Error + Send + Sync>`).
///
/// ```
/// use llmperf_http::{Dialect, Endpoint, Measure, Operation};
///
/// let measure: Measure = Measure::new()
///     .host("10.0.0.7:8000", "vllm")
///     .endpoint("llm.internal/generate", Endpoint::new(Operation::Chat, "ours").speaking(Dialect::OpenAiChat))
///     .ignore("/v1/embeddings")
///     .inject_trace_context(true);
/// # let _ = measure;
/// ```
#[must_use = "a layer that is not put around a service measures nothing"]
pub struct Measure<By = ByType> {
    settings: Arc<Settings>,
    by: PhantomData<fn() -> By>,
}

impl<By> Measure<By> {
    /// A layer with all defaults.
    pub fn new() -> Self {
        Self { settings: Arc::default(), by: PhantomData }
    }

    /// Makes the calls from this instrumentation instead of the [current](Instrumentation::current) one.
    pub fn instrumentation(self, instrumentation: &Instrumentation) -> Self {
        self.set(|settings| settings.instrumentation = Some(instrumentation.clone()))
    }

    /// Measures requests to this endpoint of your own. `pattern` is `host/path` or `/path`, the host with or without its
    /// port; a `*` at the end stands for anything. What is told first is looked at first, and before all that is known.
    pub fn endpoint(self, pattern: &str, endpoint: Endpoint) -> Self {
        self.set(|settings| settings.endpoints.push((Pattern::new(pattern), endpoint)))
    }

    /// Leaves requests that match this pattern alone, whatever they are.
    pub fn ignore(self, pattern: &str) -> Self {
        self.set(|settings| settings.ignored.push(Pattern::new(pattern)))
    }

    /// Who answers at a host (`gen_ai.provider.name`), named with or without its port: `("10.0.0.7:8000", "vllm")`.
    pub fn host(self, host: &str, provider: impl Into<Cow<'static, str>>) -> Self {
        self.set(|settings| settings.hosts.push((host.to_owned(), provider.into())))
    }

    /// Who answers, at whatever host: for servers and for clients of one.
    pub fn provider(self, provider: impl Into<Cow<'static, str>>) -> Self {
        self.set(|settings| settings.provider = Some(provider.into()))
    }

    /// Asks `detect` of `POST`s that are not recognised otherwise. It is asked of all traffic: it should be quick.
    pub fn detect(self, detect: impl Fn(&RequestHead<'_>) -> Option<Endpoint> + Send + Sync + 'static) -> Self {
        self.set(|settings| settings.detect = Some(Arc::new(detect)))
    }

    /// How many bytes of a request's body are looked at for its model and parameters; 1 MiB by default. A larger body
    /// passes unread, and its call has no request model unless the path names it. 0 reads nothing.
    pub fn limit(self, bytes: usize) -> Self {
        self.set(|settings| settings.limit = bytes)
    }

    /// Whether requests carry the trace context of their call, so that the spans of the server become its children. Off by
    /// default: not every provider should know your trace ids.
    ///
    /// It is written by the global propagator, all that this one writes (baggage, if it is told to); where none was set, as
    /// W3C `traceparent` and `tracestate`.
    pub fn inject_trace_context(self, inject: bool) -> Self {
        self.set(|settings| settings.inject = inject)
    }

    /// Whether a [server](Self::server) takes the parent of its spans from the request, where there is no span
    /// already. On by default.
    pub fn extract_trace_context(self, extract: bool) -> Self {
        self.set(|settings| settings.extract = extract)
    }

    /// Measures the other side: a layer for the service that answers, a gateway's or an inference server's.
    pub fn server(self) -> MeasureServer<By> {
        MeasureServer::new(self.settings)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }
}

impl<S, By> Layer<S> for Measure<By> {
    type Service = MeasuredClient<S, By>;

    fn layer(&self, inner: S) -> Self::Service {
        MeasuredClient::new(inner, self.clone())
    }
}

impl<By> Default for Measure<By> {
    fn default() -> Self {
        Self::new()
    }
}

impl<By> Clone for Measure<By> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), by: PhantomData }
    }
}

impl<By> fmt::Debug for Measure<By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Measure").field(&self.settings).finish()
    }
}
