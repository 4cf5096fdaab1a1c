//! Panics of the Parquet library as errors: it asserts where a damaged file should be an error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs this; a panic is an error with its message, and prints nothing. What `run` changes must not be used after one.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        // Other threads, and this one outside of here, panic as ever.
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::{QUIET, guarded};

    #[test]
    fn a_panic_is_an_error_and_the_next_one_is_heard() {
        assert_eq!(guarded(|| 1), Ok(1));
        assert_eq!(guarded(|| panic!("no {}", 1)), Err::<(), _>("no 1".into()));
        assert_eq!(guarded(|| panic!("no")), Err::<(), _>("no".into()));
        assert!(!QUIET.get());
    }
}
