#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| noisyor_fuzz::baseline(bytes));
