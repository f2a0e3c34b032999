//! Attributes of retrieval-augmented generation: by the conventions where there are any, else ours.

names! {
    DATA_SOURCE = "gen_ai.data_source.id";
    TOP_K = "gen_ai.retrieval.top_k";
    QUERY_TEXT = "gen_ai.retrieval.query.text";
    DOCUMENTS = "gen_ai.retrieval.documents";
    // Ours
    STAGE = "llmperf.rag.stage";
    PIPELINE = "llmperf.rag.pipeline.name";
    STORE = "llmperf.rag.store";
    K = "llmperf.rag.k";
    DOCUMENT_COUNT = "llmperf.rag.documents";
    CACHE_NAME = "llmperf.cache.name";
    CACHE_RESULT = "llmperf.cache.result";
}
