//! The repository.

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use icechunk::config::{HttpConfig, ObjectStoreConfig, S3Options};
use icechunk::format::manifest::{Checksum, SecondsSinceEpoch, VirtualChunkLocation, VirtualChunkRef};
use icechunk::format::{ChunkIndices, Path as ArrayPath};
use icechunk::storage::{ETag, new_local_filesystem_storage};
use icechunk::store::SetVirtualRefsResult;
use icechunk::virtual_chunks::VirtualChunkContainer;
use icechunk::{Repository, RepositoryConfig, Store};
use tokio::sync::RwLock;

use crate::stream::{File, Line, Range, Stream};

/// The chunks that are passed on at once.
const BATCH: usize = 10_000;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes a repository of the input in a folder.
pub async fn written(input: impl BufRead, folder: &Path) -> Result<(), String> {
    let (mut stream, files) = Stream::open(input)?;
    let mut config = RepositoryConfig::default();
    for prefix in prefixes(&files)? {
        let store = store_of(&prefix)?;
        config.set_virtual_chunk_container(VirtualChunkContainer::new(prefix, store)?)?;
    }
    let places = files.iter().map(Place::of).collect::<Result<Vec<_>, _>>()?;
    let storage = new_local_filesystem_storage(folder).await.map_err(said)?;
    let repository =
        Repository::create(Some(config), storage, HashMap::new(), None, true).await.map_err(said)?;
    // Readers find the places of the files in the configuration.
    repository.save_config().await.map_err(said)?;
    let session = repository.writable_session("main").await.map_err(said)?;
    let session = Arc::new(RwLock::new(session));
    let store = Store::from_session(Arc::clone(&session)).await;
    let (mut array, mut batch) = (None, Vec::new());
    loop {
        let line = stream.next()?;
        if !matches!(line, Line::Chunk(_)) || batch.len() == BATCH {
            flush(&store, array.as_ref(), &mut batch).await?;
        }
        match line {
            Line::Value(key, bytes) => store.set(&key, bytes.into()).await.map_err(said)?,
            Line::Array(path) => array = Some(ArrayPath::new(&path).map_err(said)?),
            Line::Chunk(Range { index, file, offset, length }) => {
                let place = places.get(file).ok_or("a chunk is in a file that the references do not name")?;
                let (location, checksum) = (place.location.clone(), place.checksum.clone());
                let chunk = VirtualChunkRef { location, offset, length, checksum };
                batch.push((ChunkIndices(index), chunk));
            }
            Line::End => break,
        }
    }
    let mut session = session.write().await;
    session.commit("References of sciformats").execute().await.map_err(said)?;
    Ok(())
}

async fn flush(
    store: &Store,
    array: Option<&ArrayPath>,
    batch: &mut Vec<(ChunkIndices, VirtualChunkRef)>,
) -> Result<(), String> {
    if batch.is_empty() {
        return Ok(());
    }
    let array = array.ok_or("chunks come before their array")?;
    match store.set_virtual_refs(array, true, std::mem::take(batch)).await.map_err(said)? {
        SetVirtualRefsResult::Done => Ok(()),
        SetVirtualRefsResult::FailedRefs(all) => {
            Err(format!("{} chunks of {array} are outside of the folders of the files", all.len()))
        }
    }
}

/// Where a file is, and what tells that it has not changed.
struct Place {
    location: VirtualChunkLocation,
    checksum: Option<Checksum>,
}

impl Place {
    fn of(file: &File) -> Result<Self, String> {
        let checksum = match (&file.etag, file.modified) {
            (Some(etag), _) => Some(Checksum::ETag(ETag(etag.clone()))),
            (None, Some(seconds)) => Some(Checksum::LastModified(SecondsSinceEpoch(seconds))),
            (None, None) => None,
        };
        Ok(Self { location: VirtualChunkLocation::from_url(&file.url).map_err(said)?, checksum })
    }
}

/// Returns the beginnings of the URLs for which readers must consent: the bucket or the server, and for local files the folder that
/// all of them are in.
fn prefixes(files: &[File]) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    let mut local: Option<&str> = None;
    for File { url, .. } in files {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| format!("{url} is not a URL"))?;
        if scheme == "file" {
            let folder = rest.rfind('/').and_then(|end| rest.get(..=end)).unwrap_or("/");
            local = Some(local.map_or(folder, |other| common(other, folder)));
        } else {
            let host = rest.split('/').next().unwrap_or_default();
            found.insert(format!("{scheme}://{host}/"));
        }
    }
    if let Some(folder) = local {
        if folder == "/" {
            return Err(
                "the files have no folder in common but the root, to which nobody should consent".into()
            );
        }
        found.insert(format!("file://{folder}"));
    }
    Ok(found)
}

