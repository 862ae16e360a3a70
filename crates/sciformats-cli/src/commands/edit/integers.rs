//! Integers as they are written in JSON, whose parser rounds those that are long.

/// Returns the integers in JSON. What is between quotes is a text, in which digits are no numbers.
pub(super) fn integers(json: &str) -> impl Iterator<Item = &str> {
    let (mut inside, mut escaped) = (false, false);
    let other = move |c: char| {
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && c == '\\' && !escaped;
        inside || !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))
    };
    json.split(other).filter(|word| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns the floating-point number of 4 or 8 bytes that an integer would become, if that is another number.
fn rounded(integer: &str, is_short: bool) -> Option<String> {
    // All digits are written, and not only as many as tell the number from others.
    let near = if is_short {
        integer.parse().map(|near: f32| format!("{near:.0}"))
    } else {
        integer.parse().map(|near: f64| format!("{near:.0}"))
    };
    near.ok().filter(|near| near != integer)
}

/// Fails if floating-point numbers of 4 or 8 bytes do not have all integers in JSON.
pub(super) fn exact(json: &str, is_short: bool) -> Result<(), String> {
    match integers(json).find_map(|integer| Some((integer, rounded(integer, is_short)?))) {
        None => Ok(()),
        Some((integer, near)) => Err(format!(
            "does not have the integer {integer}, but {near}; {integer}.0 stands for the nearest number that it has"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_some_integers() {
        for (integer, short, near) in [
            ("16777216", true, None),
            ("16777217", true, Some("16777216")),
            ("16777217", false, None),
            ("9007199254740992", false, None),
            ("-9007199254740993", false, Some("-9007199254740992")),
            ("36893488147419103232", false, None),
            ("36893488147419103233", false, Some("36893488147419103232")),
            ("-0", false, None),
        ] {
            assert_eq!(rounded(integer, short).as_deref(), near, "{integer}");
        }
        let found: Vec<&str> = integers(r#"[7, -12, 1.5, 1e3, "8", {"9": 10}]"#).collect();
        assert_eq!(found, ["7", "-12", "10"]);
    }
}
