//! The sampler as the application sees it: a builder, a guard, and the thread between them.

use std::{
    fmt, io,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender},
    },
    thread,
    time::Duration,
};

use llmperf_core::{Instrumentation, Observer};

use crate::{
    Clock, DeviceId, GpuBackend, GpuSnapshot, GpuWindow, Group, LocalModel, SamplerState, Selection,
    calls::{CallObserver, Correlation},
    engine::Engine,
    guarded::Guarded,
    machine::LOOK_AGAIN_AFTER,
    metrics::{TABLE, scope},
    observed,
    outlet::Outlet,
    settings::{FLOOR, Settings},
    sleeper::PCI_DEVICES,
    snapshot::Shared,
};

/// How long ending the sampler may take unless said otherwise.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// The longest sleep of the thread at a time; commands wake it sooner.
const LONGEST_SLEEP: Duration = Duration::from_secs(3_600);

/// Samples the GPUs of this machine. Built by consuming setters; nothing happens before [`start`](Self::start).
///
/// ```
/// use std::time::Duration;
///
/// # #[cfg(feature = "nvml")] {
/// // Without a driver this says so once, looks again every minute, and does nothing else.
/// let gpus = llmperf_gpu::Sampler::nvml().every(Duration::from_secs(1)).start();
/// println!("{}", gpus.snapshot().state);
/// # }
/// ```
#[must_use = "a sampler does nothing until `start`"]
pub struct Sampler {
    backend: Guarded,
    settings: Settings,
    clock: Clock,
    stop_limit: Duration,
    instrumentation: Option<Instrumentation>,
    correlation: Arc<Correlation>,
}

impl Sampler {
    /// Samples NVIDIA GPUs through NVML, which is opened when the sampler starts, wherever it usually lies.
    #[cfg(feature = "nvml")]
    pub fn nvml() -> Self {
        Self::new(crate::NvmlGpus::new())
    }

    /// Samples by a backend of your choice.
    pub fn new(backend: impl GpuBackend + 'static) -> Self {
        Self {
            backend: Guarded::new(backend),
            settings: Settings::default(),
            clock: Clock::system(),
            stop_limit: STOP_LIMIT,
            instrumentation: None,
            correlation: Arc::default(),
        }
    }

    /// The time between two samples. Default: a second; at least 100 ms, below which drivers answer with zeros.
    pub fn every(mut self, period: Duration) -> Self {
        self.settings.every = period.max(FLOOR);
        self
    }

    /// Reads power and energy more often than the rest: what calls used is known the more exactly. At least 100 ms.
    pub fn energy_every(mut self, period: Duration) -> Self {
        self.settings.energy_every = Some(period.max(FLOOR));
        self
    }

    /// Adds figures that are not asked by default.
    pub fn with(mut self, group: Group) -> Self {
        match group.field() {
            Some(field) => self.settings.fields = self.settings.fields.with(field),
            None => self.settings.incidents = true,
        }
        self
    }

    /// Which devices are sampled. Default: those that CUDA sees, if that is clear.
    pub fn devices(mut self, selection: Selection) -> Self {
        self.settings.selection = selection;
        self
    }

    /// Puts the model that a device serves on its series, as `gen_ai.request.model`.
    pub fn serves(mut self, device: impl Into<DeviceId>, model: impl Into<Arc<str>>) -> Self {
        self.settings.serves.push((device.into(), model.into()));
        self
    }

    /// Says that a model runs on these GPUs: its calls are then given their energy. Calls are seen by the
    /// [observer](Self::observer).
    pub fn local(mut self, model: LocalModel) -> Self {
        self.settings.models.push(model);
        self
    }

    /// Leaves devices alone while they are suspended, and closes the driver while all are: for laptops, where looking at
    /// a GPU keeps it from sleeping. Linux only. Default: off.
    pub fn respect_sleep(mut self) -> Self {
        self.settings.sleepers = Some(PCI_DEVICES.into());
        self
    }

    /// Where the power state of PCI devices is read instead of the kernel's own folder.
    #[cfg(feature = "testing")]
    pub fn respect_sleep_in(mut self, folder: impl Into<std::path::PathBuf>) -> Self {
        self.settings.sleepers = Some(folder.into());
        self
    }

