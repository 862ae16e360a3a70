//! Encryption: the implementation of cryptography, and the trusted certificates.

use sciformats_core::{Error, Result};
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// Configures requests for encrypted URLs.
///
/// # Errors
///
/// `Unsupported` if the crate was built without encryption, or if the processor lacks instructions that the
/// cryptography needs; [`Error::Usage`] if the certificates are invalid.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
pub(crate) fn configure(
    config: ConfigBuilder<AgentScope>,
    certificates: Option<&[u8]>,
) -> Result<ConfigBuilder<AgentScope>> {
    use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

    let roots = match certificates {
        None => RootCerts::WebPki,
        Some(pem) => {
            let found = parse_pem(pem).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let found: Vec<Certificate<'static>> = found.collect();
            if found.is_empty() {
                return Err(Error::usage("certificates", "contains no certificate in the format PEM"));
            }
            RootCerts::new_with_certs(&found)
        }
    };
    let tls = TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider()?).build();
    Ok(config.tls_config(tls))
}

/// See above.
#[cfg(not(any(feature = "tls", feature = "tls-ring")))]
pub(crate) fn configure(_: ConfigBuilder<AgentScope>, _: Option<&[u8]>) -> Result<ConfigBuilder<AgentScope>> {
    Err(Error::missing_feature("a URL of https", "tls"))
}

#[cfg(any(feature = "tls", feature = "tls-ring"))]
fn provider() -> Result<std::sync::Arc<rustls::crypto::CryptoProvider>> {
    #[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if has_vectors() {
        return Ok(std::sync::Arc::new(rustls_graviola::default_provider()));
    }
    #[cfg(feature = "tls-ring")]
    return Ok(std::sync::Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(not(feature = "tls-ring"))]
    Err(Error::missing_feature("encryption on this processor", "tls-ring"))
}

/// Returns whether the processor has the instructions that `graviola` needs, which ends the process if they
/// are missing.
#[cfg(all(feature = "tls", target_arch = "x86_64"))]
pub(crate) fn has_vectors() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("aes")
        && has!("pclmulqdq")
        && has!("bmi1")
        && has!("bmi2")
        && has!("adx")
        && has!("avx")
        && has!("avx2")
        && has!("ssse3")
        && has!("sse4.1")
}

/// As above.
#[cfg(all(feature = "tls", target_arch = "aarch64"))]
pub(crate) fn has_vectors() -> bool {
    use std::arch::is_aarch64_feature_detected as has;
    has!("neon") && has!("aes") && has!("pmull") && has!("sha2")
}
