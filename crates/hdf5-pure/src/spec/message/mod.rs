//! Header messages (IV.A.2). Each has a file of its own, except the [small] ones.

pub(crate) mod attribute;
pub(crate) mod dataspace;
pub(crate) mod datatype;
pub(crate) mod dense;
pub(crate) mod external_files;
pub(crate) mod file_space_info;
pub(crate) mod fill_value;
pub(crate) mod filter_pipeline;
pub(crate) mod group_info;
pub(crate) mod layout;
pub(crate) mod link;
pub(crate) mod shared;
pub(crate) mod small;

macro_rules! message_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// The type of a header message.
        ///
        /// ```
        /// use hdf5_pure::structure::MessageType;
        ///
        /// # let mut made = hdf5_pure::Writer::in_memory(&Default::default())?;
        /// # made.root().attribute("title", "a week in May")?;
        /// # let values = [281.5, 282.0, 282.5, 280.0, 280.5, 281.0];
        /// # made.dataset("surface/temperature").shape([2, 3]).attribute("units", "K").write(&values)?;
        /// # let file = hdf5_pure::File::from_bytes(made.into_bytes()?)?;
        /// let info = file.object_info(file.dataset("surface/temperature")?.address())?;
        /// let kinds: Vec<MessageType> = info.messages.iter().map(|(kind, ..)| *kind).collect();
        /// assert!(kinds.contains(&MessageType::Dataspace) && kinds.contains(&MessageType::Attribute));
        /// assert_eq!(MessageType::from(0x0c).name(), "attribute message");
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MessageType {
            $($(#[$doc])* $name,)*
            /// A message type that no version of the standard defines.
            Unknown(u16),
        }

        impl From<u16> for MessageType {
            fn from(number: u16) -> Self {
                match number {
                    $($number => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }
        }

        impl MessageType {
            /// Returns the number of the type in the file.
            ///
            /// ```
            /// assert_eq!(hdf5_pure::structure::MessageType::Dataspace.number(), 1);
            /// ```
            pub fn number(self) -> u16 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Unknown(other) => other,
                }
            }

            /// Returns the name of the message in the standard.
            ///
            /// ```
            /// assert_eq!(hdf5_pure::structure::MessageType::Dataspace.name(), "dataspace message");
            /// ```
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Unknown(_) => "unknown message",
                }
            }
        }
    };
}

message_types! {
    /// Space that a later message can use.
    Nil = 0x00, "NIL message";
    /// The shape of a dataset.
    Dataspace = 0x01, "dataspace message";
    /// Where the links of a group are.
    LinkInfo = 0x02, "link info message";
    /// The type of a dataset's elements, or a committed datatype.
    Datatype = 0x03, "datatype message";
    /// The fill value, in its old form.
    FillValueOld = 0x04, "fill value (old) message";
    /// The fill value.
    FillValue = 0x05, "fill value message";
    /// A link of a compact group.
    Link = 0x06, "link message";
    /// The external files that contain the elements.
    ExternalFiles = 0x07, "external data files message";
    /// Where the elements are.
    Layout = 0x08, "data layout message";
    /// A message that the C library uses in its own tests.
    Bogus = 0x09, "bogus message";
    /// Settings of a group.
    GroupInfo = 0x0a, "group info message";
    /// The filters of the chunks.
    FilterPipeline = 0x0b, "filter pipeline message";
    /// A compact attribute.
    Attribute = 0x0c, "attribute message";
    /// A comment.
    Comment = 0x0d, "object comment message";
    /// The modification time, in its old form.
    ModificationTimeOld = 0x0e, "object modification time (old) message";
    /// Where the table of shared messages is.
    SharedTable = 0x0f, "shared message table message";
    /// Where the header continues.
    Continuation = 0x10, "object header continuation message";
    /// Where the members of an old-style group are.
    SymbolTable = 0x11, "symbol table message";
    /// The modification time.
    ModificationTime = 0x12, "object modification time message";
    /// The node sizes of version 1 B-trees.
    BtreeK = 0x13, "B-tree 'K' values message";
    /// The driver information.
    DriverInfo = 0x14, "driver info message";
    /// Where the attributes of an object are.
    AttributeInfo = 0x15, "attribute info message";
    /// The number of hard links to the object.
    ReferenceCount = 0x16, "object reference count message";
    /// How the file manages its free space.
    FileSpaceInfo = 0x17, "file space info message";
    /// Where the metadata cache image is.
    CacheImage = 0x18, "metadata cache image message";
}
