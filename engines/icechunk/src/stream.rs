//! The lines of the input.

use std::io::BufRead;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

/// The version of the stream that this program reads.
const VERSION: u32 = 1;

/// A file that chunks are in.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct File {
    /// Its URL.
    pub url: String,
    /// The entity tag of the version that was read.
    #[serde(default)]
    pub etag: Option<String>,
    /// The second since 1970 after which the file must not have changed.
    #[serde(default)]
    pub modified: Option<u32>,
}

/// A chunk that is a range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The index of the chunk along each dimension.
    pub index: Vec<u32>,
    /// The number of the file.
    pub file: usize,
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The value of a key of the store: metadata, or the bytes of a chunk.
    Value(String, Vec<u8>),
    /// The array that the chunks after it belong to.
    Array(String),
    /// A chunk.
    Chunk(Range),
    /// The last line.
    End,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
    files: Vec<File>,
}

/// A line that is an object.
#[derive(Deserialize)]
struct Object {
    key: Option<String>,
    value: Option<Value>,
    base64: Option<String>,
    chunks: Option<String>,
    end: Option<bool>,
}

/// Reads lines one after another.
pub struct Stream<R> {
    input: R,
    line: String,
    number: u64,
}

impl<R: BufRead> Stream<R> {
    /// Reads the first line, and returns the files.
    pub fn open(input: R) -> Result<(Self, Vec<File>), String> {
        let mut stream = Self { input, line: String::new(), number: 0 };
        stream.advance()?;
        let head: Head =
            serde_json::from_str(&stream.line).map_err(|error| stream.wrong(&error.to_string()))?;
        if head.version != VERSION {
            return Err(format!(
                "the references have version {} and this program reads {VERSION}; install the two programs together",
                head.version
            ));
        }
        Ok((stream, head.files))
    }

    fn advance(&mut self) -> Result<(), String> {
        self.line.clear();
        self.number += 1;
        match self.input.read_line(&mut self.line) {
            Ok(0) => Err("the references end early, so that nothing is committed".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(self.wrong(&error.to_string())),
        }
    }

    fn wrong(&self, what: &str) -> String {
        format!("line {} of the references: {what}", self.number)
    }

    /// Returns what the next line says.
    pub fn next(&mut self) -> Result<Line, String> {
        self.advance()?;
        let said = |error: serde_json::Error| self.wrong(&error.to_string());
        if self.line.starts_with('[') {
            let (index, file, offset, length) = serde_json::from_str(&self.line).map_err(said)?;
            return Ok(Line::Chunk(Range { index, file, offset, length }));
        }
        let object: Object = serde_json::from_str(&self.line).map_err(said)?;
        match object {
            Object { end: Some(true), .. } => Ok(Line::End),
            Object { chunks: Some(path), .. } => Ok(Line::Array(path)),
            Object { key: Some(key), value: Some(value), .. } => {
                Ok(Line::Value(key, value.to_string().into()))
            }
            Object { key: Some(key), base64: Some(text), .. } => {
                let bytes = STANDARD.decode(text).map_err(|error| self.wrong(&error.to_string()))?;
                Ok(Line::Value(key, bytes))
            }
            _ => Err(self.wrong("it says nothing that is known")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_until_the_end() {
        let text = concat!(
            "{\"version\":1,\"files\":[{\"url\":\"file:///a\",\"etag\":null,\"modified\":7}]}\n",
            "{\"key\":\"zarr.json\",\"value\":{\"a\": 1}}\n",
            "{\"key\":\"t/c/0\",\"base64\":\"AQI=\"}\n",
            "{\"chunks\":\"/t\"}\n",
            "[[1,0],0,4096,100]\n",
            "[[],0,1,2]\n",
            "{\"end\":true}\n",
        );
        let (mut stream, files) = Stream::open(text.as_bytes()).unwrap();
        assert_eq!(files, [File { url: "file:///a".into(), etag: None, modified: Some(7) }]);
        assert_eq!(stream.next().unwrap(), Line::Value("zarr.json".into(), b"{\"a\":1}".to_vec()));
        assert_eq!(stream.next().unwrap(), Line::Value("t/c/0".into(), vec![1, 2]));
        assert_eq!(stream.next().unwrap(), Line::Array("/t".into()));
        let chunk = Range { index: vec![1, 0], file: 0, offset: 4096, length: 100 };
        assert_eq!(stream.next().unwrap(), Line::Chunk(chunk));
        assert!(matches!(stream.next().unwrap(), Line::Chunk(chunk) if chunk.index.is_empty()));
        assert_eq!(stream.next().unwrap(), Line::End);
        assert!(stream.next().unwrap_err().contains("end early"));
    }

    #[test]
    fn what_is_no_reference_is_an_error_with_its_line() {
        assert!(Stream::open(&b"{\"version\":2,\"files\":[]}\n"[..]).err().unwrap().contains("version 2"));
        assert!(Stream::open(&b""[..]).is_err());
        for line in
            ["[[1],0,-1,2]", "[[4294967296],0,1,2]", "{}", "nothing", "{\"key\":\"c/0\",\"base64\":\"?\"}"]
        {
            let text = format!("{{\"version\":1,\"files\":[]}}\n{line}\n");
            let (mut stream, _) = Stream::open(text.as_bytes()).unwrap();
            assert!(stream.next().unwrap_err().starts_with("line 2"), "{line}");
        }
    }
}
