//! Where a test may let the process die.

/// Dies here if `FAILPOINTS` names this point with `return`. Without the feature `failpoints` it is nothing at all.
pub fn crash_point(name: &'static str) {
    fail::fail_point!(name, |_| std::process::abort());
    // Without the feature the line above is empty.
    let _ = name;
}
