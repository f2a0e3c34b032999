//! GPUs that serve from another process, container or machine: what a DCGM exporter tells of them.
//!
//! One scrape per tick. The exporter collects every 30 s unless told otherwise, so its figures are as old as that; its
//! energy counters stand still in between, which the sampler takes as such.

mod http;
mod page;

use std::{collections::BTreeSet, fmt, time::Duration};

use crate::{BackendError, DeviceId, DeviceSample, Fault, Fields, Found, GpuBackend};
use http::Address;
use page::Page;

/// The GPUs that an exporter tells of, scraped by plain HTTP.
///
/// ```
/// let exporter = llmperf_gpu::DcgmExporter::new("http://localhost:9400/metrics");
/// let sampler = llmperf_gpu::Sampler::new(exporter);
/// # drop(sampler);
/// ```
pub struct DcgmExporter {
    address: String,
    limit: Duration,
    /// The last scrape, or why there is none.
    page: Option<Result<Page, BackendError>>,
    /// Devices that were told what came of it.
    told: BTreeSet<DeviceId>,
}

impl DcgmExporter {
    /// The exporter at this address, `http://host:port/path`. An address that cannot be read is an error of each scrape.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        let (address, told) = (address.into(), BTreeSet::new());
        Self { address, limit: Duration::from_secs(2), page: None, told }
    }

    /// How long a scrape may take, the look-up of the host's name aside. Default: two seconds.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn scrape(&mut self) -> Result<&Page, BackendError> {
        self.told.clear();
        let text = Address::parse(&self.address).and_then(|address| http::get(&address, self.limit));
        self.page.insert(text.map(|text| Page::parse(&text))).as_ref().map_err(Clone::clone)
    }

    /// A scrape that this device has not been told of; one that failed has failed for all devices.
    fn page_for(&mut self, device: &DeviceId) -> Result<&Page, BackendError> {
        if self.page.is_none() || self.told.contains(device) {
            // What came of it is found below.
            let _kept = self.scrape();
        }
        self.told.insert(device.clone());
        self.page.as_ref().ok_or(BackendError::from(Fault::NoData))?.as_ref().map_err(Clone::clone)
    }
}

impl GpuBackend for DcgmExporter {
    fn name(&self) -> &'static str {
        "dcgm-exporter"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        self.scrape().map(|_| ())
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        if self.told.is_empty()
            && let Some(Ok(page)) = &self.page
        {
            return Ok(page.devices().map(Found::device).collect());
        }
        let page = self.scrape()?;
        Ok(page.devices().map(Found::device).collect())
    }

    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        match self.page_for(device) {
            Ok(page) => page.sample(device, plan).unwrap_or_else(|| DeviceSample::failed(plan, Fault::GpuNotFound)),
            Err(error) => DeviceSample::failed(plan, error.fault()),
        }
    }

    fn forget(&mut self, device: &DeviceId) {
        self.told.remove(device);
    }

    fn close(&mut self) {
        self.page = None;
    }
}

impl fmt::Debug for DcgmExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DcgmExporter").field("address", &self.address).finish_non_exhaustive()
    }
}
