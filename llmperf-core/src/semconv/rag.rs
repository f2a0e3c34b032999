//! Attributes of retrieval-augmented generation: by the conventions where there are any, else ours.

names! {
    DATA_SOURCE = "gen_ai.data_source.id";
    TOP_K = "gen_ai.retrieval.top_k";
    QUERY_TEXT = "gen_ai.retrieval.query.text";
    DOCUMENTS = "gen_ai.retrieval.documents";
    EVALUATION_NAME = "gen_ai.evaluation.name";
    EVALUATION_SCORE = "gen_ai.evaluation.score.value";
    // Ours
    STAGE = "llmperf.rag.stage";
    STAGE_NAME = "llmperf.rag.stage.name";
    PIPELINE = "llmperf.rag.pipeline.name";
    STORE = "llmperf.rag.store";
    K = "llmperf.rag.k";
    DOCUMENT_COUNT = "llmperf.rag.documents";
    CANDIDATES = "llmperf.rag.candidates";
    TOP_SCORE = "llmperf.rag.score.top";
    LOWEST_SCORE = "llmperf.rag.score.lowest";
    CANDIDATES_TOP_SCORE = "llmperf.rag.candidates.score.top";
    CANDIDATES_LOWEST_SCORE = "llmperf.rag.candidates.score.lowest";
    MOVED = "llmperf.rag.moved";
    RECALL = "llmperf.rag.recall";
    PRECISION = "llmperf.rag.precision";
    RECIPROCAL_RANK = "llmperf.rag.reciprocal_rank";
    NDCG = "llmperf.rag.ndcg";
    RETRIEVAL_DURATION = "llmperf.rag.retrieval.duration";
    RETRIEVAL_PATH = "llmperf.rag.retrieval_path.duration";
    RETRIEVAL_SHARE = "llmperf.rag.retrieval_share";
    FIRST_OUTPUT = "llmperf.rag.time_to_first_output";
    FROM_CACHE = "llmperf.rag.from_cache";
    CACHE_NAME = "llmperf.cache.name";
    CACHE_RESULT = "llmperf.cache.result";
}
