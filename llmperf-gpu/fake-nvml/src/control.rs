//! The other side: a copy of the library for one test, and what it is told.

use std::{
    env,
    ffi::CString,
    fmt, fs, io,
    os::raw::{c_char, c_int},
    path::{Path, PathBuf},
};

use libloading::{Library, Symbol};

/// The name that the real library has.
const NAME: &str = "libnvidia-ml.so.1";

/// A copy of the fake library in a folder of its own, opened for scripting. Each copy has a state of its own; the state is
/// gone once everybody has closed it. A copy that was installed is removed when this is dropped.
pub struct FakeNvml {
    path: PathBuf,
    library: Library,
    installed: bool,
}

impl FakeNvml {
    /// Puts a copy into a folder under the name of the real library, and opens it.
    ///
    /// # Errors
    ///
    /// If the library has not been built, or cannot be copied or opened.
    pub fn install(folder: &Path) -> io::Result<Self> {
        Self::install_without(folder, &[])
    }

    /// The same, with some functions missing.
    ///
    /// # Errors
    ///
    /// As for [`install`](Self::install), or if the library has no such function.
    pub fn install_without(folder: &Path, symbols: &[&str]) -> io::Result<Self> {
        let mut fake = Self::open(Self::copy(folder, symbols)?)?;
        fake.installed = true;
        Ok(fake)
    }

    /// Puts a copy into a folder without opening it. It replaces one that is there as a package manager would, by
    /// another file under the same name.
    ///
    /// # Errors
    ///
    /// As for [`install_without`](Self::install_without).
    pub fn copy(folder: &Path, without: &[&str]) -> io::Result<PathBuf> {
        let mut library = fs::read(Self::built()?)?;
        for symbol in without {
            rename_symbol(&mut library, symbol)?;
        }
        fs::create_dir_all(folder)?;
        let (path, fresh) = (folder.join(NAME), folder.join("fresh"));
        fs::write(&fresh, library)?;
        fs::rename(&fresh, &path)?;
        Ok(path)
    }

    /// Opens a copy that is there.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        // SAFETY: it is our own library; it runs no code when it is loaded.
        let library = unsafe { Library::new(&path) }.map_err(io::Error::other)?;
        Ok(Self { path, library, installed: false })
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Obeys lines of script.
    ///
    /// # Errors
    ///
    /// If a line is not understood; those before it are obeyed.
    pub fn tell(&self, lines: &str) -> io::Result<()> {
        for line in lines.lines() {
            let text = CString::new(line).map_err(io::Error::other)?;
            // SAFETY: the type is that of the function in `symbols.rs`, which reads the text and keeps nothing.
            let understood = unsafe {
                let control: Symbol<'_, unsafe extern "C" fn(*const c_char) -> c_int> =
                    self.library.get(b"fake_nvml_tell\0").map_err(io::Error::other)?;
                control(text.as_ptr())
            };
            if understood != 0 {
                return Err(io::Error::other(format!("not understood: {line}")));
            }
        }
        Ok(())
    }

    /// How often a function was called.
    ///
    /// # Errors
    ///
    /// If the library is not the fake one.
    pub fn calls(&self, symbol: &str) -> io::Result<u64> {
        let text = CString::new(symbol).map_err(io::Error::other)?;
        // SAFETY: as above.
        unsafe {
            let calls: Symbol<'_, unsafe extern "C" fn(*const c_char) -> u64> =
                self.library.get(b"fake_nvml_calls\0").map_err(io::Error::other)?;
            Ok(calls(text.as_ptr()))
        }
    }

    /// Where cargo has put the library: beside the test executable, or one folder up from an example.
    fn built() -> io::Result<PathBuf> {
        let executable = env::current_exe()?;
        let name = format!("{}llmperf_fake_nvml{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
        let folders = executable.ancestors().skip(1).take(2);
        let places = folders.flat_map(|folder| [folder.join(&name), folder.join("deps").join(&name)]);
        let found = places.into_iter().find(|place| place.is_file());
        found.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("{name} is not beside {}", executable.display()))
        })
    }
}

impl Drop for FakeNvml {
    fn drop(&mut self) {
        if self.installed {
            // Who has it open keeps it; what cannot be removed is left.
            let _left = fs::remove_file(&self.path);
        }
    }
}

impl fmt::Debug for FakeNvml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FakeNvml").field(&self.path).finish()
    }
}

/// Makes a function missing: its name in the file becomes another one. Nobody finds it then, since names are compared
/// after their hashes.
fn rename_symbol(library: &mut [u8], symbol: &str) -> io::Result<()> {
    let name: Vec<u8> = [&[0], symbol.as_bytes(), &[0]].concat();
    let places: Vec<usize> =
        library.windows(name.len()).enumerate().filter(|(_, bytes)| *bytes == name).map(|(place, _)| place).collect();
    for place in &places {
        if let Some(first) = library.get_mut(place + 1) {
            *first = b'x';
        }
    }
    if places.is_empty() { Err(io::Error::other(format!("there is no {symbol}"))) } else { Ok(()) }
}
