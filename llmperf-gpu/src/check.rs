//! Values that cannot be are taken away: out of range is a fault of its own, not a number to export.

use crate::{DeviceInfo, DeviceSample, Fault, Field, Reading};

/// Hotter or colder than this is no temperature of a chip that still answers.
const CELSIUS: std::ops::RangeInclusive<f64> = -50.0..=200.0;
/// No clock of a GPU is faster, memory clocks included.
const FASTEST_HERTZ: u64 = 100_000_000_000;
/// No device has more memory: what is beyond it says that it is not known.
const MOST_BYTES: u64 = 1 << 50;
/// No single device draws more, and hardly any rack.
const MOST_WATTS: f64 = 20_000.0;
/// A device may draw more than its limit for a moment, not twice as much.
const MOST_TIMES_LIMIT: f64 = 2.0;

/// Withholds every value of a sample that its quantity cannot have.
pub(crate) fn withhold_impossible(sample: &mut DeviceSample, device: &DeviceInfo) {
    let most_watts = device.power_limit_watts.map_or(MOST_WATTS, |limit| (limit * MOST_TIMES_LIMIT).min(MOST_WATTS));
    let checks = [
        (
            Field::Utilization,
            fails(&sample.utilization, |busy| is_ratio(busy.compute) && busy.memory_controller.is_none_or(is_ratio)),
        ),
        (Field::Memory, fails(&sample.memory, |memory| memory.used <= memory.total && memory.total <= MOST_BYTES)),
        (Field::Power, fails(&sample.power_watts, |watts| (0.0..=most_watts).contains(watts))),
        (Field::Temperature, fails(&sample.temperature_celsius, |celsius| CELSIUS.contains(celsius))),
        (Field::SmClock, fails(&sample.sm_clock_hertz, |hertz| *hertz <= FASTEST_HERTZ)),
        (Field::MemoryClock, fails(&sample.memory_clock_hertz, |hertz| *hertz <= FASTEST_HERTZ)),
        (Field::Codec, fails(&sample.codec, |codec| is_ratio(codec.encoder) && is_ratio(codec.decoder))),
        (
            Field::Gpm,
            fails(&sample.gpm, |gpm| {
                [gpm.graphics, gpm.sm, gpm.occupancy, gpm.tensor, gpm.dram].into_iter().flatten().all(is_ratio)
            }),
        ),
    ];
    for (field, fails) in checks {
        if fails {
            sample.withhold(field, Fault::OutOfRange.into());
        }
    }
    if let Ok(processes) = &mut sample.processes {
        for process in &mut processes.list {
            process.memory = process.memory.filter(|bytes| *bytes <= MOST_BYTES);
            process.utilization = process.utilization.filter(|busy| is_ratio(*busy));
        }
    }
    // Success with no memory at all is how a device without memory of its own says that it has none.
    if sample.memory.is_ok_and(|memory| memory.total == 0) {
        sample.withhold(Field::Memory, Fault::NotSupported.into());
    }
}

/// A power limit that one can be held to.
pub(crate) fn is_limit(watts: &f64) -> bool {
    watts.is_finite() && *watts > 0.0
}

fn fails<T>(reading: &Reading<T>, holds: impl FnOnce(&T) -> bool) -> bool {
    reading.as_ref().is_ok_and(|value| !holds(value))
}

fn is_ratio(value: f64) -> bool {
    (0.0..=1.0).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Absence, Activity, Codec, Memory, Utilization};

    fn device() -> DeviceInfo {
        DeviceInfo { power_limit_watts: Some(300.0), ..DeviceInfo::new("GPU-0", "test") }
    }

    fn sample() -> DeviceSample {
        DeviceSample {
            utilization: Ok(Utilization::new(1.0, Some(0.0))),
            memory: Ok(Memory::new(10, 10)),
            power_watts: Ok(599.0),
            temperature_celsius: Ok(99.0),
            sm_clock_hertz: Ok(2_000_000_000),
            memory_clock_hertz: Ok(0),
            codec: Ok(Codec::new(0.0, 1.0)),
            gpm: Ok(Activity { sm: Some(0.5), ..Activity::default() }),
            ..DeviceSample::nothing()
        }
    }

    #[test]
    fn what_can_be_stays() {
        let mut checked = sample();
        withhold_impossible(&mut checked, &device());
        assert_eq!(checked, sample());
    }

    #[test]
    fn what_cannot_be_is_withheld_and_says_so() {
        let mut wrong = DeviceSample {
            utilization: Ok(Utilization::new(1.01, None)),
            memory: Ok(Memory::new(10, 11)),
            power_watts: Ok(601.0),
            temperature_celsius: Ok(f64::NAN),
            sm_clock_hertz: Ok(u64::MAX),
            memory_clock_hertz: Ok(u64::MAX),
            codec: Ok(Codec::new(-0.1, 0.0)),
            gpm: Ok(Activity { tensor: Some(42.0), ..Activity::default() }),
            ..DeviceSample::nothing()
        };
        withhold_impossible(&mut wrong, &device());
        assert_eq!(wrong, {
            let mut expected = DeviceSample::nothing();
            for field in sample_fields() {
                expected.withhold(field, Fault::OutOfRange.into());
            }
            expected
        });
    }

    #[test]
    fn no_memory_at_all_is_no_memory_figure() {
        let mut unified = DeviceSample { memory: Ok(Memory::new(0, 0)), ..DeviceSample::nothing() };
        withhold_impossible(&mut unified, &device());
        assert_eq!(unified.memory, Err(Absence::Fault(Fault::NotSupported)));
    }

    fn sample_fields() -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(|field| sample().status(*field).is_ok())
    }
}
