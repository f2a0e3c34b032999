//! The layouts that both sides of the C interface rely on, as NVIDIA's header has them.

use std::mem::{offset_of, size_of};

use nvml_wrapper_sys::bindings::*;

#[test]
fn sizes_are_those_of_the_header() {
    assert_eq!(size_of::<nvmlUtilization_t>(), 8);
    assert_eq!(size_of::<nvmlMemory_t>(), 24);
    assert_eq!(size_of::<nvmlMemory_v2_t>(), 40);
    assert_eq!(size_of::<nvmlProcessInfo_t>(), 24);
    assert_eq!(size_of::<nvmlProcessInfo_v1_t>(), 16);
    assert_eq!(size_of::<nvmlSample_t>(), 16);
    assert_eq!(size_of::<nvmlProcessUtilizationSample_t>(), 32);
    assert_eq!(size_of::<nvmlFieldValue_t>(), 40);
    assert_eq!(size_of::<nvmlDevice_t>(), 8);
    assert_eq!(size_of::<nvmlTemperature_t>(), 12);
}

#[test]
fn offsets_are_those_of_the_header() {
    macro_rules! offsets {
        ($($type:ty: $($field:ident @ $offset:literal),*;)*) => {
            $($(assert_eq!(offset_of!($type, $field), $offset, stringify!($type.$field));)*)*
        };
    }
    offsets! {
        nvmlUtilization_t: gpu @ 0, memory @ 4;
        nvmlMemory_t: total @ 0, free @ 8, used @ 16;
        nvmlMemory_v2_t: version @ 0, total @ 8, reserved @ 16, free @ 24, used @ 32;
        nvmlProcessInfo_t: pid @ 0, usedGpuMemory @ 8, gpuInstanceId @ 16, computeInstanceId @ 20;
        nvmlProcessInfo_v1_t: pid @ 0, usedGpuMemory @ 8;
        nvmlSample_t: timeStamp @ 0, sampleValue @ 8;
        nvmlProcessUtilizationSample_t: pid @ 0, timeStamp @ 8, smUtil @ 16, memUtil @ 20, encUtil @ 24, decUtil @ 28;
        nvmlFieldValue_t: fieldId @ 0, scopeId @ 4, timestamp @ 8, latencyUsec @ 16, valueType @ 24, nvmlReturn @ 28, value @ 32;
        nvmlTemperature_t: version @ 0, sensorType @ 4, temperature @ 8;
    }
}
