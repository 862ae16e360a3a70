//! Scale-offset (filter 6): numbers less their minimum, in as few bits as the largest needs.
//!
//! A chunk is the number of bits (4), the size of the minimum (1), the minimum (8), 8 zeros, then the packed values.

use sciformats_core::{Fault, FaultKind};

use super::bits::Bits;

/// What the client values say.
struct Parameters {
    float_scale: Option<i32>,
    elements: usize,
    size: usize,
    big: bool,
    fill: Option<u64>,
}

fn parameters(values: &[u32]) -> Result<Parameters, Fault> {
    let value = |at: usize| values.get(at).copied().ok_or_else(|| super::truncated("client data"));
    let wrong = |found: u32| Fault::new("client data", FaultKind::Undefined { found: found.into() });
    let class = value(3)?;
    let float_scale = match (value(0)?, class) {
        (0, 1) => Some(value(1)?.cast_signed()),
        (2, 0) => None,
        (found, _) => return Err(wrong(found)),
    };
    let size = value(4)?;
    let known = if class == 1 { matches!(size, 4 | 8) } else { matches!(size, 1 | 2 | 4 | 8) };
    if !known {
        return Err(wrong(size));
    }
    let fill = match value(7)? {
        0 => None,
        _ => Some(u64::from(value(8)?) | u64::from(values.get(9).copied().unwrap_or(0)) << 32),
    };
    let elements = usize::try_from(value(2)?).unwrap_or(usize::MAX);
    let size = usize::try_from(size).unwrap_or(8);
    Ok(Parameters { float_scale, elements, size, big: value(6)? == 1, fill })
}

/// Decodes at most `max` bytes.
pub(crate) fn decode(values: &[u32], input: &[u8], max: usize) -> Result<Vec<u8>, Fault> {
    let parameters = parameters(values)?;
    let Parameters { elements, size, .. } = parameters;
    let full = u32::try_from(size * 8).unwrap_or(64);
    if parameters.float_scale.is_none() && values.get(1) == Some(&full) {
        return Ok(input.to_vec()); // as many bits as there are: stored as it is
    }
    let total =
        elements.checked_mul(size).filter(|&total| total <= max).ok_or_else(|| super::too_long(max))?;
    let (bits, rest) =
        input.split_first_chunk::<4>().ok_or_else(|| super::truncated("minimum number of bits"))?;
    let bits = u32::from_le_bytes(*bits);
    let (_, rest) = rest.split_first().ok_or_else(|| super::truncated("size of the minimum"))?;
    let (minimum, rest) = rest.split_first_chunk::<8>().ok_or_else(|| super::truncated("minimum"))?;
    let minimum = u64::from_le_bytes(*minimum);
    let packed = rest.get(8..).ok_or_else(|| super::truncated("packed values"))?;
    if bits > full {
        return Err(Fault::new("minimum number of bits", FaultKind::Undefined { found: bits.into() }));
    }
    let mut out = Vec::with_capacity(total);
    if bits == full {
        out.extend_from_slice(packed.get(..total).ok_or_else(|| super::truncated("packed values"))?);
    } else {
        let mut reader = Bits::new(packed);
        let marker = (bits > 0).then(|| (1u64 << bits) - 1);
        for _ in 0..elements {
            let value = reader.take_wide(bits)?;
            let bytes = match parameters.fill.filter(|_| Some(value) == marker) {
                Some(fill) => fill,
                None => restore(&parameters, value, minimum),
            };
            out.extend(bytes.to_le_bytes().iter().take(size));
        }
    }
    if parameters.big {
        out.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(out)
}

fn restore(parameters: &Parameters, value: u64, minimum: u64) -> u64 {
    match parameters.float_scale {
        None => value.wrapping_add(minimum),
        Some(scale) if parameters.size == 4 => {
            let minimum = f32::from_bits(u32::try_from(minimum & 0xffff_ffff).unwrap_or(0));
            #[allow(clippy::cast_precision_loss)]
            let value = value.cast_signed() as f32 / 10f32.powi(scale) + minimum;
            value.to_bits().into()
        }
        Some(scale) => {
            #[allow(clippy::cast_precision_loss)]
            let value = value.cast_signed() as f64 / 10f64.powi(scale) + f64::from_bits(minimum);
            value.to_bits()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn small_integers_with_a_fill_value() {
        let mut values = [0u32; 20];
        (values[0], values[2], values[4], values[7], values[8]) = (2, 4, 2, 1, 99);
        let mut chunk = vec![2, 0, 0, 0, 8, 5, 0, 0, 0, 0, 0, 0, 0];
        chunk.extend([0; 8]);
        chunk.extend([0b00_01_10_11, 0]);
        assert_eq!(decode(&values, &chunk, 100).unwrap(), [5, 0, 6, 0, 7, 0, 99, 0]);
        assert!(decode(&values, &chunk[..21], 100).is_err());
    }
}
