//! A RAG service: each stage is a function with an attribute, and the pipeline is the function that calls them.
//!
//! ```text
//! question ─► cache ─► embed ─► cache ─► search by vector ┐
//!                                        search by words  ┴► fuse ─► rerank ─► assemble ─► generate ─► answer, streamed
//! ```
//!
//! The pipeline gives a stream and ends with it: its time to first output is that of the first word a user sees. The
//! caches and the assembly have no function of their own, and are measured by hand.

use std::sync::{Arc, Mutex, PoisonError};

use async_openai::error::OpenAIError;
use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use llmperf::rag::{self, Cache, Index, Query};
use llmperf::{Output, Work as _};

use super::model::{Chunk, MODEL, Model, PROVIDER, carries};
use crate::knowledge::{Answers, Corpus, DocumentId, Embedder, Embedding, Hit, Store, assemble, fuse, rerank};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// An answer as it comes, a few words at a time.
pub(crate) type Answer = BoxStream<'static, Result<String, Error>>;

/// What a user asks.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) text: String,
    /// The documents that answer it, where somebody has labelled it.
    pub(crate) relevant: Option<Vec<DocumentId>>,
    /// Whether the sources are wanted in full.
    pub(crate) in_full: bool,
}

/// The pipeline's name in telemetry.
pub(crate) const PIPELINE: &str = "travel-answers";
/// How many documents each search gives.
const CANDIDATES: u32 = 40;
/// How many are left for the prompt.
pub(crate) const TOP: u32 = 5;
/// How many tokens of documents the prompt may have.
const BUDGET: usize = 600;

/// The service. Its names in telemetry are said once: where a search looks, who embeds, who answers.
#[derive(Debug)]
pub(crate) struct Service {
    store: Store,
    embedder: Box<dyn Embedder>,
    model: Model,
    answers: Answers,
    same_text: Cache,
    same_meaning: Cache,
    /// What was found for questions that nobody has labelled yet.
    unjudged: Mutex<Vec<(String, Query)>>,
}

impl Service {
    pub(crate) fn new(store: Store, embedder: impl Embedder + 'static, model: Model) -> Self {
        Self {
            store,
            embedder: Box::new(embedder),
            model,
            answers: Answers::default(),
            // A hit answers in place of everything behind it: the pipeline is marked as answered from a cache.
            same_text: Cache::new("same text").stands_in(),
            same_meaning: Cache::new("same meaning").stands_in(),
            unjudged: Mutex::default(),
        }
    }

    /// Adds all documents of a corpus: from here to there is how long it takes until they are found.
    pub(crate) async fn index(&self, corpus: Corpus) -> Result<(), Error> {
        let index = Index::new("knowledge");
        let added = async {
            let documents = corpus.documents().map(|document| {
                let vector = self.embedder.embed(&document.text()).vector;
                (document, vector)
            });
            self.store.add(documents)
        };
        index.build().run(added).await?;
        index.documents(corpus.documents().count() as u64);
        index.size(self.store.size().await?);
        Ok(())
    }

    /// Answers a request.
    #[llmperf::pipeline(name = PIPELINE, query = request.text, stream = boxed)]
    pub(crate) async fn answer(self: Arc<Self>, request: Request) -> Result<Answer, Error> {
        if let Some(answer) = self.same_text.lookup(|| self.answers.exact(&request.text)) {
            return Ok(at_once(answer));
        }
        let Embedding { vector, .. } = self.embed(&request.text);
        if let Some(answer) = self.same_meaning.lookup(|| self.answers.semantic(&vector)) {
            return Ok(at_once(answer));
        }
        let found = tokio::try_join!(self.by_vector(&request, &vector), self.by_words(&request))?;
        let candidates = fuse(&[found.0, found.1], CANDIDATES as usize);
        let best = self.rank(&request, &candidates);
        if request.in_full {
            // One by one, where one look would do: the diagnosis finds it.
            for hit in &best {
                self.by_id(hit).await?;
            }
        }
        let prompt = rag::assemble().time(|| assemble(&request.text, &best, BUDGET));
        let answer = self.generate(&prompt.text).await?;
        Ok(self.kept(request, vector, answer))
    }

