//! Inference of topics with certificates: golden files, enumeration, random networks.

mod cases;
mod given;
mod golden;
mod random;
