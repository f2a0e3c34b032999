//! How providers report that a stream has failed: the names that an error's fields have in any dialect of JSON.

use crate::event::{Chunk, Failure};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// Reads the value of an `error`: an object or a message. Null, false and the empty string are none.
pub(crate) fn read<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let failure = match json.peek() {
        Some(b'n' | b'f') => {
            json.skip()?;
            None
        }
        Some(b'"') => json.text()?.map(|message| Failure { message: Some(message), ..Failure::default() }),
        _ => Some(report(json)?),
    };
    chunk.failure = chunk.failure.or(failure);
    Ok(())
}

/// Completes the failure by what stands around it: all of it, in a payload that is the error itself, or the type beside
/// a message (text generation servers write `{"error":"…","error_type":"…"}`).
pub(super) fn complete<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut json = Json::new(data);
    match &mut chunk.failure {
        None => chunk.failure = Some(report(&mut json)?),
        Some(failure) if failure.kind.is_none() => json.object(|json, name| match name {
            b"error_type" => {
                failure.kind = json.text()?;
                Ok(())
            }
            _ => json.skip(),
        })?,
        Some(_) => {}
    }
    Ok(())
}

/// Reads the fields in which providers say what failed. The type of an event that is an error is not that of the error.
fn report<'a>(json: &mut Json<'a>) -> Parsed<Failure<'a>> {
    let mut failure = Failure::default();
    let mut http_status = None;
    json.object(|json, name| {
        match name {
            b"code" => word_or_number(json, &mut failure.code, &mut failure.number)?,
            b"status" => word_or_number(json, &mut failure.status, &mut http_status)?,
            b"type" | b"error_type" if failure.kind.is_none() => {
                failure.kind = json.text()?.filter(|kind| !kind.is("error"));
            }
            b"status_code" | b"http_status_code" => http_status = json.count()?.or(http_status),
            b"message" => failure.message = json.text()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    failure.number = failure.number.or(http_status);
    Ok(failure)
}

fn word_or_number<'a>(json: &mut Json<'a>, word: &mut Option<Text<'a>>, number: &mut Option<u64>) -> Parsed<()> {
    if json.peek() == Some(b'"') {
        *word = json.text()?;
    } else {
        *number = json.count()?;
    }
    Ok(())
}
