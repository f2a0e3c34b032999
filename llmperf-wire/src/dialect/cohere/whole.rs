//! An answer that is not streamed: the fields that the events of a stream have in their `delta` stand at its top.

use super::{Fields, failure, read_message};
use crate::event::Chunk;
use crate::json::{Json, Parsed};

/// Says what an answer means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut fields = Fields::default();
    Json::only_object(data, |json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"message" => json.object(|json, name| read_message(json, name, chunk))?,
            b"finish_reason" => fields.finish_reason = json.text()?,
            b"usage" => fields.read_usage(json)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    fields.tell_end(chunk);
    Ok(())
}
