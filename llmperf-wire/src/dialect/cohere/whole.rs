//! An answer that is not streamed: the fields that the events of a stream have in their `delta` stand at its top.

use super::{Fields, Values, failure, read_message, read_usage};
use crate::event::Chunk;
use crate::json::{Json, Parsed};

/// Says what an answer means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut fields = Fields { kind: None, values: Values::new(), finish_reason: None };
    Json::only_object(data, |json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"message" => json.object(|json, name| read_message(json, name, &mut fields.values, chunk))?,
            b"finish_reason" => fields.finish_reason = json.text()?,
            b"usage" => read_usage(json, chunk)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    fields.tell_end(chunk);
    Ok(())
}
