//! The memory of processes, from `/proc`. Elsewhere than on Linux there is none to tell.

/// Bytes resident now (`VmRSS`).
pub(crate) fn resident() -> Option<u64> {
    read("self", "VmRSS:")
}

/// The most bytes that were resident since the process began (`VmHWM`).
pub(crate) fn highest() -> Option<u64> {
    read("self", "VmHWM:")
}

/// As [`highest`], of another process.
pub(crate) fn highest_of(process: u32) -> Option<u64> {
    read(&process.to_string(), "VmHWM:")
}

fn read(process: &str, key: &str) -> Option<u64> {
    find(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?, key)
}

fn find(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kilobytes_are_bytes() {
        assert_eq!(find("Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n", "VmHWM:"), Some(1234 * 1024));
        assert_eq!(find("Name:\tx\n", "VmHWM:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_highest_level_is_at_least_the_present_one() {
        assert!(highest().unwrap() >= resident().unwrap() / 2);
    }
}
