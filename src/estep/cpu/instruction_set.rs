//! The instruction sets that hot functions are compiled for; the list of their features is here and nowhere else.
//!
//! All versions of a function compute the same bytes: f32 operations are exactly defined, and no sum depends on the vector width.

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSet {
    /// What every machine of this architecture has.
    Baseline,
    /// Vectors of 256 bits and fused multiply-add: x86 since 2013.
    Avx2,
    /// Vectors of 512 bits and masks, as Ice Lake (2019) and Zen 4 (2022) have them: earlier machines slow down where they use them.
    Avx512,
}

impl Default for InstructionSet {
    fn default() -> Self {
        Self::widest()
    }
}

impl InstructionSet {
    /// All there are, narrowest first.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// The widest of this machine.
    pub fn widest() -> Self {
        Self::ALL.into_iter().rfind(|set| set.is_available()).unwrap_or(Self::Baseline)
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        runs(self)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Self::Baseline => "baseline",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

/// `fn name(set, arguments) -> result = body`: compiles the function `body`, which must be `#[inline(always)]` with everything hot that it
/// calls, for every instruction set, and calls the version for `set`, which this machine must have.
macro_rules! in_versions {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $body:path) => {
        in_versions! {
            $(#[$doc])* $vis fn $name($($arg: $type),*) $(-> $result)? = $body,
            else unreachable!("this machine does not have these instructions")
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $body:path, else $without:expr) => {
        $(#[$doc])*
        $vis fn $name(set: $crate::estep::cpu::InstructionSet, $($arg: $type),*) $(-> $result)? {
            use $crate::estep::cpu::InstructionSet;
            use multiversion::{multiversion, target::match_target};
            // What multiversion adds to this list keeps out machines before Ice Lake.
            #[allow(unused_variables)] // without these instructions there is nothing to do
            #[multiversion(targets("x86_64+avx+avx2+avx512bw+avx512cd+avx512dq+avx512f+avx512vl+bmi1+bmi2+fma+lzcnt+popcnt"))]
            fn avx512($($arg: $type),*) $(-> $result)? {
                match_target! { "x86_64+avx512f" => $body($($arg),*), _ => $without }
            }
            #[allow(unused_variables)] // without these instructions there is nothing to do
            #[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
            fn avx2($($arg: $type),*) $(-> $result)? {
                match_target! { "x86_64+avx2" => $body($($arg),*), _ => $without }
            }
            match set {
                InstructionSet::Avx512 => avx512($($arg),*),
                InstructionSet::Avx2 => avx2($($arg),*),
                InstructionSet::Baseline => $body($($arg),*),
            }
        }
    };
}
pub(super) use in_versions;

in_versions! { fn runs() -> bool = runs_here, else false }

#[inline(always)]
fn runs_here() -> bool {
    true
}
