//! The performance monitors of newer devices: two samples and what happened between them.

use nvml_wrapper::{GpmSample, Nvml, enums::gpm::GpmMetricId, error::NvmlError, gpm::gpm_metrics_get};

use super::{
    raw::{self, Taken},
    session::{Known, read},
};
use crate::{Activity, Fault, Reading};

const ASKED: [GpmMetricId; 5] = [
    GpmMetricId::GraphicsUtil,
    GpmMetricId::SmUtil,
    GpmMetricId::SmOccupancy,
    GpmMetricId::AnyTensorUtil,
    GpmMetricId::DramBwUtil,
];

/// Activity since the last time that this was asked; no data at the first.
pub(super) fn activity(nvml: &Nvml, known: &mut Known) -> Reading<Activity> {
    if !is_monitored(nvml, known)? {
        return Err(Fault::NotSupported.into());
    }
    let now = read(take(nvml, known))?;
    let Some(before) = known.taken.take() else {
        known.taken = Some(Taken::keep(now));
        return Err(Fault::NoData.into());
    };
    let before = before.sample(nvml);
    let metrics = read(gpm_metrics_get(nvml, &before, &now, &ASKED));
    known.taken = Some(Taken::keep(now));
    let mut shares = metrics?.into_iter().map(|metric| metric.ok().map(|metric| metric.value / 100.0));
    let mut next = || shares.next().flatten();
    let activity = Activity { graphics: next(), sm: next(), occupancy: next(), tensor: next(), dram: next() };
    let told = [activity.graphics, activity.sm, activity.occupancy, activity.tensor, activity.dram];
    if told.iter().all(Option::is_none) { Err(Fault::NotSupported.into()) } else { Ok(activity) }
}

/// Parts of a device have the monitors of the whole.
fn is_monitored(nvml: &Nvml, known: &mut Known) -> Reading<bool> {
    if let Some(known) = known.monitored {
        return Ok(known);
    }
    if !raw::can_free_samples(nvml) {
        return Err(Fault::MissingSymbol.into());
    }
    let whole = known.within.map_or(known.handle, |(parent, _)| parent);
    let monitored = read(whole.device(nvml).gpm_support())?;
    known.monitored = Some(monitored);
    Ok(monitored)
}

fn take<'nvml>(nvml: &'nvml Nvml, known: &Known) -> Result<GpmSample<'nvml>, NvmlError> {
    match known.within {
        Some((parent, instance)) => parent.device(nvml).gpm_mig_sample(instance),
        None => known.handle.device(nvml).gpm_sample(),
    }
}
