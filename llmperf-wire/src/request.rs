//! Requests: what the JSON of a request says of the call, its prompt left alone.

use crate::json::{Json, Malformed, Parsed};

/// What a request asks for. Absent is what it does not say.
///
/// The names of all providers are understood, whoever the request goes to: they do not contradict each other.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The model (`model`, Bedrock's `modelId`).
    pub model: Option<String>,
    /// Whether the answer shall stream.
    pub stream: Option<bool>,
    /// Whether a stream shall end with its usage (`stream_options.include_usage`).
    pub include_usage: Option<bool>,
    /// How many tokens may be generated.
    pub max_tokens: Option<u64>,
    /// How many answers are asked for.
    pub choices: Option<u64>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// The share of probability that is sampled from.
    pub top_p: Option<f64>,
    /// How many tokens are sampled from.
    pub top_k: Option<u64>,
    /// The frequency penalty.
    pub frequency_penalty: Option<f64>,
    /// The presence penalty.
    pub presence_penalty: Option<f64>,
    /// The seed.
    pub seed: Option<u64>,
    /// The length of the vectors that are asked for.
    pub dimensions: Option<u64>,
    /// The form of the vectors that are asked for.
    pub encoding_format: Option<String>,
    /// Whether there is something that a model could work on: messages, a prompt, texts.
    pub has_prompt: bool,
}

impl Request {
    /// Reads the body of a request in one pass; nothing but names is copied. None if it is not a JSON object.
    ///
    /// ```
    /// use llmperf_wire::Request;
    ///
    /// let body = br#"{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hi"}],"max_tokens":9}"#;
    /// let request = Request::read(body).unwrap();
    /// assert_eq!((request.model.as_deref(), request.stream, request.max_tokens), (Some("gpt-4o"), Some(true), Some(9)));
    /// assert_eq!(Request::read(b"--boundary"), None);
    /// ```
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut request = Self::default();
        request.read_json(body).ok()?;
        Some(request)
    }

    fn read_json(&mut self, body: &[u8]) -> Parsed<()> {
        let mut json = Json::new(body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body));
        if json.peek() != Some(b'{') {
            return Err(Malformed);
        }
        json.object(|json, name| match name {
            b"model" | b"modelId" => {
                let model = json.text()?;
                self.model = model.map(|model| model.decode().into_owned()).or(self.model.take());
                Ok(())
            }
            b"stream" => set(&mut self.stream, json.flag()?),
            b"stream_options" => json.object(|json, name| match name {
                b"include_usage" => set(&mut self.include_usage, json.flag()?),
                _ => json.skip(),
            }),
            b"encoding_format" => {
                self.encoding_format = json.text()?.map(|format| format.decode().into_owned());
                Ok(())
            }
            b"messages" | b"prompt" | b"input" | b"inputs" | b"contents" | b"content" | b"query" | b"texts"
            | b"requests" => {
                self.has_prompt |= json.peek() != Some(b'n');
                json.skip()
            }
            b"generationConfig" | b"generation_config" | b"inferenceConfig" | b"options" => {
                json.object(|json, name| self.read_setting(json, name))
            }
            _ => self.read_setting(json, name),
        })?;
        json.end()
    }

    fn read_setting(&mut self, json: &mut Json<'_>, name: &[u8]) -> Parsed<()> {
        match name {
            b"max_tokens"
            | b"max_completion_tokens"
            | b"max_output_tokens"
            | b"maxOutputTokens"
            | b"maxTokens"
            | b"num_predict" => set(&mut self.max_tokens, json.count()?),
            b"n" | b"candidateCount" | b"candidate_count" => set(&mut self.choices, json.count()?),
            b"temperature" => set(&mut self.temperature, json.decimal()?),
            b"top_p" | b"topP" | b"p" => set(&mut self.top_p, json.decimal()?),
            b"top_k" | b"topK" | b"k" => set(&mut self.top_k, json.count()?),
            b"frequency_penalty" | b"frequencyPenalty" => set(&mut self.frequency_penalty, json.decimal()?),
            b"presence_penalty" | b"presencePenalty" => set(&mut self.presence_penalty, json.decimal()?),
            b"seed" | b"random_seed" => set(&mut self.seed, json.count()?),
            b"dimensions" | b"output_dimension" | b"outputDimensionality" => set(&mut self.dimensions, json.count()?),
            _ => json.skip(),
        }
    }
}

/// A null takes nothing back.
fn set<T>(place: &mut Option<T>, found: Option<T>) -> Parsed<()> {
    if found.is_some() {
        *place = found;
    }
    Ok(())
}
