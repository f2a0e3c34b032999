//! One server process: its folder, its ports, its start and its certain end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::poll::{self, Look};
use super::{Result, binary};

const START_LIMIT: Duration = Duration::from_secs(60);
const ATTEMPTS: usize = 5;

/// Becomes the server given as arguments, and kills it at the end of standard input: the kernel closes that pipe
/// however the test process ends, so that not even a killed test leaves a server behind.
const LEASH: &str = r#"
    exec 3<&0 </dev/null
    { read -r _ <&3; kill -KILL $$; } &
    exec 3<&- "$@"
"#;

/// A running server. It is killed, and its folder removed, when this is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    folder: Folder,
}

impl Server {
    /// Starts the server `name` with `arguments` and waits until `is_ready`.
    ///
    /// Fails when the process ends before that, with the end of its log.
    pub(super) fn start<A: AsRef<OsStr>>(
        name: &str,
        arguments: impl IntoIterator<Item = A>,
        folder: Folder,
        is_ready: impl Fn() -> bool,
    ) -> Result<Self> {
        let log = File::create(folder.log())?;
        let child = Command::new("sh")
            .args(["-c", LEASH, "sh"])
            .arg(binary(name))
            .args(arguments)
            .current_dir(&folder.0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut server = Self { child, folder };
        poll::until(START_LIMIT, || {
            // First: an answer on our port from a process that has ended would be somebody else's.
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("{name} ended with {status}:\n{}", server.folder.log_end()).into());
            }
            Ok(if is_ready() { Look::Found(()) } else { Look::NotYet(format!("{name} is not ready")) })
        })?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The leash kills, and only it: a second killer could meet the process id after it was given to somebody else.
        drop(self.child.stdin.take());
        _ = self.child.wait();
        if thread::panicking() {
            _ = writeln!(io::stderr(), "{}", self.folder.log_end());
        }
    }
}

/// A folder of its own for one server, removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);

        let unique = format!("{name}-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Writes a file into the folder and gives its path.
    pub(super) fn write(&self, name: &str, content: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn log(&self) -> PathBuf {
        self.path("log")
    }

    /// The last lines of the server's log.
    fn log_end(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls `start` with free loopback ports, and again with others if somebody else took one before the server could.
pub(crate) fn on_free_ports<const N: usize, T>(start: impl Fn([u16; N]) -> Result<T>) -> Result<T> {
    let mut attempt = 1;
    loop {
        match start(free_ports()?) {
            Err(error) if attempt < ATTEMPTS && error.to_string().contains("address already in use") => attempt += 1,
            outcome => return outcome,
        }
    }
}

/// Ports that were free a moment ago, all different: each stays bound until the last one is found.
fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}