    /// What the environment says of CUDA's devices, instead of the environment.
    #[cfg(feature = "testing")]
    pub fn cuda_environment(mut self, devices: Option<&str>, order: Option<&str>) -> Self {
        self.settings.visible =
            crate::settings::Visible { devices: devices.map(Into::into), order: order.map(Into::into) };
        self
    }

    /// Records through this instrumentation instead of the global one.
    pub fn instrumentation(mut self, instrumentation: Instrumentation) -> Self {
        self.instrumentation = Some(instrumentation);
        self
    }

    /// How long [`stop`](Sampling::stop) and the drop of the guard wait for a driver call that hangs, before they leave the
    /// thread to it. Default: two seconds.
    pub fn stop_limit(mut self, limit: Duration) -> Self {
        self.stop_limit = limit;
        self
    }

    /// Runs on another clock.
    #[cfg(feature = "testing")]
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.clock = clock.clone();
        self
    }

    /// The observer that sees the calls: give it to
    /// [`InstrumentationBuilder::observer`](llmperf_core::InstrumentationBuilder::observer). It sees them once the sampler
    /// has started.
    #[must_use]
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(CallObserver(Arc::clone(&self.correlation)))
    }

    /// Starts the thread. It never fails: a machine without a driver, or a driver that refuses, is a
    /// [state](SamplerState) of the sampler.
    pub fn start(self) -> Sampling {
        let shared = self.set_up();
        let correlation = self.correlation;
        let engine = Engine::new(self.backend, self.settings, Arc::clone(&shared), Arc::clone(&correlation));
        let (commands, inbox) = mpsc::channel();
        let (done, ended) = mpsc::sync_channel(1);
        let thread = Thread { engine, inbox, shared: Arc::clone(&shared), done };
        let spawned = thread::Builder::new().name("llmperf-gpu".into()).spawn(move || thread.run());
        if let Err(error) = spawned {
            no_thread(&shared, &error);
        }
        Sampling { shared, commands, ended: Some(ended), stop_limit: self.stop_limit, correlation }
    }

    /// The sampler without a thread, for tests in which time is moved by hand.
    #[cfg(feature = "testing")]
    pub fn by_hand(self) -> ByHand {
        let shared = self.set_up();
        let correlation = self.correlation;
        let engine = Engine::new(self.backend, self.settings, Arc::clone(&shared), Arc::clone(&correlation));
        ByHand { engine, shared, correlation }
    }

    /// Makes what the thread shares with the rest of the process.
    fn set_up(&self) -> Arc<Shared> {
        let (settings, clock) = (&self.settings, &self.clock);
        let meters = self.instrumentation.clone().unwrap_or_else(Instrumentation::global).meters(scope(), TABLE);
        let outlet = Outlet::new(self.instrumentation.clone(), meters);
        let grace = settings.max_age().saturating_add(Duration::from_secs(2));
        self.correlation.set_up(settings.models.clone(), clock.clone(), grace, outlet);
        Arc::new(Shared::new(clock.clone(), settings.max_age()))
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("backend", &self.backend.name())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A running sampler. Dropping it ends it, as [`stop`](Self::stop) does.
#[must_use = "dropping it stops the sampler at once"]
pub struct Sampling {
    shared: Arc<Shared>,
    correlation: Arc<Correlation>,
    commands: Sender<Command>,
    /// Absent once the end was waited for.
    ended: Option<Receiver<()>>,
    stop_limit: Duration,
}

impl Sampling {
    /// What the sampler knows now. Never waits for a driver.
    #[must_use]
    pub fn snapshot(&self) -> Arc<GpuSnapshot> {
        self.shared.snapshot()
    }

    /// The time on the sampler's clock, for [`window`](Self::window).
    #[must_use]
    pub fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    /// What all sampled devices did between two times of [`now`](Self::now), at most ten minutes ago. The energy of the
    /// last moments is known only once the next sample came.
    #[must_use]
    pub fn window(&self, from: Duration, to: Duration) -> GpuWindow {
        self.shared.window(None, from, to)
    }

    /// Closes the driver, so that it can be unloaded or replaced, until [`resume`](Self::resume). Returns at once.
    pub fn pause(&self) {
        self.command(Command::Pause);
    }

    /// Opens the driver again.
    pub fn resume(&self) {
        self.command(Command::Resume);
    }

    /// Ends the sampler and closes the driver; tells whether that was done within the limit. If a driver call hangs, the
    /// thread is left to it, and ends when it returns.
    pub fn stop(mut self) -> bool {
        self.end()
    }

    fn end(&mut self) -> bool {
        // Once only: whoever has waited for a driver that hangs need not wait again.
        let Some(ended) = self.ended.take() else { return true };
        self.command(Command::Stop);
        // Either it says that it is done, or it is gone, by then or long before.
        !matches!(ended.recv_timeout(self.stop_limit), Err(RecvTimeoutError::Timeout))
    }

    fn command(&self, command: Command) {
        // A thread that has ended needs none.
        let _gone = self.commands.send(command);
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling")
            .field("state", &self.snapshot().state)
            .field("calls", &self.correlation)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
enum Command {
    Pause,
    Resume,
    Stop,
}

/// What the thread owns.
struct Thread {
    engine: Engine,
    inbox: Receiver<Command>,
    shared: Arc<Shared>,
    done: SyncSender<()>,
}

impl Thread {
    fn run(mut self) {
        loop {
            let next = self.tick();
            let sleep = next.saturating_sub(self.shared.clock.now()).min(LONGEST_SLEEP);
            match self.inbox.recv_timeout(sleep) {
                Ok(Command::Pause) => self.whatever_happens(Engine::pause),
                Ok(Command::Resume) => self.whatever_happens(Engine::resume),
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.whatever_happens(Engine::stop);
        // Nobody waits any more if the limit has passed.
        let _late = self.done.try_send(());
    }

    fn tick(&mut self) -> Duration {
        let now = self.shared.clock.now();
        let mut next = now.saturating_add(LOOK_AGAIN_AFTER);
        self.whatever_happens(|engine| {
            refresh_instruments(&engine.shared, &engine.correlation);
            next = engine.tick();
        });
        next
    }

    /// A panic of what is called from here (a backend's is caught closer to it: this is one of a meter provider, or of
    /// a subscriber of logs) does not end the thread.
    fn whatever_happens(&mut self, what: impl FnOnce(&mut Engine)) {
        let _panic = panic::catch_unwind(AssertUnwindSafe(|| what(&mut self.engine)));
    }
}

/// Makes the observed instruments once for each provider that comes into force.
fn refresh_instruments(shared: &Arc<Shared>, correlation: &Correlation) {
    if let Some((instruments, true)) = correlation.meters().map(llmperf_core::Meters::current) {
        observed::observe(instruments.meter(), shared);
    }
}

fn no_thread(shared: &Shared, error: &io::Error) {
    tracing::warn!(target: "llmperf", %error, "the GPU sampler could not start its thread");
    let reason = Some(format!("no thread: {error}"));
    shared.publish(GpuSnapshot { state: SamplerState::Unavailable, reason, ..GpuSnapshot::default() });
}

/// A sampler whose ticks are called by hand.
#[cfg(feature = "testing")]
#[derive(Debug)]
pub struct ByHand {
    engine: Engine,
    shared: Arc<Shared>,
    correlation: Arc<Correlation>,
}

#[cfg(feature = "testing")]
impl ByHand {
    /// Does what is due now, and tells when something will be due again, on the sampler's clock.
    pub fn tick(&mut self) -> Duration {
        refresh_instruments(&self.shared, &self.correlation);
        self.engine.tick()
    }

    /// What the sampler knows now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<GpuSnapshot> {
        self.shared.snapshot()
    }

    /// As [`Sampling::window`].
    #[must_use]
    pub fn window(&self, from: Duration, to: Duration) -> GpuWindow {
        self.shared.window(None, from, to)
    }

    /// As [`Sampling::pause`].
    pub fn pause(&mut self) {
        self.engine.pause();
    }

    /// As [`Sampling::resume`].
    pub fn resume(&mut self) {
        self.engine.resume();
    }
}
