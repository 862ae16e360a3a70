//! What all objects of a file that is being written have in common: an identifier, attributes and a comment.

/// Methods of a type with the fields `tree` and `id`. The parameters are the words of the documentation: what the object
/// is, how an [`Editor`](crate::Editor) gives access to it, and how a [`File`](crate::File) does.
macro_rules! object_methods {
    ($what:literal, $edited:literal, $read:literal) => {
        #[doc = concat!("Returns the identifier of the ", $what, ", for hard links and references.")]
        ///
        /// ```
        /// use hdf5_pure::{Editor, File};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("weather.h5");
        /// # let mut made = hdf5_pure::Writer::create(&path)?;
        /// # made.dataset("surface/temperature").write(&[281.5, 282.0])?;
        /// # made.finish()?;
        /// let mut file = Editor::open(&path)?;
        #[doc = concat!("let id = file.", $edited, "?.id();")]
        /// file.root().hard_link("main", id)?;
        /// file.commit()?;
        /// assert!(File::open(&path)?.root()?.link("main")?.is_some());
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        pub fn id(&self) -> $crate::ObjectId {
            self.tree.owner.name(self.id)
        }

        #[doc = concat!("Sets an attribute of the ", $what, ". An existing attribute of this name gets the new value, and keeps its place in the creation order.")]
        ///
        /// ```
        /// use hdf5_pure::{Editor, File};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("weather.h5");
        /// # let mut made = hdf5_pure::Writer::create(&path)?;
        /// # made.dataset("surface/temperature").write(&[281.5, 282.0])?;
        /// # made.finish()?;
        /// let mut file = Editor::open(&path)?;
        #[doc = concat!("file.", $edited, "?.attribute(\"height\", 2.0)?.attribute(\"stations\", [\"north\", \"south\"])?;")]
        /// file.commit()?;
        #[doc = concat!("let object = File::open(&path)?.", $read, "?;")]
        /// assert_eq!(object.attribute("stations")?.read::<String>()?, ["north", "south"]);
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns [`Error::Usage`](crate::Error::Usage) if the format cannot store the attribute, and `Malformed` if the
        /// object has attributes that cannot be read, because they would be lost.
        pub fn attribute(
            &mut self,
            name: &(impl $crate::AsName + ?Sized),
            value: impl $crate::api::writer::value::Value,
        ) -> sciformats_core::Result<&mut Self> {
            let attribute = $crate::api::writer::value::attribute(self.tree, name.name_bytes(), value)?;
            self.tree.attribute(self.id, attribute)?;
            Ok(self)
        }

        /// Removes an attribute.
        ///
        /// ```
        /// use hdf5_pure::{Editor, Error, File};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("weather.h5");
        /// # let mut made = hdf5_pure::Writer::create(&path)?;
        /// # made.group("surface")?.attribute("height", 2.0)?;
        /// # made.dataset("surface/temperature").attribute("height", 2.0).write(&[281.5, 282.0])?;
        /// # made.finish()?;
        /// let mut file = Editor::open(&path)?;
        #[doc = concat!("file.", $edited, "?.remove_attribute(\"height\")?;")]
        /// file.commit()?;
        #[doc = concat!("let height = File::open(&path)?.", $read, "?.attribute(\"height\");")]
        /// assert!(matches!(height, Err(Error::NotFound { .. })));
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns [`Error::NotFound`](crate::Error::NotFound), and the errors of [`attribute`](Self::attribute).
        pub fn remove_attribute(&mut self, name: &(impl $crate::AsName + ?Sized)) -> sciformats_core::Result<&mut Self> {
            self.tree.remove_attribute(self.id, name.name_bytes())?;
            Ok(self)
        }

        /// Renames an attribute.
        ///
        /// ```
        /// use hdf5_pure::{Editor, File};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("weather.h5");
        /// # let mut made = hdf5_pure::Writer::create(&path)?;
        /// # made.group("surface")?.attribute("height", 2.0)?;
        /// # made.dataset("surface/temperature").attribute("height", 2.0).write(&[281.5, 282.0])?;
        /// # made.finish()?;
        /// let mut file = Editor::open(&path)?;
        #[doc = concat!("file.", $edited, "?.rename_attribute(\"height\", \"altitude\")?;")]
        /// file.commit()?;
        #[doc = concat!("let object = File::open(&path)?.", $read, "?;")]
        /// assert_eq!(object.attribute("altitude")?.read::<f64>()?, [2.0]);
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns [`Error::NotFound`](crate::Error::NotFound), [`Error::Usage`](crate::Error::Usage) if the new name
        /// exists already or is not a valid name, and the errors of [`attribute`](Self::attribute).
        pub fn rename_attribute(&mut self, name: &(impl $crate::AsName + ?Sized), to: &(impl $crate::AsName + ?Sized)) -> sciformats_core::Result<&mut Self> {
            self.tree.rename_attribute(self.id, name.name_bytes(), to.name_bytes())?;
            Ok(self)
        }

        #[doc = concat!("Sets the comment of the ", $what, ". An empty text removes it.")]
        ///
        /// ```
        /// use hdf5_pure::{Editor, File};
        ///
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("weather.h5");
        /// # let mut made = hdf5_pure::Writer::create(&path)?;
        /// # made.dataset("surface/temperature").write(&[281.5, 282.0])?;
        /// # made.finish()?;
        /// let mut file = Editor::open(&path)?;
        #[doc = concat!("file.", $edited, "?.comment(\"two metres above the ground\")?;")]
        /// file.commit()?;
        /// let file = File::open(&path)?;
        #[doc = concat!("let info = file.object_info(file.", $read, "?.address())?;")]
        /// assert_eq!(info.comment, Some("two metres above the ground".into()));
        /// # Ok::<(), hdf5_pure::Error>(())
        /// ```
        ///
        /// # Errors
        /// Returns [`Error::Usage`](crate::Error::Usage) if the text contains a NUL character or is too long for an
        /// object header.
        pub fn comment(&mut self, text: &(impl $crate::AsName + ?Sized)) -> sciformats_core::Result<&mut Self> {
            self.tree.comment(self.id, text.name_bytes())?;
            Ok(self)
        }
    };
}

pub(crate) use object_methods;
