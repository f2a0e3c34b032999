//! What a device can tell, learnt field by field: what failed again and again is left alone, and tried again rarely.
//!
//! One refusal proves nothing (a driver that is polled too fast answers `NotSupported` for a while), so a field is given
//! up after a few in a row. Asking on and on has side effects (a kernel warning at each, on some vGPU guests), so it is
//! then left alone for minutes.

use std::time::Duration;

use crate::{Fault, Field, Fields, Reading};

/// Refusals in a row after which a field is given up.
const LATCH_AFTER: u8 = 3;
/// How long a field that was given up is left alone.
const PROBE_AGAIN_AFTER: Duration = Duration::from_secs(600);

/// The fields of one device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capabilities {
    fields: [Capability; Field::ALL.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Capability {
    refusals: u8,
    /// When it is tried again; it was given up if there is one.
    again: Option<Duration>,
    works: bool,
    unsupported: bool,
}

/// What changed about a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was given up.
    GivenUp(Fault),
    /// It was given up once, and works.
    Back,
}

impl Capabilities {
    /// What of a plan is worth asking now.
    pub(crate) fn worth_asking(&self, now: Duration, plan: Fields) -> Fields {
        plan.iter().filter(|field| self.of(*field).again.is_none_or(|again| now >= again)).collect()
    }

    /// Whether the field has been given up.
    pub(crate) fn is_given_up(&self, field: Field) -> bool {
        self.of(field).again.is_some()
    }

    /// Whether the field ever had a value.
    pub(crate) fn has_worked(&self, field: Field) -> bool {
        self.of(field).works
    }

    /// Whether the device itself said that it cannot tell the field, when it was last asked.
    pub(crate) fn gave_up_as_unsupported(&self, field: Field) -> bool {
        self.of(field).unsupported
    }

    /// Takes in what came of asking for a field.
    pub(crate) fn note(&mut self, now: Duration, field: Field, status: Reading<()>) -> Option<Change> {
        let capability = self.fields.get_mut(field as usize)?;
        match status {
            Ok(()) => {
                let was_given_up = capability.again.is_some();
                *capability = Capability { works: true, ..Capability::default() };
                was_given_up.then_some(Change::Back)
            }
            Err(absence) => {
                let fault = absence.fault().filter(|fault| fault.is_unsupported() || fault.is_denied())?;
                capability.refusals = capability.refusals.saturating_add(1);
                capability.unsupported = fault == Fault::NotSupported;
                // A function that the library does not have will not appear while it is loaded.
                let missing = fault == Fault::MissingSymbol;
                if !missing && capability.refusals < LATCH_AFTER && capability.again.is_none() {
                    return None;
                }
                let again = if missing { Duration::MAX } else { now.saturating_add(PROBE_AGAIN_AFTER) };
                capability.again.replace(again).is_none().then_some(Change::GivenUp(fault))
            }
        }
    }

    fn of(&self, field: Field) -> Capability {
        self.fields.get(field as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refuse(capabilities: &mut Capabilities, now: Duration, fault: Fault) -> Option<Change> {
        capabilities.note(now, Field::Power, Err(fault.into()))
    }

    #[test]
    fn one_refusal_does_not_give_a_field_up_and_a_value_forgives() {
        let mut capabilities = Capabilities::default();
        assert_eq!(refuse(&mut capabilities, SECOND, Fault::NotSupported), None);
        assert_eq!(refuse(&mut capabilities, SECOND, Fault::NotSupported), None);
        assert_eq!(capabilities.note(SECOND, Field::Power, Ok(())), None);
        assert_eq!(refuse(&mut capabilities, SECOND, Fault::NotSupported), None);
        assert_eq!(refuse(&mut capabilities, SECOND, Fault::NotSupported), None);
        assert_eq!(refuse(&mut capabilities, SECOND, Fault::NotSupported), Some(Change::GivenUp(Fault::NotSupported)));
    }

    #[test]
    fn what_was_given_up_is_tried_once_in_ten_minutes() {
        let mut capabilities = Capabilities::default();
        for _ in 0..3 {
            refuse(&mut capabilities, SECOND, Fault::NoPermission);
        }
        let plan = Fields::of_energy();
        let asked = (1..3_601).filter(|second| {
            let now = SECOND * *second;
            let asked = capabilities.worth_asking(now, plan).contains(Field::Power);
            if asked {
                assert_eq!(refuse(&mut capabilities, now, Fault::NoPermission), None);
            }
            assert!(capabilities.worth_asking(now, plan).contains(Field::Energy), "other fields go on");
            asked
        });
        assert_eq!(asked.count(), 5);
        assert_eq!(capabilities.note(SECOND * 4_000, Field::Power, Ok(())), Some(Change::Back));
        assert!(!capabilities.is_given_up(Field::Power) && capabilities.has_worked(Field::Power));
    }

    #[test]
    fn a_missing_function_is_given_up_at_once_and_for_the_session() {
        let mut capabilities = Capabilities::default();
        assert!(refuse(&mut capabilities, SECOND, Fault::MissingSymbol).is_some());
        assert!(!capabilities.worth_asking(SECOND * 1_000_000, Fields::of_energy()).contains(Field::Power));
    }

    #[test]
    fn passing_failures_give_nothing_up() {
        let mut capabilities = Capabilities::default();
        for fault in [Fault::Unknown, Fault::Timeout, Fault::OutOfRange, Fault::NoData, Fault::GpuLost] {
            (0..100).for_each(|_| assert_eq!(refuse(&mut capabilities, SECOND, fault), None));
        }
        assert!(!capabilities.is_given_up(Field::Power));
    }
}
