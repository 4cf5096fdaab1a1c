//! Arithmetic on registers: one word a lane, for all lanes at a time. f32 as the twins have it: multiply-adds are fused, and nothing
//! is reordered or flushed to zero.

use multiversion::multiversion;

/// Operations on one word.
#[derive(Debug, Clone, Copy)]
#[rustfmt::skip]
pub enum Op1 {
    NegF, NegI, NotBool, Not, AbsF, AbsI, SignF, SignI, Sqrt, InverseSqrt, Floor, Ceil, Round, Trunc, Fract, Exp, Exp2, Log, Log2, Sin, Cos, Tanh,
    FloatToU, FloatToI, UToFloat, IToFloat, FloatToBool, WordToBool, BoolToFloat,
    CountOnes, LeadingZeros, TrailingZeros, Reverse,
}

/// Operations on two words. Comparisons give 0 or 1.
#[derive(Debug, Clone, Copy)]
#[rustfmt::skip]
pub enum Op2 {
    AddF, SubF, MulF, DivF, RemF, MinF, MaxF, Pow, EqF, NeF, LtF, LeF,
    Add, Sub, Mul, DivU, DivI, RemU, RemI, MinU, MinI, MaxU, MaxI, Eq, Ne, LtU, LtI, LeU, LeI,
    And, Or, Xor, Shl, ShrU, ShrI,
}

/// Operations on three words.
#[derive(Debug, Clone, Copy)]
pub enum Op3 {
    Fma,
    /// The second where the first is not 0, otherwise the third.
    Choose,
}

#[inline(always)]
fn each(to: &mut [u32], a: &[u32], f: impl Fn(u32) -> u32) {
    to.iter_mut().zip(a).for_each(|(to, &a)| *to = f(a));
}

#[inline(always)]
fn each_f(to: &mut [u32], a: &[u32], f: impl Fn(f32) -> f32) {
    each(to, a, |a| f(f32::from_bits(a)).to_bits());
}

#[inline(always)]
fn both(to: &mut [u32], a: &[u32], b: &[u32], f: impl Fn(u32, u32) -> u32) {
    to.iter_mut().zip(a).zip(b).for_each(|((to, &a), &b)| *to = f(a, b));
}

#[inline(always)]
fn both_f(to: &mut [u32], a: &[u32], b: &[u32], f: impl Fn(f32, f32) -> f32) {
    both(to, a, b, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits());
}

#[inline(always)]
fn test_f(to: &mut [u32], a: &[u32], b: &[u32], f: impl Fn(f32, f32) -> bool) {
    both(to, a, b, |a, b| u32::from(f(f32::from_bits(a), f32::from_bits(b))));
}