/// Returns the folder that two folders are in. Both end with `/`.
fn common<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.split_inclusive('/').zip(b.split_inclusive('/')).take_while(|(a, b)| a == b);
    let length: usize = same.map(|(part, _)| part.len()).sum();
    a.get(..length).unwrap_or("/")
}

/// Returns how files are read whose URLs begin so.
fn store_of(prefix: &str) -> Result<ObjectStoreConfig, String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match prefix.split("://").next().unwrap_or_default() {
        "file" => Ok(ObjectStoreConfig::LocalFileSystem(PathBuf::new())),
        "http" | "https" => Ok(ObjectStoreConfig::Http(HttpConfig::default())),
        "s3" => {
            let mut options = S3Options::default();
            options.region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
            options.endpoint_url = variable("AWS_ENDPOINT_URL");
            options.allow_http =
                options.endpoint_url.as_deref().is_some_and(|url| url.starts_with("http://"));
            options.force_path_style = options.endpoint_url.is_some();
            Ok(if options.endpoint_url.is_some() {
                ObjectStoreConfig::S3Compatible(options)
            } else {
                ObjectStoreConfig::S3(options)
            })
        }
        #[cfg(feature = "gcs")]
        "gs" | "gcs" => Ok(ObjectStoreConfig::Gcs(HashMap::new())),
        #[cfg(feature = "azure")]
        "az" | "azure" | "abfs" => {
            let account = variable("AZURE_STORAGE_ACCOUNT_NAME").map(|name| ("account".to_owned(), name));
            Ok(ObjectStoreConfig::Azure(account.into_iter().collect()))
        }
        scheme => Err(format!(
            "a repository of this build cannot refer to files at {scheme}://; build it with the feature gcs or azure for those stores"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(url: &str) -> File {
        File { url: url.into(), ..File::default() }
    }

    #[test]
    fn readers_consent_to_as_little_as_there_is() {
        let all = [
            "file:///data/a/1.h5",
            "file:///data/ab/2.h5",
            "s3://bucket/x/y.h5",
            "s3://bucket/z.h5",
            "https://h:1/p/q",
        ];
        let found: Vec<String> = prefixes(&all.map(file)).unwrap().into_iter().collect();
        assert_eq!(found, ["file:///data/", "https://h:1/", "s3://bucket/"]);
        let one: Vec<String> = prefixes(&[file("file:///data/a/1.h5")]).unwrap().into_iter().collect();
        assert_eq!(one, ["file:///data/a/"]);
        assert!(prefixes(&[file("file:///a/1.h5"), file("file:///b/1.h5")]).is_err());
        assert!(prefixes(&[file("a.h5")]).is_err());
    }

    #[test]
    fn every_scheme_has_a_store_or_a_reason() {
        for prefix in ["file:///data/", "http://h/", "https://h/", "s3://b/"] {
            assert!(VirtualChunkContainer::new(prefix.into(), store_of(prefix).unwrap()).is_ok(), "{prefix}");
        }
        assert!(store_of("ftp://h/").is_err());
    }

    fn run(text: &str, folder: &Path) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(written(text.as_bytes(), folder))
    }

    const ARRAY: &str = concat!(
        "{\"version\":1,\"files\":[{\"url\":\"file:///data/a.h5\",\"modified\":7}]}\n",
        "{\"key\":\"zarr.json\",\"value\":{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{}}}\n",
        "{\"key\":\"t/zarr.json\",\"value\":{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"int32\",",
        "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},",
        "\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}},\"fill_value\":0,",
        "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],\"attributes\":{},\"dimension_names\":[\"x\"]}}\n",
        "{\"key\":\"t/c/0\",\"base64\":\"AQAAAAIAAAA=\"}\n",
        "{\"chunks\":\"/t\"}\n",
    );

    #[test]
    fn a_repository_is_complete_or_has_no_commit_of_ours() {
        let folder = tempfile();
        run(&format!("{ARRAY}[[1],0,4096,8]\n{{\"end\":true}}\n"), &folder.join("whole")).unwrap();
        assert!(folder.join("whole").join("repo").is_file());
        let early = run(&format!("{ARRAY}[[1],0,4096,8]\n"), &folder.join("early")).unwrap_err();
        assert!(early.contains("end early"), "{early}");
        let other =
            run(&format!("{ARRAY}[[1],1,4096,8]\n{{\"end\":true}}\n"), &folder.join("other")).unwrap_err();
        assert!(other.contains("do not name"), "{other}");
        // The folder must not be a repository already.
        assert!(run(&format!("{ARRAY}{{\"end\":true}}\n"), &folder.join("whole")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    fn tempfile() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sciformats-icechunk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}
