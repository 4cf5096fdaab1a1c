//! The GPU of a test: required, unless NOISYOR_SKIP_GPU=1.
use noisyor::estep::gpu::{GpuMachine, GpuOptions};
pub fn gpu_machine(options: GpuOptions) -> Option<GpuMachine> {
    match GpuMachine::open(options) {
        Ok(machine) => Some(machine),
        Err(error) if std::env::var_os("NOISYOR_SKIP_GPU").is_some_and(|skip| skip == "1") => {
            println!("skipped, NOISYOR_SKIP_GPU=1: {error}");
            None
        }
        Err(error) => panic!("GPU tests need an adapter (scripts/test.sh installs a software one): {error}"),
    }
}