#[inline(always)]
fn both_i(to: &mut [u32], a: &[u32], b: &[u32], f: impl Fn(i32, i32) -> i32) {
    both(to, a, b, |a, b| f(a as i32, b as i32) as u32);
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn op1(op: Op1, to: &mut [u32], a: &[u32]) {
    match op {
        Op1::NegF => each_f(to, a, |a| -a),
        Op1::NegI => each(to, a, u32::wrapping_neg),
        Op1::NotBool => each(to, a, |a| u32::from(a == 0)),
        Op1::Not => each(to, a, |a| !a),
        Op1::AbsF => each_f(to, a, f32::abs),
        Op1::AbsI => each(to, a, |a| (a as i32).wrapping_abs() as u32),
        Op1::SignF => each_f(to, a, |a| f32::from(i8::from(a > 0.0) - i8::from(a < 0.0))),
        Op1::SignI => each(to, a, |a| (a as i32).signum() as u32),
        Op1::Sqrt => each_f(to, a, f32::sqrt),
        Op1::InverseSqrt => each_f(to, a, |a| 1.0 / a.sqrt()),
        Op1::Floor => each_f(to, a, f32::floor),
        Op1::Ceil => each_f(to, a, f32::ceil),
        Op1::Round => each_f(to, a, f32::round_ties_even),
        Op1::Trunc => each_f(to, a, f32::trunc),
        Op1::Fract => each_f(to, a, |a| a - a.floor()),
        Op1::Exp => each_f(to, a, f32::exp),
        Op1::Exp2 => each_f(to, a, f32::exp2),
        Op1::Log => each_f(to, a, f32::ln),
        Op1::Log2 => each_f(to, a, f32::log2),
        Op1::Sin => each_f(to, a, f32::sin),
        Op1::Cos => each_f(to, a, f32::cos),
        Op1::Tanh => each_f(to, a, f32::tanh),
        Op1::FloatToU => each(to, a, |a| f32::from_bits(a) as u32),
        Op1::FloatToI => each(to, a, |a| f32::from_bits(a) as i32 as u32),
        Op1::UToFloat => each(to, a, |a| (a as f32).to_bits()),
        Op1::IToFloat => each(to, a, |a| (a as i32 as f32).to_bits()),
        Op1::FloatToBool => each(to, a, |a| u32::from(f32::from_bits(a) != 0.0)),
        Op1::WordToBool => each(to, a, |a| u32::from(a != 0)),
        Op1::BoolToFloat => each(to, a, |a| f32::from(a != 0).to_bits()),
        Op1::CountOnes => each(to, a, u32::count_ones),
        Op1::LeadingZeros => each(to, a, u32::leading_zeros),
        Op1::TrailingZeros => each(to, a, u32::trailing_zeros),
        Op1::Reverse => each(to, a, u32::reverse_bits),
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn op2(op: Op2, to: &mut [u32], a: &[u32], b: &[u32]) {
    match op {
        Op2::AddF => both_f(to, a, b, |a, b| a + b),
        Op2::SubF => both_f(to, a, b, |a, b| a - b),
        Op2::MulF => both_f(to, a, b, |a, b| a * b),
        Op2::DivF => both_f(to, a, b, |a, b| a / b),
        Op2::RemF => both_f(to, a, b, |a, b| a % b),
        Op2::MinF => both_f(to, a, b, f32::min),
        Op2::MaxF => both_f(to, a, b, f32::max),
        Op2::Pow => both_f(to, a, b, f32::powf),
        Op2::EqF => test_f(to, a, b, |a, b| a == b),
        Op2::NeF => test_f(to, a, b, |a, b| a != b),
        Op2::LtF => test_f(to, a, b, |a, b| a < b),
        Op2::LeF => test_f(to, a, b, |a, b| a <= b),
        Op2::Add => both(to, a, b, u32::wrapping_add),
        Op2::Sub => both(to, a, b, u32::wrapping_sub),
        Op2::Mul => both(to, a, b, u32::wrapping_mul),
        // WGSL: x / 0 = x, x % 0 = 0, and the same where the quotient does not fit.
        Op2::DivU => both(to, a, b, |a, b| a.checked_div(b).unwrap_or(a)),
        Op2::DivI => both_i(to, a, b, |a, b| a.checked_div(b).unwrap_or(a)),
        Op2::RemU => both(to, a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
        Op2::RemI => both_i(to, a, b, |a, b| a.checked_rem(b).unwrap_or(0)),
        Op2::MinU => both(to, a, b, u32::min),
        Op2::MinI => both_i(to, a, b, i32::min),
        Op2::MaxU => both(to, a, b, u32::max),
        Op2::MaxI => both_i(to, a, b, i32::max),
        Op2::Eq => both(to, a, b, |a, b| u32::from(a == b)),
        Op2::Ne => both(to, a, b, |a, b| u32::from(a != b)),
        Op2::LtU => both(to, a, b, |a, b| u32::from(a < b)),
        Op2::LtI => both_i(to, a, b, |a, b| i32::from(a < b)),
        Op2::LeU => both(to, a, b, |a, b| u32::from(a <= b)),
        Op2::LeI => both_i(to, a, b, |a, b| i32::from(a <= b)),
        Op2::And => both(to, a, b, |a, b| a & b),
        Op2::Or => both(to, a, b, |a, b| a | b),
        Op2::Xor => both(to, a, b, |a, b| a ^ b),
        Op2::Shl => both(to, a, b, |a, b| a << (b & 31)),
        Op2::ShrU => both(to, a, b, |a, b| a >> (b & 31)),
        Op2::ShrI => both_i(to, a, b, |a, b| a >> (b & 31)),
    }
}

#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+fma+lzcnt+popcnt"))]
pub fn op3(op: Op3, to: &mut [u32], a: &[u32], b: &[u32], c: &[u32]) {
    let words = to.iter_mut().zip(a).zip(b).zip(c);
    match op {
        Op3::Fma => words.for_each(|(((to, &a), &b), &c)| {
            *to = f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)).to_bits();
        }),
        Op3::Choose => words.for_each(|(((to, &a), &b), &c)| *to = if a != 0 { b } else { c }),
    }
}
