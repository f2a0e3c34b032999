//! The sampler on a page of a DCGM exporter, served on loopback.
#![cfg(all(feature = "dcgm", feature = "testing"))]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use llmperf_core::testing::Probe;
use llmperf_gpu::{ByHand, Clock, DcgmExporter, Fault, Sampler, SamplerState as State, Selection};

/// What the exporter answers.
#[derive(Clone, Default)]
struct Exporter(Arc<Mutex<(String, u64)>>);

impl Exporter {
    fn start() -> (Self, SocketAddr) {
        let (exporter, listener) = (Self::default(), TcpListener::bind(("127.0.0.1", 0)).unwrap());
        let (answers, address) = (exporter.clone(), listener.local_addr().unwrap());
        // It ends with the process; each connection is one scrape.
        thread::spawn(move || listener.incoming().flatten().for_each(|connection| answers.answer(connection)));
        (exporter, address)
    }

    fn answer(&self, mut connection: TcpStream) {
        let (mut asked, mut part) = (Vec::new(), [0; 512]);
        while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
            match connection.read(&mut part) {
                Ok(0) | Err(_) => return,
                Ok(read) => asked.extend_from_slice(&part[..read]),
            }
        }
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        // Whoever asked may be gone.
        let _gone = connection.write_all(state.0.as_bytes());
    }

    fn shows(&self, answer: &str) {
        self.0.lock().unwrap().0 = answer.to_owned();
    }

    /// Two devices that have used so many millijoules.
    fn used(&self, millijoules: u64) {
        let device = |index: u32| {
            let labels = format!("gpu=\"{index}\",UUID=\"GPU-{index}\",modelName=\"NVIDIA L4\"");
            format!(
                "DCGM_FI_DEV_GPU_UTIL{{{labels}}} 50\nDCGM_FI_DEV_POWER_USAGE{{{labels}}} 72.5\n\
                 DCGM_FI_DEV_FB_USED{{{labels}}} 1\nDCGM_FI_DEV_FB_FREE{{{labels}}} 3\n\
                 DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{labels}}} {millijoules}\n"
            )
        };
        self.shows(&format!("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n{}{}", device(0), device(1)));
    }

    fn scrapes(&self) -> u64 {
        self.0.lock().unwrap().1
    }
}

fn sampler(address: SocketAddr, clock: &Clock, probe: &Probe) -> ByHand {
    let exporter = DcgmExporter::new(format!("http://{address}/metrics"));
    let sampler = Sampler::new(exporter).devices(Selection::All).clock(clock);
    sampler.instrumentation(probe.instrumentation().clone()).by_hand()
}

#[test]
fn figures_of_an_exporter_are_those_of_any_device() {
    let ((exporter, address), clock, probe) = (Exporter::start(), Clock::manual(), Probe::new());
    exporter.used(1_000);
    let mut sampler = sampler(address, &clock, &probe);
    sampler.tick();
    assert_eq!(sampler.snapshot().state, State::Running);
    assert_eq!(exporter.scrapes(), 1, "one scrape for the list and all devices");
    exporter.used(73_500);
    clock.advance(Duration::from_secs(1));
    sampler.tick();
    assert_eq!(exporter.scrapes(), 2);
    assert_eq!(probe.count("hw.energy"), 145.0);
    assert_eq!(probe.count("hw.power"), 145.0);
    assert_eq!(probe.points("hw.gpu.memory.utilization").len(), 2);
    assert_eq!(probe.points("hw.gpu.memory.limit")[0].sum, 4.0 * 1_048_576.0);
    assert!(probe.points("hw.temperature").is_empty(), "what the page does not tell is absent");
}

#[test]
fn an_exporter_that_fails_is_tried_again_and_nothing_old_is_told() {
    let ((exporter, address), clock, probe) = (Exporter::start(), Clock::manual(), Probe::new());
    exporter.used(0);
    let mut sampler = sampler(address, &clock, &probe);
    sampler.tick();
    for (answer, fault) in [
        ("HTTP/1.0 503 Service Unavailable\r\n\r\n", Fault::Unreachable),
        ("what is this", Fault::Malformed),
        ("", Fault::Malformed),
    ] {
        exporter.shows(answer);
        clock.advance(Duration::from_secs(1));
        sampler.tick();
        assert_eq!(sampler.snapshot().state, State::Backoff, "{answer:?}");
        assert!(probe.points("hw.power").is_empty());
        let next = sampler.tick();
        clock.advance(next - clock.now());
        sampler.tick();
        assert!(sampler.snapshot().health.open_errors.contains_key(&fault), "{:?}", sampler.snapshot().health);
        exporter.used(0);
        let next = sampler.tick();
        clock.advance(next - clock.now());
        sampler.tick();
        assert_eq!(sampler.snapshot().state, State::Running);
    }
}

