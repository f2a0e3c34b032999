//! Whose host it is.

/// A host without its port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host<'a> {
    name: &'a str,
    port: &'a str,
}

/// The providers of hosts, by the ends of their names; names are those of the OpenTelemetry conventions as far as they
/// have one.
const OWNERS: &[(&str, &str)] = &[
    ("openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("cognitiveservices.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("models.ai.azure.com", "azure.ai.inference"),
    ("inference.ai.azure.com", "azure.ai.inference"),
    ("anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("mistral.ai", "mistral_ai"),
    ("groq.com", "groq"),
    ("deepseek.com", "deepseek"),
    ("x.ai", "x_ai"),
    ("perplexity.ai", "perplexity"),
    ("moonshot.ai", "moonshot_ai"),
    ("moonshot.cn", "moonshot_ai"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
    ("openrouter.ai", "openrouter"),
    ("together.ai", "together_ai"),
    ("together.xyz", "together_ai"),
    ("fireworks.ai", "fireworks_ai"),
    ("cerebras.ai", "cerebras"),
    ("huggingface.co", "huggingface"),
    ("huggingface.cloud", "huggingface"),
    ("jina.ai", "jina_ai"),
    ("voyageai.com", "voyage_ai"),
    ("api.nvidia.com", "nvidia"),
    ("writer.com", "writer"),
    ("ollama.com", "ollama"),
];

/// Names by which gateways call providers in their paths.
const IN_PATHS: &[(&str, &str)] = &[
    ("azure-openai", "azure.ai.openai"),
    ("anthropic", "anthropic"),
    ("aws-bedrock", "aws.bedrock"),
    ("bedrock", "aws.bedrock"),
    ("cohere", "cohere"),
    ("deepseek", "deepseek"),
    ("gemini", "gcp.gemini"),
    ("google-ai-studio", "gcp.gemini"),
    ("google-vertex-ai", "gcp.vertex_ai"),
    ("grok", "x_ai"),
    ("groq", "groq"),
    ("mistral", "mistral_ai"),
    ("ollama", "ollama"),
    ("openrouter", "openrouter"),
    ("perplexity", "perplexity"),
    ("perplexity-ai", "perplexity"),
    ("xai", "x_ai"),
];

impl<'a> Host<'a> {
    pub(super) fn new(authority: &'a str) -> Self {
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port),
            _ => (authority, ""),
        };
        Self { name: name.trim_end_matches('.'), port }
    }

    /// The provider whose host it is.
    pub(super) fn provider(self, path: &str) -> Option<&'static str> {
        if self.is_bedrock() {
            return Some("aws.bedrock");
        }
        let (_, owner) = OWNERS.iter().find(|(end, _)| self.ends_with(end))?;
        // The same resource of Azure serves both protocols.
        let serves_openai = *owner == "azure.ai.inference" && path.split('/').any(|segment| segment == "openai");
        Some(if serves_openai { "azure.ai.openai" } else { owner })
    }

    /// The provider whose servers listen at this port unless they are told otherwise.
    pub(super) fn by_port(self) -> Option<&'static str> {
        (self.port == "11434").then_some("ollama")
    }

    /// `bedrock-runtime.eu-west-1.amazonaws.com`, behind a private link too, and its relatives.
    fn is_bedrock(self) -> bool {
        let of_aws = ["amazonaws.com", "amazonaws.com.cn", "api.aws"].iter().any(|end| self.ends_with(end));
        of_aws && self.name.split('.').any(|label| starts_with(label, "bedrock"))
    }

    /// True for this domain and those below it.
    fn ends_with(self, domain: &str) -> bool {
        let Some(start) = self.name.len().checked_sub(domain.len()) else {
            return false;
        };
        let bytes = self.name.as_bytes();
        let (head, tail) = bytes.split_at(start);
        tail.eq_ignore_ascii_case(domain.as_bytes()) && matches!(head, [] | [.., b'.'])
    }
}

fn starts_with(label: &str, word: &str) -> bool {
    label.as_bytes().get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

/// The provider that the path names: the last one, should there be several.
pub(super) fn in_path(path: &str) -> Option<&'static str> {
    // Vertex AI puts the publisher of a model into its paths.
    if path.split('/').any(|segment| segment == "publishers") {
        return Some("gcp.vertex_ai");
    }
    path.rsplit('/')
        .find_map(|segment| IN_PATHS.iter().find(|(word, _)| *word == segment).map(|(_, provider)| *provider))
}
