//! Inference of topics with certificates: golden files, enumeration, random networks.

mod cases;
mod golden;
mod random;
