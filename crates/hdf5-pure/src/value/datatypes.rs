//! Constructors of datatypes.

use sciformats_core::endian::ByteOrder;
use sciformats_core::{Error, Result, bound};

use crate::spec::Name;
use crate::spec::message::datatype::{
    BitField, CharacterSet, Class, Datatype, EnumMember, FixedPoint, FloatOrder, FloatingPoint, Member,
    Normalization, Padding, VariableLength,
};
use crate::value::store::Store;

impl Datatype {
    /// Returns the datatype as which a Rust type is stored.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// assert_eq!(Datatype::of::<f32>(), Datatype::float32());
    /// assert_eq!(Datatype::of::<u16>(), Datatype::unsigned(2));
    /// ```
    pub fn of<T: Store>() -> Self {
        T::datatype()
    }

    /// Returns the type of little-endian integers with a sign and of `size` bytes, of which all bits are significant.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, ElementType};
    ///
    /// let heights = Datatype::signed(2);
    /// assert_eq!(heights.element_type()?, ElementType::Integer { signed: true, size: 2 });
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn signed(size: u32) -> Self {
        Self::integer(true, size)
    }

    /// Returns the type of little-endian integers without a sign and of `size` bytes, of which all bits are significant.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, ElementType};
    ///
    /// let counts = Datatype::unsigned(4);
    /// assert_eq!(counts.element_type()?, ElementType::Integer { signed: false, size: 4 });
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn unsigned(size: u32) -> Self {
        Self::integer(false, size)
    }

    fn integer(signed: bool, size: u32) -> Self {
        let precision = precision(size);
        let fixed = FixedPoint {
            order: ByteOrder::Little,
            low_padding: false,
            high_padding: false,
            signed,
            bit_offset: 0,
            precision,
        };
        Self { version: 1, size, class: Class::FixedPoint(fixed) }
    }

    /// Returns the type of little-endian IEEE 754 numbers of 16 bits.
    pub fn float16() -> Self {
        Self::float(2, 5, 10)
    }

    /// Returns the type of little-endian IEEE 754 numbers of 32 bits.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// assert_eq!([Datatype::float16(), Datatype::float32(), Datatype::float64()].map(|datatype| datatype.size), [2, 4, 8]);
    /// ```
    pub fn float32() -> Self {
        Self::float(4, 8, 23)
    }

    /// Returns the type of little-endian IEEE 754 numbers of 64 bits.
    pub fn float64() -> Self {
        Self::float(8, 11, 52)
    }

