//! Corpora above 64 MB are verified beside the work: damage must be found all the same, and before anything is reported.
//!
//! Costs about 70 MB of disk and a second or two.

use crate::support::{Folder, PANTRY};
use noisyor::corpus::Sink;
use noisyor::corpus::native::NativeWriter;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};

const N_TOKENS: u32 = 17_500_000;

#[test]
fn a_flipped_bit_in_a_large_corpus() {
    let folder = Folder::new();
    let path = folder.path("large.corpus");
    let mut writer = NativeWriter::create(&path).expect("a corpus");
    for mut tokens in [vec![0, 1], (0..N_TOKENS).collect(), vec![2]] {
        writer.push(&mut tokens, "", "").expect("a document");
    }
    writer.commit().expect("a corpus");
    folder.write("model.tsv", PANTRY);
    let commands = [
        "eval model.tsv large.corpus --by-number --backend cpu --per-doc out.tsv",
        "infer model.tsv large.corpus --by-number --backend cpu -o out.tsv",
        "corpus large.corpus -o out.corpus",
        "corpus split large.corpus -o parts",
        "train large.corpus --by-number --graph model.tsv --epochs 1 --backend cpu -o run",
    ];
    folder.run(commands[0]);
    std::fs::remove_file(folder.path("out.tsv")).expect("an output");

    let mut file = OpenOptions::new().read(true).write(true).open(&path).expect("a file");
    let middle = SeekFrom::Start(256 + 4 * u64::from(N_TOKENS / 2));
    let mut byte = [0];
    file.seek(middle).and_then(|_| file.read_exact(&mut byte)).expect("a byte");
    file.seek(middle).and_then(|_| file.write_all(&[byte[0] ^ 1])).expect("a byte");
    drop(file);
    for command in commands {
        folder.fails(command, 2, &["large.corpus", "section Tokens is damaged"]);
        assert_eq!(folder.names_in("."), ["large.corpus", "model.tsv"], "{command}");
    }
}
