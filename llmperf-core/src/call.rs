//! A call before it is armed: what is measured, and the verbs that arm it.

use std::{
    borrow::Cow,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_core::Stream;
use opentelemetry::{Context, Key, KeyValue, Value, trace::SpanKind};

use crate::{
    Capture, Carries, Classify, Instrumentation, Output, Recorder, Sees, Side,
    capture::Content,
    clock::nanos_of,
    instrumentation::is_enabled,
    labels::MOST_LABELS,
    live::Live,
    open::{Open, OpenFn},
    reader::{ByItem, Reader, TryWith, With},
    run::Run,
    semconv::{is_free_label, is_ours},
    spec::Spec,
    text::Text,
};

/// Most attributes of the user's own on a span: more could push out the call's figures.
pub(crate) const MOST_ATTRIBUTES: usize = 48;

/// One logical inference request, retries included. Its clock runs since it was made.
///
/// It is *armed* by a verb: [`start`](Self::start) and the `measure…` methods of streams at once,
/// [`open…`](Self::open) and [`run…`](Self::run) at their first poll. An armed call is recorded exactly once, however it
/// ends; one that was never armed records nothing.
///
/// The parent of its span, and the scope it belongs to, are those in which it was made.
#[derive(Debug)]
#[must_use = "a call that is not armed (`open`, `run`, `start`, `measure`) records nothing"]
pub struct Call(Option<Box<Live>>);

/// A chat call to `model` of `provider`; the clock starts now, before the request is handed to the transport, so that
/// connecting, queueing and a failure to connect belong to the call.
///
/// `provider` should be a well-known value of `gen_ai.provider.name` where there is one: `openai`, `anthropic`,
/// `aws.bedrock`, `azure.ai.openai`, `gcp.gemini`, `mistral_ai`, `groq`, `deepseek`, `cohere`, `x_ai`, ….
///
/// ```
/// use futures::{StreamExt as _, stream};
/// use llmperf_core::{MeasureStream as _, chat};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let call = chat("openai", "gpt-4o-mini");
/// let mut reply = stream::iter(["Hello", " world"]).measure(call);
/// while let Some(token) = reply.next().await {
///     print!("{token}");
/// }
/// println!(" ({})", reply.timing());
/// # }
/// ```
pub fn chat(provider: impl Into<Cow<'static, str>>, model: impl Into<Cow<'static, str>>) -> Call {
    if is_enabled() { Call::new(Instrumentation::current(), provider, model) } else { Call(None) }
}

/// A model that is called again and again: names are given once.
///
/// ```
/// let model = llmperf_core::model("vllm", "llama-3").server("10.0.0.7", 8000).scenario("batch");
/// let call = model.chat();
/// # drop(call);
/// ```
pub fn model(provider: impl Into<Cow<'static, str>>, model: impl Into<Cow<'static, str>>) -> Model {
    Model {
        instrumentation: None,
        provider: Text::from(provider.into()),
        model: Text::from(model.into()),
        server: None,
        scenario: None,
    }
}

/// A reusable handle of a model, made by [`model`].
#[derive(Clone, Debug)]
pub struct Model {
    instrumentation: Option<Instrumentation>,
    provider: Text,
    model: Text,
    server: Option<(Text, Option<u16>)>,
    scenario: Option<Text>,
}

impl Model {
    /// Makes its calls from this instrumentation instead of the [current](Instrumentation::current) one.
    #[must_use = "this returns the model with the instrumentation"]
    pub fn instrumentation(self, instrumentation: &Instrumentation) -> Self {
        Self { instrumentation: Some(instrumentation.clone()), ..self }
    }

    /// See [`Call::server`].
    #[must_use = "this returns the model with the server"]
    pub fn server(self, address: impl Into<Cow<'static, str>>, port: impl Into<Option<u16>>) -> Self {
        Self { server: Some((address.into().into(), port.into())), ..self }
    }

    /// See [`Call::scenario`].
    #[must_use = "this returns the model with the scenario"]
    pub fn scenario(self, scenario: impl Into<Cow<'static, str>>) -> Self {
        Self { scenario: Some(scenario.into().into()), ..self }
    }

    /// A chat call: its clock starts now.
    pub fn chat(&self) -> Call {
        if !is_enabled() {
            return Call(None);
        }
        let instrumentation = self.instrumentation.clone().unwrap_or_else(Instrumentation::current);
        let mut live = Live::new(instrumentation, self.provider.clone(), self.model.clone());
        live.spec.server.clone_from(&self.server);
        if let Some(scenario) = &self.scenario {
            live.spec.extras().scenario = Some(scenario.clone());
        }
        Call(Some(Box::new(live)))
    }
}

impl Call {
    pub(crate) fn new(
        instrumentation: Instrumentation,
        provider: impl Into<Cow<'static, str>>,
        model: impl Into<Cow<'static, str>>,
    ) -> Self {
        if !is_enabled() {
            return Self(None);
        }
        Self(Some(Box::new(Live::new(instrumentation, provider.into().into(), model.into().into()))))
    }

    /// The operation (`gen_ai.operation.name`). Default: `chat`.
    pub fn operation(self, operation: impl Into<Cow<'static, str>>) -> Self {
        self.spec(|spec| spec.extras().operation = Some(operation.into().into()))
    }

    /// The model, where it was not known yet when the clock had to start.
    pub fn model(self, model: impl Into<Cow<'static, str>>) -> Self {
        self.spec(|spec| spec.model = model.into().into())
    }

    /// Whether the request asks for a stream (`gen_ai.request.stream`). What awaits or measures a stream says so itself.
    pub fn streams(self, streams: bool) -> Self {
        self.spec(|spec| (spec.streamed, spec.whole) = (streams, !streams))
    }

    /// Which side is measured. Default: the client's.
    pub fn side(self, side: Side) -> Self {
        self.spec(|spec| spec.side = side)
    }

    /// The kind of the span. Default: CLIENT on the client side, INTERNAL on the server side (SERVER belongs to the
    /// HTTP layer).
    pub fn span_kind(self, kind: SpanKind) -> Self {
        self.spec(|spec| spec.kind = Some(kind))
    }

    /// The server that answers.
    pub fn server(self, address: impl Into<Cow<'static, str>>, port: impl Into<Option<u16>>) -> Self {
        self.spec(|spec| spec.server = Some((address.into().into(), port.into())))
    }

    /// A scenario of the application (`llmperf.scenario`): "realtime", "batch". Capped on metrics.
    pub fn scenario(self, scenario: impl Into<Cow<'static, str>>) -> Self {
        self.spec(|spec| spec.extras().scenario = Some(scenario.into().into()))
    }

    /// A label of your own on the span and on the `llmperf.*` metrics (tenant, feature): at most two, capped on metrics; more
    /// are ignored. Of one key the last value stands. Names that llmperf writes itself are left to it, and a key that
    /// Prometheus would refuse a whole page for is ignored: one that is empty, begins with a digit or `__` or has a colon,
    /// `le` and `quantile`.
    pub fn label(self, key: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.spec(|spec| {
            let labels = &mut spec.extras().labels;
            labels.retain(|(of, _)| *of != key);
            if labels.len() < MOST_LABELS && is_free_label(key) {
                labels.push((key, value.into().into()));
            }
        })
    }

    /// An attribute of your own on the span: request parameters, a conversation id. At most 48; of one key the last
    /// value stands. Names that llmperf writes itself are left to it.
    pub fn attribute(self, key: impl Into<Key>, value: impl Into<Value>) -> Self {
        self.spec(|spec| {
            let attribute = KeyValue::new(key, value);
            let attributes = &mut spec.extras().attributes;
            attributes.retain(|other| other.key != attribute.key);
            if attributes.len() < MOST_ATTRIBUTES && !is_ours(attribute.key.as_str()) {
                attributes.push(attribute);
            }
        })
    }

    /// The parent context. Default: the one in which the call was made.
    pub fn parent(mut self, parent: Context) -> Self {
        if let Some(live) = &mut self.0 {
            live.set_parent(parent);
        }
        self
    }

    /// How much of an ending its reader can see. Default: what the item type says, [`Sees::Nothing`] for closures.
    pub fn sees(self, sees: Sees) -> Self {
        self.spec(|spec| spec.sees = Some(sees))
    }

    /// The caller's own time limit, since the start: a drop after it is an error (`timeout`), not a cancellation.
    /// No timer runs.
    pub fn deadline(self, limit: Duration) -> Self {
        self.spec(|spec| spec.extras().deadline = Some(nanos_of(limit)))
    }

    /// As [`deadline`](Self::deadline), as a point in time.
    pub fn deadline_at(mut self, at: Instant) -> Self {
        if let Some(live) = &mut self.0 {
            let limit = live.nanos_from_start_until(at);
            live.spec.extras().deadline = Some(limit);
        }
        self
    }

    /// The caller's own limit on the time without a read.
    pub fn idle_deadline(self, limit: Duration) -> Self {
        self.spec(|spec| spec.extras().idle_deadline = Some(nanos_of(limit)))
    }

    /// Counts output tokens with a tokenizer of the caller's where the provider reports none
    /// (`llmperf.token.source` = `tokenizer`). It sees each piece of text and gives its number of tokens.
    pub fn tokenizer(self, count: impl Fn(&str) -> u64 + Send + Sync + 'static) -> Self {
        self.spec(|spec| spec.extras().tokenizer = Some(Arc::new(count)))
    }

    /// Takes each event with output for one token where nothing better is known (`llmperf.token.source` = `chunks`).
    /// Such an estimate gives TPOT and rate; it never enters a token counter.
    pub fn estimate_tokens(self) -> Self {
        self.spec(|spec| spec.estimate_tokens = true)
    }

    /// Captures content of this call as said here, whatever the instrumentation says.
    pub fn capture(self, capture: Capture) -> Self {
        self.spec(|spec| spec.extras().content = Some(Box::new(Content::new(capture))))
    }

    /// The prompt, for content capture; ignored where capture is off, so that [`capture`](Self::capture) comes first.
    pub fn prompt(mut self, prompt: &str) -> Self {
        if let Some(live) = &mut self.0 {
            live.prompt(prompt);
        }
        self
    }

    /// Whether content is captured: nobody else need look for a [`prompt`](Self::prompt).
    #[must_use]
    pub fn captures(&self) -> bool {
        self.0.as_ref().is_some_and(|live| live.captures())
    }

    /// Marks a call that a transport layer makes: inside a live call of the same sort of work (inference, embeddings,
    /// rerank) it joins that one, whatever its names.
    pub fn transport(self) -> Self {
        self.spec(|spec| spec.transport = true)
    }

    /// Arms the call now: the span begins, at the time at which the call was made.
    ///
    /// Dropped before it was handed on or told its end, the call is cancelled, by a `?` too: what waits for a request
    /// that may fail is better [opened](Self::open).
    pub fn start(self) -> Recorder {
        let mut live = self.0;
        if let Some(live) = &mut live {
            live.arm();
        }
        Recorder::new(live)
    }

    /// Awaits a request that gives a stream, and measures both. Armed at its first poll; dropped before the head it
    /// ends as cancelled; an `Err` ends it as an error.
    ///
    /// ```
    /// # use futures::{Stream, StreamExt as _, stream};
    /// # async fn request() -> std::io::Result<impl Stream<Item = &'static str> + Unpin> { Ok(stream::iter(["hi"])) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let mut reply = llmperf_core::chat("openai", "gpt-4o-mini").open(request()).await?;
    /// while let Some(token) = reply.next().await { print!("{token}"); }
    /// assert!(reply.timing().time_to_head.is_some());
    /// # Ok(()) }
    /// ```
    pub fn open<F, S, E, By>(self, request: F) -> Open<F, ByItem, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item: Carries>,
        E: Classify<By>,
    {
        Open::new(self.0, request, ByItem)
    }

    /// As [`open`](Self::open); the closure says what an item carries.
    ///
    /// ```
    /// use futures::{StreamExt as _, stream};
    /// use llmperf_core::{Output, Sees, chat};
    ///
    /// enum Event { Delta(&'static str), Finish(&'static str) }
    /// # async fn request() -> std::io::Result<stream::Iter<std::array::IntoIter<Event, 2>>> {
    /// #     Ok(stream::iter([Event::Delta("hi"), Event::Finish("stop")]))
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let call = chat("vllm", "llama-3").sees(Sees::Finish);
    /// let mut reply = call.open_with(request(), |event| match event {
    ///     Event::Delta(text) => Output::text(text),
    ///     Event::Finish(reason) => Output::finish(reason),
    /// }).await?;
    /// while reply.next().await.is_some() {}
    /// assert_eq!(reply.timing().outcome, Some(llmperf_core::Outcome::Complete));
    /// # Ok(()) }
    /// ```
    pub fn open_with<F, S, E, By, R>(self, request: F, reader: R) -> Open<F, With<R>, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream,
        R: FnMut(&S::Item) -> Output<'_>,
        E: Classify<By>,
    {
        Open::new(self.0, request, With(reader))
    }

    /// As [`open_with`](Self::open_with), for streams of `Result`s; an `Err` item is recorded by us.
    ///
    /// ```
    /// # use futures::{StreamExt as _, stream};
    /// # use llmperf_core::{Output, chat};
    /// # use std::io;
    /// # type Tokens = stream::Iter<std::array::IntoIter<io::Result<&'static str>, 2>>;
    /// # async fn request() -> io::Result<Tokens> {
    /// #     Ok(stream::iter([Ok("hi"), Err(io::ErrorKind::ConnectionReset.into())]))
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> io::Result<()> {
    /// let mut reply = chat("vllm", "llama-3").try_open_with(request(), |token| Output::text(token)).await?;
    /// while reply.next().await.is_some() {}
    /// assert_eq!(reply.timing().outcome, Some(llmperf_core::Outcome::Interrupted));
    /// # Ok(()) }
    /// ```
    pub fn try_open_with<F, S, E, By, T, I, ByItems, R>(self, request: F, reader: R) -> Open<F, TryWith<R, ByItems>, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream<Item = Result<T, I>>,
        R: FnMut(&T) -> Output<'_>,
        I: Classify<ByItems>,
        E: Classify<By>,
    {
        Open::new(self.0, request, TryWith::new(reader))
    }

    /// As [`open`](Self::open); the request is built inside the call, so that spans made while it is built are its
    /// children.
    pub fn open_fn<B, F, S, E, By>(self, build: B) -> Open<OpenFn<B, F>, ByItem, By>
    where
        B: FnOnce() -> F,
        F: Future<Output = Result<S, E>>,
        S: Stream<Item: Carries>,
        E: Classify<By>,
    {
        Open::new(self.0, OpenFn::new(build), ByItem)
    }

    /// As [`open`](Self::open), with a reader of your own. For authors of adapters.
    pub fn open_by<F, S, E, By, R>(self, request: F, reader: R) -> Open<F, R, By>
    where
        F: Future<Output = Result<S, E>>,
        S: Stream,
        R: Reader<S::Item>,
        E: Classify<By>,
    {
        Open::new(self.0, request, reader)
    }

    /// Measures a call that does not stream: `Ok` is complete, `Err` an error, a drop cancelled.
    ///
    /// ```
    /// # async fn complete() -> std::io::Result<String> { Ok("hi".into()) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let answer = llmperf_core::chat("openai", "gpt-4o-mini").run(complete()).await?;
    /// # let _ = answer; Ok(()) }
    /// ```
    pub fn run<F, T, E, By>(self, request: F) -> Run<F, fn(&T) -> Output<'_>, By>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify<By>,
    {
        Run::new(self.0, request, |_| Output::ignored())
    }

    /// As [`run`](Self::run); the closure says what the answer carries: usage, finish reason, model.
    ///
    /// ```
    /// use llmperf_core::{Output, Usage, chat};
    ///
    /// struct Answer { text: String, tokens: [u64; 2] }
    /// # async fn complete() -> std::io::Result<Answer> { Ok(Answer { text: "hi".into(), tokens: [9, 1] }) }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
    /// let answer = chat("openai", "gpt-4o-mini")
    ///     .run_with(complete(), |answer| {
    ///         Output::text(&answer.text).and_usage(Usage::of(answer.tokens[0], answer.tokens[1]))
    ///     })
    ///     .await?;
    /// # let _ = answer; Ok(()) }
    /// ```
    pub fn run_with<F, T, E, By, R>(self, request: F, reader: R) -> Run<F, R, By>
    where
        F: Future<Output = Result<T, E>>,
        R: FnOnce(&T) -> Output<'_>,
        E: Classify<By>,
    {
        Run::new(self.0, request, reader)
    }

    fn spec(mut self, set: impl FnOnce(&mut Spec)) -> Self {
        if let Some(live) = &mut self.0 {
            set(&mut live.spec);
        }
        self
    }
}

impl From<Call> for Recorder {
    fn from(call: Call) -> Self {
        call.start()
    }
}