#[test]
fn where_nobody_listens_the_sampler_backs_off() {
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let (clock, probe) = (Clock::manual(), Probe::new());
    let mut sampler = sampler(address, &clock, &probe);
    let mut ticks = 0;
    while clock.now() < Duration::from_secs(3_600) {
        let next = sampler.tick();
        ticks += 1;
        clock.advance(next - clock.now());
    }
    assert_eq!(sampler.snapshot().state, State::Backoff);
    assert!(ticks <= 25, "{ticks} tries in an hour");
    assert!(sampler.snapshot().reason.clone().unwrap().contains("unreachable"), "{:?}", sampler.snapshot().reason);
}

/// What comes of one answer.
fn state_after(answer: &str) -> (State, usize) {
    let ((exporter, address), clock, probe) = (Exporter::start(), Clock::manual(), Probe::new());
    exporter.shows(answer);
    let mut sampler = sampler(address, &clock, &probe);
    sampler.tick();
    let snapshot = sampler.snapshot();
    (snapshot.state, snapshot.devices.iter().filter(|device| device.sample.power_watts.is_ok()).count())
}

#[test]
fn half_an_answer_is_none() {
    let line = "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-0\"} 72.5\n";
    let length = line.len();
    let answer = |headers: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n{body}");
    assert_eq!(state_after(&answer("", line)), (State::Running, 1));
    assert_eq!(state_after(&answer(&format!("Content-Length: {length}\r\n"), line)), (State::Running, 1));
    assert_eq!(state_after(&answer(&format!("content-length: {}\r\n", length + 1), line)), (State::Backoff, 0));
    assert_eq!(state_after(&answer("", &format!("{line}DCGM_FI_DEV_POWER_USAGE{{UUID=\"GPU-1\"}} 7"))).1, 1);
    let pieces = answer("Transfer-Encoding: chunked\r\n", &format!("{length:x}\r\n{line}\r\n0\r\n\r\n"));
    assert_eq!(state_after(&pieces), (State::Backoff, 0));
}

#[test]
fn an_exporter_that_never_ends_its_answer_is_given_up() {
    // One that says nothing, and one that says a line now and then.
    for talks in [false, true] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        // Each connection is served until whoever asked has gone.
        thread::spawn(move || {
            for mut connection in listener.incoming().flatten() {
                let line = b"HTTP/1.1 200 OK\r\n\r\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-0\"} 72.5\n";
                while talks && connection.write_all(line).is_ok() {
                    thread::sleep(Duration::from_millis(1));
                }
                let _gone = connection.read_to_end(&mut Vec::new());
            }
        });
        let exporter = DcgmExporter::new(format!("http://{address}")).limit(Duration::from_millis(50));
        let mut sampler = Sampler::new(exporter).devices(Selection::All).clock(&Clock::manual()).by_hand();
        sampler.tick();
        let snapshot = sampler.snapshot();
        assert_eq!((snapshot.state, snapshot.health.open_errors.get(&Fault::Timeout)), (State::Backoff, Some(&1)));
    }
}

#[test]
fn a_scrape_that_fails_is_not_tried_again_for_each_device() {
    let ((exporter, address), clock, probe) = (Exporter::start(), Clock::manual(), Probe::new());
    exporter.used(1_000);
    let mut sampler = sampler(address, &clock, &probe);
    sampler.tick();
    assert_eq!((sampler.snapshot().devices.len(), exporter.scrapes()), (2, 1));
    exporter.shows("HTTP/1.0 500 No\r\n\r\n");
    clock.advance(Duration::from_secs(1));
    sampler.tick();
    assert_eq!((sampler.snapshot().state, exporter.scrapes()), (State::Backoff, 2));
}
