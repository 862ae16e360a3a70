//! The memory of this process.

/// Returns the memory of this process in bytes, now (`VmRSS:`) or at most so far (`VmHWM:`), if the system reports it.
pub(crate) fn resident(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
