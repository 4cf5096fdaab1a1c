#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    noisyor_fuzz::reader(noisyor::corpus::Format::CsvOrDense, bytes);
    noisyor_fuzz::table(noisyor::corpus::Format::Csv, bytes);
});