    #[llmperf::embedding(provider = PROVIDER, model = self.embedder.model(), reads = |embedding| Output::usage(embedding.tokens, 0))]
    fn embed(&self, text: &str) -> Embedding {
        self.embedder.embed(text)
    }

    #[llmperf::retrieval(store = "knowledge by vector", top_k = CANDIDATES, relevant = request.relevant, k = TOP)]
    async fn by_vector(&self, request: &Request, vector: &[f32]) -> Result<Vec<Hit>, Error> {
        self.to_be_judged(request);
        self.store.by_vector(vector, CANDIDATES).await
    }

    #[llmperf::retrieval(store = "knowledge by words", top_k = CANDIDATES, relevant = request.relevant, k = TOP)]
    async fn by_words(&self, request: &Request) -> Result<Vec<Hit>, Error> {
        self.to_be_judged(request);
        self.store.by_words(&request.text, CANDIDATES).await
    }

    #[llmperf::retrieval(store = "knowledge by id")]
    async fn by_id(&self, hit: &Hit) -> Result<Option<Hit>, Error> {
        self.store.by_id(hit.document.id).await
    }

    #[llmperf::rerank(model = "overlap", top_k = TOP, candidates = candidates, relevant = request.relevant, k = TOP)]
    fn rank(&self, request: &Request, candidates: &[Hit]) -> Vec<Hit> {
        self.to_be_judged(request);
        rerank(&request.text, candidates, TOP as usize)
    }

    #[llmperf::generation(provider = PROVIDER, model = MODEL, reads = carries)]
    async fn generate(&self, prompt: &str) -> Result<BoxStream<'static, Result<Chunk, OpenAIError>>, OpenAIError> {
        self.model.stream(prompt).await
    }

    /// The text of an answer; when it has come to its end it is kept for who asks the same.
    fn kept(
        self: Arc<Self>,
        request: Request,
        vector: Vec<f32>,
        answer: BoxStream<'static, Result<Chunk, OpenAIError>>,
    ) -> Answer {
        let words = answer.map_ok(Chunk::into_text).try_filter(|text| std::future::ready(!text.is_empty()));
        let state = (words.boxed(), String::new(), Some((self, request, vector)));
        let kept = stream::try_unfold(state, async |(mut words, mut whole, mut to_keep)| {
            if let Some(text) = words.try_next().await? {
                whole.push_str(&text);
                return Ok(Some((text, (words, whole, to_keep))));
            }
            if let Some((service, request, vector)) = to_keep.take() {
                service.answers.keep(&request.text, vector, whole);
            }
            Ok(None)
        });
        kept.boxed()
    }

    /// Remembers the search or the rerank that we are in, if nobody can judge it yet. A real service would keep the trace id
    /// beside the question.
    fn to_be_judged(&self, request: &Request) {
        if request.relevant.is_none() {
            let query = rag::current_query().map(|query| (request.text.clone(), query));
            self.unjudged.lock().unwrap_or_else(PoisonError::into_inner).extend(query);
        }
    }

    /// What was found for questions without labels, for who has labelled them since.
    pub(crate) fn unjudged(&self) -> Vec<(String, Query)> {
        std::mem::take(&mut self.unjudged.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An answer that is there already.
fn at_once(answer: String) -> Answer {
    stream::iter([Ok(answer)]).boxed()
}

/// What llmperf may know of a document: its id and its score, and its text only where content is captured.
impl rag::Document for Hit {
    fn id(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some(self.document.id.to_string().into())
    }

    fn score(&self) -> Option<f64> {
        Some(self.score)
    }
}
