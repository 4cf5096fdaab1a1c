#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for zero_based in [false, true] {
        let format = Some(noisyor::corpus::Format::Svmlight);
        let options = noisyor::corpus::ReadOptions { format, zero_based, ..Default::default() };
        noisyor_fuzz::reader_with(&options, bytes);
    }
});
