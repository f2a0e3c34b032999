//! How the library is found, opened and let go.

use llmperf_fake_nvml::FakeNvml;
use llmperf_gpu::{Fault, GpuBackend as _, NvmlGpus, SamplerState};

use crate::bench::{Bench, ONE, folder};

#[test]
fn codes_of_the_driver_come_with_their_names() {
    let names = [
        (4, Fault::NoPermission),
        (9, Fault::DriverNotLoaded),
        (12, Fault::LibraryNotFound),
        (17, Fault::OperatingSystem),
        (18, Fault::VersionMismatch),
        (25, Fault::ArgumentVersion),
        (26, Fault::Deprecated),
        (27, Fault::NotReady),
        (29, Fault::InvalidState),
        (999, Fault::Unknown),
        (4_711, Fault::Other(4_711)),
    ];
    let fake = FakeNvml::install(&folder("codes")).unwrap();
    for (code, fault) in names {
        fake.tell(&format!("error nvmlInit_v2 {code}")).unwrap();
        let error = NvmlGpus::new().library(fake.path()).open().unwrap_err();
        assert_eq!(error.fault(), fault, "{error}");
        assert_eq!(error.is_no_driver(), [9, 12].contains(&code), "{error}");
    }
}

#[test]
fn a_library_that_cannot_be_shut_down_is_refused_and_panics_nowhere() {
    let path = FakeNvml::copy(&folder("no_shutdown"), &["nvmlShutdown"]).unwrap();
    let error = NvmlGpus::new().library(&path).open().unwrap_err();
    assert!(error.is_no_driver() && error.to_string().contains("nvmlShutdown"), "{error}");
}

#[test]
fn libraries_that_cannot_free_what_they_give_are_not_asked_for_it() {
    let lacks = ["nvmlEventSetFree", "nvmlGpmSampleFree"];
    let fake = FakeNvml::install_without(&folder("no_free"), &lacks).unwrap();
    let script = ONE.to_owned() + "\nset 0 gpm 1\nset 0 gpm_sm 50";
    let mut bench =
        Bench::on(fake, &script, |sampler| sampler.with(llmperf_gpu::Group::Gpm).with(llmperf_gpu::Group::Incidents));
    bench.pass(5);
    assert_eq!(bench.snapshot().state, SamplerState::Running);
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
    assert_eq!(bench.calls("nvmlGpmSampleAlloc"), 0);
    bench.sampler.pause();
}

#[test]
fn without_a_library_every_usual_place_is_named() {
    let Err(error) = NvmlGpus::new().open() else {
        println!("this machine has a driver: nothing to see here");
        return;
    };
    let error = error.to_string();
    let places = ["libnvidia-ml.so.1: ", "libnvidia-ml.so: ", "/usr/lib/wsl/lib/", "/run/nvidia/driver/"];
    assert!(places.iter().all(|place| error.contains(place)), "{error}");
}

#[test]
fn the_sampler_heals_when_the_library_appears() {
    let folder = folder("appears");
    let path = folder.join("libnvidia-ml.so.1");
    let clock = llmperf_gpu::Clock::manual();
    let sampler = llmperf_gpu::Sampler::new(NvmlGpus::new().library(&path)).devices(llmperf_gpu::Selection::All);
    let mut sampler = sampler.clock(&clock).by_hand();
    sampler.tick();
    assert_eq!(sampler.snapshot().state, SamplerState::Unavailable);
    let fake = FakeNvml::install(&folder).unwrap();
    fake.tell(ONE).unwrap();
    let next = sampler.tick();
    assert_eq!(next, std::time::Duration::from_secs(60), "not before a minute is over");
    clock.advance(next);
    sampler.tick();
    assert_eq!(sampler.snapshot().state, SamplerState::Running);
    assert_eq!(sampler.snapshot().devices[0].sample.power_watts, Ok(412.75));
}

#[test]
fn a_driver_that_lists_no_device_is_no_healthy_idle_machine() {
    let mut bench = Bench::new("empty", "driver 570.1");
    assert_eq!(bench.snapshot().state, SamplerState::Backoff);
    assert!(bench.snapshot().reason.clone().unwrap().contains("no device"));
    bench.tell(ONE);
    bench.pass(2);
    assert_eq!(bench.snapshot().state, SamplerState::Running);
}
