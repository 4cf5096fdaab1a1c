//! The library on the CPU. (One program for many tests: each program links the whole library, which takes longer than most tests.)

mod baseline;
#[path = "../common/mod.rs"]
mod common;
mod edge_cases;
mod explain;
mod golden;
mod likelihood;
mod mcmc;
mod moments;
mod posterior;
mod properties;
mod ranks;
mod refine;
mod structure;
mod training;
