//! The exported C functions: NVML's own, and two of ours by which the library is told what to answer.
//!
//! None of them panics, which would end the process, and none keeps a pointer that it was given.

#![allow(non_snake_case, reason = "the names are NVML's")]
#![allow(unreachable_pub, missing_docs, reason = "they are the surface of the dynamic library, not of the crate")]
#![allow(clippy::missing_safety_doc, reason = "the contract of each is that of NVML's function of this name")]

mod device;
mod events;
mod lists;
mod monitors;
mod parts;
mod system;

use std::os::raw::c_char;

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::script::{Device, INSUFFICIENT_SIZE, INVALID_ARGUMENT, Script};

/// Handles are small numbers in the shape of pointers, none of them null.
const FIRST_HANDLE: usize = 0x1000;

fn slot(device: nvmlDevice_t) -> Option<usize> {
    Some((device as usize).wrapping_sub(FIRST_HANDLE))
}

fn handle(slot: usize) -> nvmlDevice_t {
    (slot + FIRST_HANDLE) as nvmlDevice_t
}

fn of(script: &mut Script, device: nvmlDevice_t) -> Result<&mut Device, u32> {
    slot(device).and_then(|slot| script.devices.get_mut(slot)).ok_or(INVALID_ARGUMENT)
}

/// Writes to where the caller wants an answer.
///
/// # Safety
///
/// The pointer is null, or points to room for a `T`.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), u32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: as promised.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes text and its end.
///
/// # Safety
///
/// The pointer is null, or points to room for `length` characters.
unsafe fn put_text(to: *mut c_char, length: u32, text: &str) -> Result<(), u32> {
    if to.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(INSUFFICIENT_SIZE);
    }
    // SAFETY: as promised, and the text with its end is no longer than the room.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// A function that tells one figure of a device.
macro_rules! figures {
    ($($symbol:ident = $key:literal, $type:ty;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(device: nvmlDevice_t, out: *mut $type) -> u32 {
            $crate::script::answer(stringify!($symbol), $crate::symbols::slot(device), |script| {
                let value = $crate::symbols::of(script, device)?.value($key)?;
                // SAFETY: the caller gives room for its answer.
                unsafe { $crate::symbols::put(out, <$type>::try_from(value).unwrap_or(<$type>::MAX)) }
            })
        }
    )*};
}
use figures;
