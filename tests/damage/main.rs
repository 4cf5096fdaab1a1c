//! Damaged and faulty files: none is taken for a sound one, none ends in a panic, and every fault is listed.

mod check;
mod limits;
mod models;
