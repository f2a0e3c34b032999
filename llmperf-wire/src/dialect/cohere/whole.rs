//! An answer that is not streamed: the fields that the events of a stream have in their `delta` stand at its top.

use super::{failure, read_message, read_usage, tell_end};
use crate::dialect::shape::Values;
use crate::event::Chunk;
use crate::json::{Json, Parsed};

/// Says what an answer means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut finish_reason = None;
    let mut values = Values::new();
    Json::only_object(data, |json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"message" => json.object(|json, name| read_message(json, name, &mut values, chunk))?,
            b"finish_reason" => finish_reason = json.text()?,
            b"usage" => read_usage(json, chunk)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    tell_end(finish_reason, chunk);
    Ok(())
}
