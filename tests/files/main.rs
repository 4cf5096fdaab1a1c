//! Files: bad ones, damaged ones, and those of other programs.

mod bad_input;
mod damage;
mod interop;
