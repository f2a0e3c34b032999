//! Answers that refuse: what failed, by whatever fields a provider says it.
//!
//! | in the answer | means |
//! |---|---|
//! | `error`, an object or a message | a failure: OpenAI, Azure, Anthropic, Gemini, Ollama and most others |
//! | `type`, `code`, `message` at the top (Mistral, older vLLM) | the same without its `error` |
//! | `message`, `Message` (AWS, Cohere), `detail` (FastAPI) | the message |
//! | `__type` (AWS) | the type, what stands before `#` left out |
//! | the first object of an array (Gemini) | the same |

use crate::dialect::failure;
use crate::event::{Chunk, Failure};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// What the head of a refusing answer says.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub(crate) status: Option<u16>,
    kind: Option<Box<str>>,
}

impl Refusal {
    /// AWS writes `ThrottlingException:http://…` or `com.amazon.coral#ThrottlingException`.
    pub(crate) fn set_kind(&mut self, kind: &str) {
        let kind = kind.split(':').next().unwrap_or("");
        let kind = kind.rsplit('#').next().unwrap_or("").trim();
        self.kind = (!kind.is_empty()).then(|| kind.into());
    }

    /// Completes the failure of an answer; `whole` says that the answer as such is one.
    pub(crate) fn complete<'a>(&'a self, chunk: &mut Chunk<'a>, whole: bool) {
        if chunk.failure.is_none() && whole {
            chunk.failure = Some(Failure::default());
            chunk.terminal = false;
        }
        if let Some(failure) = &mut chunk.failure {
            let is_named = failure.code.or(failure.kind).or(failure.status).is_some();
            if let Some(kind) = self.kind.as_deref().filter(|_| !is_named) {
                failure.kind = Some(Text::plain(kind.as_bytes()));
            }
            failure.number = failure.number.or(self.status.map(u64::from));
        }
    }
}

/// Reads an answer.
pub(super) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut json = Json::new(data);
    if data.starts_with(b"[") {
        json.array(|json| read_object(json, chunk))?;
    } else {
        read_object(&mut json, chunk)?;
    }
    json.end()
}

fn read_object<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    if json.peek() != Some(b'{') {
        return json.skip();
    }
    let mut flat = Failure::default();
    json.object(|json, name| {
        match name {
            b"error" => failure::read(json, chunk)?,
            b"code" if json.peek() == Some(b'"') => flat.code = json.text()?,
            b"code" => flat.number = json.count()?,
            b"type" | b"error_type" => flat.kind = json.text()?.filter(|kind| !kind.is("error")),
            b"__type" => flat.kind = json.text()?.map(|kind| kind.behind(b'#')),
            b"message" | b"Message" | b"detail" => flat.message = json.text()?.or(flat.message),
            b"model" => chunk.model = json.text()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let failure = chunk.failure.get_or_insert(flat);
    failure.kind = failure.kind.or(flat.kind);
    Ok(())
}
