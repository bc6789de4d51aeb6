//! Whether there is memory for a matrix. This is checked first, because the system kills a program that takes too much
//! memory without a message.

/// An error when `bytes` are more than the machine can give.
pub(super) fn enough_for(bytes: u64) -> Result<(), String> {
    let available = available();
    if bytes <= available {
        return Ok(());
    }
    Err(format!("that takes {} of memory, and {} can be had", amount(bytes), amount(available)))
}

/// Bytes that are available without swapping; `u64::MAX` if the system does not say.
pub(super) fn available() -> u64 {
    std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_of(&text)).unwrap_or(u64::MAX)
}

fn available_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok().and_then(|kilobytes: u64| kilobytes.checked_mul(1024))
}

/// As text with a unit.
pub(super) fn amount(bytes: u64) -> String {
    let mega = bytes as f64 / 1e6;
    if mega < 1e3 { format!("{mega:.1} MB") } else { format!("{:.1} GB", mega / 1e3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_figure_is_found() {
        let text = "MemTotal:       24614836 kB\nMemFree:         1000000 kB\nMemAvailable:   23910220 kB\n";
        assert_eq!(available_of(text), Some(23_910_220 * 1024));
        assert_eq!(available_of("MemTotal: 1 kB\n"), None);
        assert_eq!(available_of("MemAvailable: much\n"), None);
    }

    #[test]
    fn too_much_is_refused_with_both_figures() {
        assert_eq!(enough_for(1 << 20), Ok(()));
        if available() < u64::MAX {
            let error = enough_for(u64::MAX).unwrap_err();
            assert!(error.contains("18446744073.7 GB") && error.contains("can be had"), "{error}");
        }
        assert_eq!(amount(1_500_000), "1.5 MB");
    }
}