    /// Returns the type of little-endian bfloat16: numbers of 16 bits with the exponent range of 32-bit numbers.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("weights").datatype(Datatype::bfloat16()).shape([2]).write_raw(&[0, 0x3f, 0, 0xc0])?;
    /// let weights = File::from_bytes(file.into_bytes()?)?.dataset("weights")?;
    /// assert_eq!((weights.datatype().size, weights.read::<f32>()?), (2, vec![0.5, -2.0]));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn bfloat16() -> Self {
        Self::float(2, 8, 7)
    }

    fn float(size: u32, exponent: u8, mantissa: u8) -> Self {
        let precision = u16::from(exponent) + u16::from(mantissa) + 1;
        let float = FloatingPoint {
            order: FloatOrder::Little,
            padding: [false; 3],
            normalization: Normalization::Implied,
            sign_location: exponent + mantissa,
            bit_offset: 0,
            precision,
            exponent_location: mantissa,
            exponent_size: exponent,
            mantissa_location: 0,
            mantissa_size: mantissa,
            bias: (1 << (exponent - 1)) - 1,
        };
        Self { version: 1, size, class: Class::FloatingPoint(float) }
    }

    /// Returns the type of UTF-8 strings of any length.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// assert_eq!(Datatype::string(), Datatype::of::<String>());
    /// ```
    pub fn string() -> Self {
        let class = VariableLength::String { padding: Padding::NullTerminated, charset: UTF8 };
        Self { version: 1, size: 16, class: Class::VariableLength(class) }
    }

    /// Returns the type of UTF-8 strings of `size` bytes. Shorter strings are padded with NULs.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("stations").datatype(Datatype::fixed_string(6)).write(&["north", "south"])?;
    /// let stations = File::from_bytes(file.into_bytes()?)?.dataset("stations")?;
    /// assert_eq!(stations.read_raw(&stations.all()?)?, b"north\0south\0");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn fixed_string(size: u32) -> Self {
        Self { version: 1, size, class: Class::String { padding: Padding::NullPadded, charset: UTF8 } }
    }

    /// Returns the type of sequences of any length.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, ElementType};
    ///
    /// let visits = Datatype::sequence(&Datatype::float64());
    /// assert_eq!(visits.element_type()?, ElementType::Sequence(Box::new(ElementType::Float(8))));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn sequence(base: &Self) -> Self {
        let class = VariableLength::Sequence(Box::new(base.clone()));
        Self { version: 1, size: 16, class: Class::VariableLength(class) }
    }

    /// Returns the type of arrays of a fixed shape.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// let tensor = Datatype::array(&[3, 3], &Datatype::float32());
    /// assert_eq!(tensor.size, 36);
    /// ```
    pub fn array(shape: &[u32], base: &Self) -> Self {
        let size = Self::array_elements(shape).and_then(|n| n.checked_mul(base.size)).unwrap_or(UNCOUNTED);
        Self {
            version: 2,
            size,
            class: Class::Array { dimensions: shape.to_vec(), base: Box::new(base.clone()) },
        }
    }

    /// Returns the type of bit fields of `size` bytes.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("flags").datatype(Datatype::bits(1)).shape([2]).write_raw(&[0b101, 0b010])?;
    /// let file = File::from_bytes(file.into_bytes()?)?;
    /// assert_eq!(file.dataset("flags")?.read::<u8>()?, [0b101, 0b010]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn bits(size: u32) -> Self {
        let precision = precision(size);
        let order = ByteOrder::Little;
        let field = BitField { order, low_padding: false, high_padding: false, bit_offset: 0, precision };
        Self { version: 1, size, class: Class::BitField(field) }
    }

    /// Returns the type of opaque elements: bytes that mean nothing to the library, with a tag that describes them.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let packets = Datatype::opaque(4, "packets of the detector");
    /// file.dataset("packets").datatype(packets).shape([2]).write_raw(b"\x01abc\x02def")?;
    /// let packets = File::from_bytes(file.into_bytes()?)?.dataset("packets")?;
    /// assert_eq!(packets.read_raw(&packets.all()?)?, b"\x01abc\x02def");
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn opaque(size: u32, tag: &str) -> Self {
        Self { version: 1, size, class: Class::Opaque { tag: tag.into() } }
    }

    /// Returns the type of compounds whose members follow each other without gaps. Names are bytes, which need not be UTF-8.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// let position = Datatype::array(&[3], &Datatype::float32());
    /// let particle = Datatype::compound([("mass", Datatype::float64()), ("position", position)]);
    /// assert_eq!(particle.size, 20);
    /// assert_eq!(particle.member("position")?.0, 8); // where it begins
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn compound(members: impl IntoIterator<Item = (impl Into<Name>, Self)>) -> Self {
        let mut offset = 0u32;
        let members = members
            .into_iter()
            .map(|(name, datatype)| {
                let at = offset;
                offset = bound::sum(offset, datatype.size); // this saturates, and `check` refuses the result
                Member { name: name.into(), offset: at, datatype }
            })
            .collect();
        Self { version: 1, size: offset, class: Class::Compound(members) }
    }

    /// Returns the type of complex numbers as h5py stores them: compounds of `r` and `i`.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, ElementType, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// let amplitude = file.dataset("amplitude").datatype(Datatype::complex(&Datatype::float32())).shape([1]);
    /// amplitude.write_raw(&[1.0f32.to_le_bytes(), 0.5f32.to_le_bytes()].concat())?;
    /// let amplitude = File::from_bytes(file.into_bytes()?)?.dataset("amplitude")?;
    /// assert_eq!(amplitude.datatype().element_type()?, ElementType::Complex(8));
    /// assert_eq!(amplitude.read_field::<f32>("i")?, [0.5]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn complex(part: &Self) -> Self {
        Self::compound([("r", part.clone()), ("i", part.clone())])
    }

    /// Returns the type of integers whose values have names, which are bytes and need not be UTF-8.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, ElementType, File, Writer};
    ///
    /// let weather = Datatype::enumeration(&Datatype::unsigned(1), [("sun", 0), ("rain", 1)])?;
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("weather").datatype(weather).shape([3]).write_raw(&[0, 1, 1])?;
    /// let weather = File::from_bytes(file.into_bytes()?)?.dataset("weather")?;
    /// assert_eq!(weather.read::<u8>()?, [0, 1, 1]);
    /// if let ElementType::Enumeration { members, .. } = weather.datatype().element_type()? {
    ///     assert_eq!(members[1], ("rain".into(), 1));
    /// }
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if `base` is not an integer type of at most 8 bytes, or a value does not fit it.
    pub fn enumeration(
        base: &Self,
        members: impl IntoIterator<Item = (impl Into<Name>, i64)>,
    ) -> Result<Self> {
        let Class::FixedPoint(fixed) = &base.class else {
            return Err(Error::usage("enumeration", "must be based on an integer type"));
        };
        let (size, bits) = match base.size {
            size @ 1..=8 => (size as usize, size * 8),
            _ => {
                return Err(Error::usage("enumeration", "must be based on integers of 1 to 8 bytes"));
            }
        };
        let (low, high) = match fixed.signed {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        let member = |(name, value): (Name, i64)| {
            if i128::from(value) < low || i128::from(value) > high {
                return Err(Error::usage(
                    "enumeration",
                    format!("has the value {value}, which its base type cannot hold"),
                ));
            }
            let mut bytes: Vec<u8> = value.to_le_bytes().into_iter().take(size).collect();
            if fixed.order == ByteOrder::Big {
                bytes.reverse();
            }
            Ok(EnumMember { name, value: bytes })
        };
        let named = members.into_iter().map(|(name, value)| (name.into(), value));
        let members = named.map(member).collect::<Result<_>>()?;
        Ok(Self {
            version: 1,
            size: base.size,
            class: Class::Enumeration { base: Box::new(base.clone()), members },
        })
    }

    /// Returns the type of complex numbers of the complex class, which came with [`Bound::V200`](crate::options::Bound::V200).
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, Writer};
    /// use hdf5_pure::options::Bound;
    ///
    /// let amplitude = Datatype::native_complex(&Datatype::float64());
    /// let mut file = Writer::in_memory(&CreateOptions::default().with_bound(Bound::V200))?;
    /// file.dataset("amplitude").datatype(amplitude.clone()).shape([2]).write_raw(&[0; 32])?;
    /// let mut older = Writer::in_memory(&CreateOptions::default())?;
    /// assert!(older.dataset("amplitude").datatype(amplitude).shape([2]).write_raw(&[0; 32]).is_err());
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn native_complex(part: &Self) -> Self {
        let size = part.size.checked_mul(2).unwrap_or(UNCOUNTED);
        Self { version: 5, size, class: Class::Complex { base: Box::new(part.clone()) } }
    }

    /// Returns the type of times of `size` bytes. The format does not define what they mean.
    ///
    /// ```
    /// use hdf5_pure::{Datatype, ElementType};
    ///
    /// assert_eq!(Datatype::time(4).element_type()?, ElementType::Time(4));
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    pub fn time(size: u32) -> Self {
        let precision = precision(size);
        Self { version: 1, size, class: Class::Time { order: ByteOrder::Little, precision } }
    }

    /// Returns the same datatype with the most significant byte first. Datatypes without a byte order do not change.
    ///
    /// ```
    /// use hdf5_pure::{CreateOptions, Datatype, File, Writer};
    ///
    /// let mut file = Writer::in_memory(&CreateOptions::default())?;
    /// file.dataset("counts").datatype(Datatype::unsigned(2).big_endian()).write(&[1u16, 515])?;
    /// let counts = File::from_bytes(file.into_bytes()?)?.dataset("counts")?;
    /// assert_eq!(counts.read_raw(&counts.all()?)?, [0, 1, 2, 3]);
    /// assert_eq!(counts.read::<u16>()?, [1, 515]);
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    #[must_use]
    pub fn big_endian(mut self) -> Self {
        match &mut self.class {
            Class::FixedPoint(fixed) => fixed.order = ByteOrder::Big,
            Class::FloatingPoint(float) => float.order = FloatOrder::Big,
            Class::BitField(field) => field.order = ByteOrder::Big,
            Class::Time { order, .. } => *order = ByteOrder::Big,
            Class::Array { base, .. } | Class::Complex { base } => **base = (**base).clone().big_endian(),
            _ => {}
        }
        self
    }

    /// Returns the same integers or bit fields with only `precision` significant bits, which start `offset` bits above
    /// the lowest bit.
    ///
    /// ```
    /// use hdf5_pure::Datatype;
    ///
    /// let twelve_bits = Datatype::unsigned(2).with_precision(12, 0)?;
    /// assert_ne!(twelve_bits, Datatype::unsigned(2));
    /// assert!(Datatype::unsigned(2).with_precision(12, 8).is_err()); // they do not fit
    /// # Ok::<(), hdf5_pure::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the datatype is neither an integer nor a bit field, or the bits do not fit into it.
    pub fn with_precision(mut self, precision: u16, offset: u16) -> Result<Self> {
        let fits = bits_fit(self.size, precision, offset);
        match &mut self.class {
            Class::FixedPoint(fixed) if fits => (fixed.precision, fixed.bit_offset) = (precision, offset),
            Class::BitField(field) if fits => (field.precision, field.bit_offset) = (precision, offset),
            _ => {
                return Err(Error::usage(
                    "precision",
                    "and offset do not fit the size of the type, or the type is neither an integer nor a bit field",
                ));
            }
        }
        Ok(self)
    }

    /// Fails if the datatype breaks a rule that readers rely on.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |problem: &'static str| Err(Error::usage("datatype", problem));
        if self.size == 0 {
            return wrong("has a size of 0 bytes");
        }
        let names = names(self);
        let mut sorted: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        sciformats_core::order::sort(&mut sorted);
        let twice = sorted.iter().zip(sorted.iter().skip(1)).any(|(a, b)| a == b);
        if twice || sorted.iter().any(|name| name.is_empty() || name.contains(&0)) {
            return wrong("has member names that are empty, contain a NUL character or occur twice");
        }
        if names.len() > usize::from(u16::MAX) {
            return wrong("has more than 65,535 members");
        }
        match &self.class {
            Class::Compound(members) if members.is_empty() => wrong("has no members"),
            Class::Compound(members) => {
                let end = |member: &Member| u64::from(member.offset) + u64::from(member.datatype.size);
                if members.iter().any(|member| end(member) > self.size.into()) {
                    return wrong("has members that end after the compound does, or is 4 GiB or larger");
                }
                members.iter().try_for_each(|member| member.datatype.check())
            }
            Class::FixedPoint(FixedPoint { precision, bit_offset, .. })
            | Class::BitField(BitField { precision, bit_offset, .. })
                if !bits_fit(self.size, *precision, *bit_offset) =>
            {
                wrong("has a precision that is 0, or bits that do not fit into its size")
            }
            Class::Time { precision, .. } if !bits_fit(self.size, *precision, 0) => {
                wrong("has a precision that is 0, or bits that do not fit into its size")
            }
            Class::Enumeration { members, .. } if members.is_empty() => wrong("has no members"),
            Class::Array { dimensions, .. } if dimensions.is_empty() || dimensions.len() > 32 => {
                wrong("has an array type that does not have 1 to 32 dimensions")
            }
            Class::Array { base, .. } | Class::VariableLength(VariableLength::Sequence(base)) => base.check(),
            Class::Opaque { tag } if tag.as_bytes().len() > 248 => wrong("has a tag of more than 248 bytes"),
            _ => Ok(()),
        }
    }
}

/// A size that stands for one that a `u32` cannot express. No datatype of this size is ever written.
const UNCOUNTED: u32 = 0;

/// Returns the number of bits in `size` bytes, or 0 if a `u16` cannot express it. A precision of 0 is never written.
fn precision(size: u32) -> u16 {
    size.checked_mul(8).and_then(|bits| u16::try_from(bits).ok()).unwrap_or_default()
}

/// Returns whether `size` bytes have room for `precision` bits above `offset` unused bits.
fn bits_fit(size: u32, precision: u16, offset: u16) -> bool {
    precision > 0 && u64::from(precision) + u64::from(offset) <= u64::from(size) * 8
}

/// Returns the names of the members of a datatype as they are stored.
pub(crate) fn names(datatype: &Datatype) -> Vec<&Name> {
    match &datatype.class {
        Class::Compound(members) => members.iter().map(|member| &member.name).collect(),
        Class::Enumeration { members, .. } => members.iter().map(|member| &member.name).collect(),
        _ => Vec::new(),
    }
}

/// The character set of text.
pub(crate) const UTF8: CharacterSet = CharacterSet::Utf8;
