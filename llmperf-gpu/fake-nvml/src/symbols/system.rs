//! The library as a whole: opening, closing, listing, and the script.

use std::{
    ffi::{CStr, c_void},
    fs,
    os::raw::{c_char, c_int},
    ptr,
};

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{handle, put, put_text};
use crate::script::{GPU_LOST, INVALID_ARGUMENT, NOT_FOUND, answer, script};

#[repr(C)]
struct WhereItIs {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

#[cfg(unix)]
unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut WhereItIs) -> c_int;
}

/// Reads the script beside the library.
fn prepare() {
    if std::mem::replace(&mut script().prepared, true) {
        return;
    }
    let lines = own_path().and_then(|path| fs::read_to_string(path + ".script").ok());
    if let Some(lines) = lines {
        // What is not understood has no effect, and the test that wrote it sees that.
        let _understood = script().obey(&lines);
    }
}

#[cfg(unix)]
fn own_path() -> Option<String> {
    let mut found =
        WhereItIs { file: ptr::null(), base: ptr::null_mut(), symbol: ptr::null(), address: ptr::null_mut() };
    let inside = own_path as *const c_void;
    // SAFETY: the loader fills the structure for an address that lies in a file that it loaded, and only then returns
    // something other than 0; the name lives as long as the file is loaded.
    unsafe {
        if dladdr(inside, &raw mut found) == 0 || found.file.is_null() {
            return None;
        }
        CStr::from_ptr(found.file).to_str().ok().map(str::to_owned)
    }
}

#[cfg(not(unix))]
fn own_path() -> Option<String> {
    None
}

/// Obeys a line of script; 0 if it was understood.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_nvml_tell(line: *const c_char) -> c_int {
    prepare();
    // SAFETY: the caller gives text with an end, or nothing.
    let line = if line.is_null() { None } else { unsafe { CStr::from_ptr(line) }.to_str().ok() };
    c_int::from(line.is_none_or(|line| script().obey(line).is_err()))
}

/// How often a function was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fake_nvml_calls(symbol: *const c_char) -> u64 {
    // SAFETY: the caller gives text with an end, or nothing.
    let symbol = if symbol.is_null() { None } else { unsafe { CStr::from_ptr(symbol) }.to_str().ok() };
    symbol.map_or(0, |symbol| script().calls_of(symbol))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlInit_v2() -> u32 {
    prepare();
    answer("nvmlInit_v2", None, |script| {
        script.inits += 1;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlShutdown() -> u32 {
    answer("nvmlShutdown", None, |script| {
        script.inits = script.inits.saturating_sub(1);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(version: *mut c_char, length: u32) -> u32 {
    answer("nvmlSystemGetDriverVersion", None, |script| {
        // SAFETY: the caller gives so much room.
        unsafe { put_text(version, length, &script.driver) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut u32) -> u32 {
    answer("nvmlDeviceGetCount_v2", None, |script| {
        let listed = u32::try_from(script.listed().count()).unwrap_or(u32::MAX);
        // SAFETY: the caller gives room for its answer.
        unsafe { put(count, listed) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: u32, device: *mut nvmlDevice_t) -> u32 {
    answer("nvmlDeviceGetHandleByIndex_v2", None, |script| {
        let slot = script.listed().nth(index as usize).ok_or(INVALID_ARGUMENT)?;
        if script.devices.get(slot).is_some_and(|device| device.lost) {
            return Err(GPU_LOST);
        }
        // SAFETY: the caller gives room for its answer.
        unsafe { put(device, handle(slot)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut nvmlDevice_t) -> u32 {
    // SAFETY: the caller gives text with an end, or nothing.
    let uuid = if uuid.is_null() { None } else { unsafe { CStr::from_ptr(uuid) }.to_str().ok() };
    answer("nvmlDeviceGetHandleByUUID", None, |script| {
        let slot = script.devices.iter().position(|device| device.plugged && Some(device.uuid.as_str()) == uuid);
        // SAFETY: the caller gives room for its answer.
        unsafe { put(device, handle(slot.ok_or(NOT_FOUND)?)) }
    })
}
