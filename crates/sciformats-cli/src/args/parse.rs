//! Numbers on the command line: sizes, tolerances and offsets.

/// Parses a number of bytes with a unit of 1024: `64`, `512K`, `2MiB`, `4g`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("expected a number of bytes, such as 512M or 4GiB".into()),
    };
    let number: u64 =
        number.parse().map_err(|_| "expected a number of bytes, such as 512M or 4GiB".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than 2^64 bytes".into())
}

pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 => Ok(value),
        _ => Err("expected a number of at least 0".into()),
    }
}

pub(super) fn parse_offset(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "expected a byte offset, such as 4096 or 0x1000".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("7", 7), ("2K", 2048), ("2kb", 2048), ("3MiB", 3 << 20), ("4g", 4 << 30), ("1 T", 1 << 40)]
        {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "M", "-1", "1.5G", "3X", "99999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tolerances_and_offsets() {
        assert_eq!(parse_tolerance("1e-5"), Ok(1e-5));
        assert!(parse_tolerance("-1").is_err() && parse_tolerance("nan").is_err());
        assert_eq!(parse_offset("0x10"), Ok(16));
        assert!(parse_offset("0xg").is_err());
    }
}
