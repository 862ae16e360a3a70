//! Addresses in object stores, such as `s3://bucket/key`.

use sciformats_core::{Error, Result};

/// An object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    S3,
    Gcs,
    Azure,
}

impl Service {
    fn of(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "s3" => Some(Self::S3),
            "gs" => Some(Self::Gcs),
            "az" => Some(Self::Azure),
            _ => None,
        }
    }

    /// Returns the scheme of its addresses.
    fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }

    /// Returns the feature of this crate that reads from it.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gcs",
            Self::Azure => "azure",
        }
    }
}

/// The place of a file in an object store. The key is taken literally, as the programs of the stores take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) service: Service,
    /// The bucket, or the container of Azure.
    pub(crate) bucket: String,
    pub(crate) key: String,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}/{}", self.service.scheme(), self.bucket, self.key)
    }
}

impl Address {
    /// Returns whether a text has the scheme of an object store.
    pub(crate) fn is_address(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| Service::of(scheme).is_some())
    }

    /// Returns the error of a build without the feature for this store.
    #[cfg_attr(
        all(feature = "s3", feature = "gcs", feature = "azure"),
        expect(dead_code, reason = "all stores can be read")
    )]
    pub(crate) fn unsupported(&self) -> Error {
        Error::missing_feature(format!("an address of {}://", self.service.scheme()), self.service.feature())
    }

    /// Parses an address.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = |problem: &'static str| Error::usage("address", problem);
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("has no scheme such as s3://"))?;
        let service =
            Service::of(scheme).ok_or_else(|| wrong("has another scheme than s3://, gs:// and az://"))?;
        let (bucket, key) = rest.split_once('/').ok_or_else(|| wrong("names a bucket but no file in it"))?;
        if bucket.contains(['@', ':']) {
            return Err(wrong("contains a login; credentials are taken from the environment"));
        }
        if bucket.is_empty() || key.is_empty() || key.ends_with('/') {
            return Err(wrong("does not name a bucket and a file in it"));
        }
        Ok(Self { service, bucket: bucket.to_owned(), key: key.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let found = Address::parse("S3://data/a b/x%20y#1?.h5").unwrap();
        assert_eq!(found.to_string(), "s3://data/a b/x%20y#1?.h5");
        assert_eq!((found.service.feature(), found.bucket.as_str()), ("s3", "data"));
        assert_eq!(Address::parse("gs://b/k").unwrap().service, Service::Gcs);
        assert_eq!(Address::parse("az://b/k").unwrap().service, Service::Azure);
        for text in ["s3://bucket", "s3://bucket/", "s3:///key", "s3://b/folder/", "ftp://b/k", "b/k"] {
            assert!(matches!(Address::parse(text), Err(Error::Usage { .. })), "{text}");
        }
        let error = Address::parse("s3://id:secret@bucket/key").unwrap_err();
        assert!(error.to_string().contains("login") && !error.to_string().contains("secret"));
        assert!(Address::is_address("gs://b") && !Address::is_address("https://b/k"));
    }
}
