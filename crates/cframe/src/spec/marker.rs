//! The first byte of a value of `MessagePack`, which says what it is.
//!
//! Source: the specification of `MessagePack`, "Formats: Overview". Some markers contain a small number themselves:
//!
//! | first byte | marker |
//! |---|---|
//! | 0x00 … 0x7f | a number from 0 to 127 |
//! | 0x80 … 0x8f | a map of up to 15 pairs |
//! | 0x90 … 0x9f | an array of up to 15 values |
//! | 0xa0 … 0xbf | a text of up to 31 bytes |
//! | 0xe0 … 0xff | a number from -32 to -1 |

macro_rules! markers {
    ($($name:ident $byte:literal)*) => {
        /// The first byte of a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Marker {
            /// A number from 0 to 127.
            FixPos(u8),
            /// A map with so many pairs.
            FixMap(u8),
            /// An array with so many values.
            FixArray(u8),
            /// A text of so many bytes.
            FixStr(u8),
            /// A number from -32 to -1.
            FixNeg(i8),
            $(#[doc = concat!("The byte ", $byte, ".")] $name,)*
        }

        impl Marker {
            /// The marker that a byte is.
            pub(crate) const fn from_u8(byte: u8) -> Self {
                match byte {
                    0x00..=0x7f => Self::FixPos(byte),
                    0x80..=0x8f => Self::FixMap(byte & 0x0f),
                    0x90..=0x9f => Self::FixArray(byte & 0x0f),
                    0xa0..=0xbf => Self::FixStr(byte & 0x1f),
                    0xe0..=0xff => Self::FixNeg(byte.cast_signed()),
                    $($byte => Self::$name,)*
                }
            }

            /// The byte of the marker. Of the number that it contains, only the bits that it has room for are kept.
            pub(crate) const fn to_u8(self) -> u8 {
                match self {
                    Self::FixPos(value) => value & 0x7f,
                    Self::FixMap(len) => 0x80 | len & 0x0f,
                    Self::FixArray(len) => 0x90 | len & 0x0f,
                    Self::FixStr(len) => 0xa0 | len & 0x1f,
                    Self::FixNeg(value) => 0xe0 | value.cast_unsigned() & 0x1f,
                    $(Self::$name => $byte,)*
                }
            }
        }
    };
}

markers! {
    Null 0xc0 Reserved 0xc1 False 0xc2 True 0xc3
    Bin8 0xc4 Bin16 0xc5 Bin32 0xc6
    Ext8 0xc7 Ext16 0xc8 Ext32 0xc9
    F32 0xca F64 0xcb
    U8 0xcc U16 0xcd U32 0xce U64 0xcf
    I8 0xd0 I16 0xd1 I32 0xd2 I64 0xd3
    FixExt1 0xd4 FixExt2 0xd5 FixExt4 0xd6 FixExt8 0xd7 FixExt16 0xd8
    Str8 0xd9 Str16 0xda Str32 0xdb
    Array16 0xdc Array32 0xdd
    Map16 0xde Map32 0xdf
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markers_are_those_of_the_standard() {
        let bytes = [
            0x7f, // positive fixint 127
            0x82, // fixmap of 2 pairs
            0x9f, // fixarray of 15 values
            0xa3, // fixstr of 3 bytes
            0xc0, // nil
            0xc6, // bin 32
            0xcb, // float 64
            0xd3, // int 64
            0xd8, // fixext 16
            0xdb, // str 32
            0xdf, // map 32
            0xe0, // negative fixint -32
            0xff, // negative fixint -1
        ];
        let markers = [
            Marker::FixPos(127),
            Marker::FixMap(2),
            Marker::FixArray(15),
            Marker::FixStr(3),
            Marker::Null,
            Marker::Bin32,
            Marker::F64,
            Marker::I64,
            Marker::FixExt16,
            Marker::Str32,
            Marker::Map32,
            Marker::FixNeg(-32),
            Marker::FixNeg(-1),
        ];
        assert_eq!(bytes.map(Marker::from_u8), markers);
        assert_eq!(markers.map(Marker::to_u8), bytes);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(byte in any::<u8>()) {
            prop_assert_eq!(Marker::from_u8(byte).to_u8(), byte);
        }
    }
}
