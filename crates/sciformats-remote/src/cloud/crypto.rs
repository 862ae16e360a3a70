//! The cryptography that signs requests, in Rust.

use object_store::client::{
    CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm,
};
use sha2::{Digest, Sha256};

/// The size of the blocks of SHA-256 in bytes.
const BLOCK: usize = 64;

/// Returns the error for what this crate cannot compute.
fn unsupported(what: &'static str) -> object_store::Error {
    object_store::Error::NotSupported { source: what.into() }
}

/// SHA-256, its authentication code, and signatures by RSA.
#[derive(Debug)]
pub(super) struct Crypto;

impl CryptoProvider for Crypto {
    fn digest(&self, algorithm: DigestAlgorithm) -> object_store::Result<Box<dyn DigestContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Hash { state: Sha256::new(), result: [0; 32] })),
            _ => Err(unsupported("another hash than SHA-256")),
        }
    }

    fn hmac(&self, algorithm: DigestAlgorithm, secret: &[u8]) -> object_store::Result<Box<dyn HmacContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Code::new(secret))),
            _ => Err(unsupported("another authentication code than that of SHA-256")),
        }
    }

    fn sign(&self, algorithm: SigningAlgorithm, pem: &[u8]) -> object_store::Result<Box<dyn Signer>> {
        match algorithm {
            SigningAlgorithm::RS256 => rsa(pem),
            _ => Err(unsupported("another signature than that of RSA with SHA-256")),
        }
    }
}

struct Hash {
    state: Sha256,
    result: [u8; 32],
}

impl DigestContext for Hash {
    fn update(&mut self, data: &[u8]) {
        Digest::update(&mut self.state, data);
    }

    fn finish(&mut self) -> object_store::Result<&[u8]> {
        self.result = self.state.finalize_reset().into();
        Ok(&self.result)
    }
}

/// A message authentication code (RFC 2104): the hash of the outer key and of the hash of the inner key and the message.
struct Code {
    inner: Sha256,
    outer: Sha256,
    result: [u8; 32],
}

impl Code {
    fn new(secret: &[u8]) -> Self {
        let mut key = [0; BLOCK];
        let hashed: [u8; 32];
        let secret = if secret.len() > BLOCK {
            hashed = Sha256::digest(secret).into();
            &hashed
        } else {
            secret
        };
        for (place, byte) in key.iter_mut().zip(secret) {
            *place = *byte;
        }
        let mixed = |with: u8| Sha256::new().chain_update(key.map(|byte| byte ^ with));
        Self { inner: mixed(0x36), outer: mixed(0x5c), result: [0; 32] }
    }
}

impl HmacContext for Code {
    fn update(&mut self, data: &[u8]) {
        Digest::update(&mut self.inner, data);
    }

    fn finish(&mut self) -> object_store::Result<&[u8]> {
        let inner: [u8; 32] = self.inner.finalize_reset().into();
        self.result = self.outer.clone().chain_update(inner).finalize().into();
        Ok(&self.result)
    }
}

/// Reads the private key of a service account of Google.
#[cfg(all(feature = "gcs", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn rsa(pem: &[u8]) -> object_store::Result<Box<dyn Signer>> {
    use graviola::signing::rsa::SigningKey;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;

    struct Key(SigningKey);

    impl Signer for Key {
        fn sign(&self, message: &[u8]) -> object_store::Result<Vec<u8>> {
            let mut signature = [0; 1024];
            self.0
                .sign_pkcs1_sha256(&mut signature, message)
                .map(<[u8]>::to_vec)
                .map_err(|_| unsupported("this private key"))
        }
    }

    if !crate::tls::has_vectors() {
        return Err(unsupported("signing with RSA on this processor"));
    }
    let key = match PrivateKeyDer::from_pem_slice(pem) {
        Ok(PrivateKeyDer::Pkcs8(key)) => SigningKey::from_pkcs8_der(key.secret_pkcs8_der()),
        Ok(PrivateKeyDer::Pkcs1(key)) => SigningKey::from_pkcs1_der(key.secret_pkcs1_der()),
        _ => return Err(unsupported("a private key in another format than PKCS #1 and #8")),
    };
    key.map(|key| Box::new(Key(key)) as Box<dyn Signer>).map_err(|_| unsupported("this private key"))
}

/// As above.
#[cfg(not(all(feature = "gcs", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn rsa(_: &[u8]) -> object_store::Result<Box<dyn Signer>> {
    Err(unsupported("signing with RSA on this processor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn code(secret: &[u8], message: &[&[u8]]) -> String {
        let mut code = Crypto.hmac(DigestAlgorithm::Sha256, secret).unwrap();
        message.iter().for_each(|part| code.update(part));
        hex(code.finish().unwrap())
    }

    #[test]
    fn hashes() {
        let mut hash = Crypto.digest(DigestAlgorithm::Sha256).unwrap();
        hash.update(b"a");
        hash.update(b"bc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(hash.finish().unwrap()), expected);
    }

    /// The second and the sixth case of RFC 4231.
    #[test]
    fn authentication_codes() {
        assert_eq!(
            code(b"Jefe", &[b"what do ya want ", b"for nothing?"]),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            code(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(Crypto.sign(SigningAlgorithm::RS256, b"no key").is_err());
    }
}
