//! The `noisyor` program: exit statuses and error printing; everything else is in `cli` and the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_device_layer();
    explain_bus_errors();
    give_memory_back();
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::tell(format_args!("noisyor: {error}"));
            let status = error.downcast_ref::<noisyor::Error>().map_or(1, noisyor::Error::exit_status);
            cli::leave(status);
            ExitCode::from(status)
        }
    }
}

/// The reader of our output went away: nothing is wrong.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Mesa's device-selection layer asks the Wayland display which GPU it uses and complains on standard error where there is no
/// display, as on every server. Nothing here is drawn: the layer is told to stay out, unless the user wants it to choose.
#[allow(unsafe_code)]
fn quiet_device_layer() {
    const LAYER_OFF: &str = "NODEVICE_SELECT";
    let chosen =
        ["MESA_VK_DEVICE_SELECT", "DRI_PRIME", LAYER_OFF].iter().any(|name| std::env::var_os(name).is_some());
    if cfg!(all(target_os = "linux", feature = "gpu")) && !chosen {
        // SAFETY: the first thing the program does; no other thread exists that could read the environment.
        unsafe { std::env::set_var(LAYER_OFF, "1") };
    }
}

/// glibc raises the size from which memory is mapped by itself with every large array that is freed; later arrays then lie between
/// small pieces, and what was freed stays with the program. With a fixed size large arrays always go back to the system, so the
/// memory of a run of days is what it holds.
#[allow(unsafe_code)]
fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const MAPPED_FROM: libc::c_int = 1 << 20;
        // SAFETY: sets a number of the allocator, before any other thread exists.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) };
    }
}

/// A mapped corpus that another program cuts short raises SIGBUS where it is read: that is an error of input and output, not a
/// crash. There is no way back from it, so the program ends; files that were being written are not put in place.
#[allow(unsafe_code)]
fn explain_bus_errors() {
    #[cfg(unix)]
    {
        extern "C" fn on_bus_error(_: libc::c_int) {
            const MESSAGE: &[u8] = b"noisyor: a mapped corpus became shorter while it was read; write it anew beside the old one \
                and rename it, as 'noisyor corpus' does\n";
            // SAFETY: both may be called in a signal handler; the message is static.
            unsafe {
                libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(3);
            }
        }
        // SAFETY: the handler calls nothing that is forbidden in one.
        unsafe { libc::signal(libc::SIGBUS, on_bus_error as *const () as libc::sighandler_t) };
    }
}
