//! Files that name other files: a request says which ones it needs, and the caller lends them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use hdf5_pure::{CreateOptions, Slab, Writer};
use sciformats_web::session::Session;
use serde_json::{Value, json};

const DONE: u32 = 0;
const MISSING: u32 = 1;
const FAILED: u32 = 2;

/// How the bytes of files reach the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Whole,
    Ranges,
}

/// A session over the files of a folder.
struct Page<'f> {
    folder: &'f Path,
    way: Way,
    session: Session,
    /// The name of each file by its number.
    names: Vec<String>,
    /// The names that were asked for in each round.
    asked: Vec<Vec<String>>,
    /// What the last answer says about elements that are missing.
    absent: Vec<String>,
}

impl<'f> Page<'f> {
    fn new(folder: &'f Path, way: Way) -> Self {
        Self {
            folder,
            way,
            session: Session::new(),
            names: Vec::new(),
            asked: Vec::new(),
            absent: Vec::new(),
        }
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.folder.join(name)).ok()
    }

    fn register(&mut self, name: &str) -> Option<u32> {
        let bytes = self.bytes(name)?;
        self.names.push(name.into());
        Some(match self.way {
            Way::Whole => self.session.whole(bytes),
            Way::Ranges => self.session.create(bytes.len() as u64),
        })
    }

    /// Makes a request until nothing is missing.
    fn ask(&mut self, request: &Value) -> Result<String, String> {
        let file = request["file"].as_u64().unwrap();
        for _ in 0..200 {
            let (status, answer) = self.session.call(request.to_string().as_bytes());
            let json: Value = serde_json::from_slice(&answer.json).unwrap();
            let absent = json["absent"].as_array().into_iter().flatten();
            self.absent = absent.map(|text| text.as_str().unwrap().to_owned()).collect();
            match status {
                DONE if answer.data.is_empty() => return Ok(json.to_string()),
                DONE => return Ok(String::from_utf8(answer.data).unwrap()),
                FAILED => return Err(json["error"].as_str().unwrap().into()),
                MISSING => {}
                other => panic!("status {other}"),
            }
            self.supply(file, &json["ranges"]);
            for other in json["others"].as_array().unwrap() {
                self.supply(other[0].as_u64().unwrap(), &other[1]);
            }
            let names =
                json["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                self.asked.push(names.clone());
            }
            for name in names {
                let mut lend = json!({ "op": "lend", "file": file, "name": name });
                if name == "broken.h5" {
                    lend["error"] = "the server answers 500".into();
                } else if let Some(number) = self.register(&name) {
                    lend["other"] = number.into();
                }
                assert_eq!(self.session.call(lend.to_string().as_bytes()).0, DONE);
            }
        }
        panic!("{request} makes no progress");
    }

    fn supply(&mut self, file: u64, ranges: &Value) {
        let number = u32::try_from(file).unwrap();
        let bytes = self.bytes(&self.names[number as usize]).unwrap();
        for range in ranges.as_array().unwrap() {
            let [from, to] = [0, 1].map(|at| usize::try_from(range[at].as_u64().unwrap()).unwrap());
            self.session.supply(number, from as u64, bytes[from..to].to_vec());
        }
    }

    fn open(&mut self, name: &str) -> u32 {
        let file = self.register(name).unwrap();
        self.ask(&json!({ "op": "open", "file": file, "beside": true })).unwrap();
        file
    }

    fn values(&mut self, file: u32, path: &str) -> Result<String, String> {
        self.ask(&json!({ "op": "json", "file": file, "path": path, "view": "values" }))
    }
}

/// Files of HDF5 that name each other in every way.
fn write(folder: &Path) -> hdf5_pure::Result<()> {
    std::fs::create_dir(folder.join("days")).unwrap();
    let create = |name: &str| Writer::create_with(folder.join(name), &CreateOptions::default());
    for (name, start) in [("days/monday.h5", 1.0f64), ("days/tuesday.h5", 4.0)] {
        let mut day = create(name)?;
        day.dataset("t").write(&[start, start + 1.0, start + 2.0])?;
        day.finish()?;
    }
    std::fs::write(folder.join("raw.bin"), [7u8, 8, 9]).unwrap();
    let mut main = create("main.h5")?;
    let part = Slab::all(&[3])?;
    let third = |at| Slab::new(&[9], [(at..at + 3).into()]);
    for (name, days) in [("week", &["monday", "tuesday"][..]), ("gap", &["monday", "tuesday", "wednesday"])] {
        let mut made = main.dataset(name).shape([9]).fill(-1.0);
        for (at, day) in (0..).step_by(3).zip(days) {
            made = made.map(&format!("days/{day}.h5"), "/t", &part, &third(at)?);
        }
        made.create::<f64>()?;
    }
    main.dataset("raw").shape([3]).external([("raw.bin", 0, None)]).create::<u8>()?;
    main.root().external_link("monday", "days/monday.h5", "/t")?;
    main.root().external_link("broken", "broken.h5", "/t")?;
    main.root().external_link("outside", "../main.h5", "/t")?;
    main.root().external_link("nowhere", "days/sunday.h5", "/t")?;
    main.finish()
}

#[test]
fn files_that_hdf5_names_are_lent() {
    let temporary = tempfile::tempdir().unwrap();
    write(temporary.path()).unwrap();
    for way in [Way::Whole, Way::Ranges] {
        let mut page = Page::new(temporary.path(), way);
        let main = page.open("main.h5");
        // Elements whose source is missing are fill values, and the answer says so.
        let gap = page.values(main, "/gap").unwrap();
        assert_eq!(gap, "[1.0,2.0,3.0,4.0,5.0,6.0,-1.0,-1.0,-1.0]", "{way:?}");
        assert_eq!(page.absent.len(), 1, "{way:?}: {:?}", page.absent);
        let absent = &page.absent[0];
        assert!(
            absent.contains("days/wednesday.h5") && absent.contains("does not exist"),
            "{way:?}: {absent}"
        );
        let week = page.values(main, "/week").unwrap();
        assert_eq!(week, "[1.0,2.0,3.0,4.0,5.0,6.0,-1.0,-1.0,-1.0]", "{way:?}");
        assert!(page.absent.is_empty(), "{way:?}: {:?}", page.absent);
        // The days that the links did not need are asked for at once. The C library does not look for the one that is not there beside
        // the file.
        let days = ["days/tuesday.h5", "days/wednesday.h5"];
        assert!(page.asked.iter().any(|names| names == &days), "{way:?}: {:?}", page.asked);
        assert_eq!(page.values(main, "/raw").unwrap(), "[7,8,9]", "{way:?}");
        assert_eq!(page.values(main, "/monday").unwrap(), "[1.0,2.0,3.0]", "{way:?}");
        assert!(page.values(main, "/nowhere").unwrap_err().contains("days/sunday.h5"), "{way:?}");
        assert!(page.values(main, "/broken").unwrap_err().contains("the server answers 500"), "{way:?}");
        // What leads out of the folder is not even asked for.
        assert!(page.values(main, "/outside").unwrap_err().contains("../main.h5"), "{way:?}");
        let asked = page.asked.concat();
        assert!(["days/sunday.h5", "broken.h5"].iter().all(|name| asked.iter().any(|it| it == name)));
        assert!(!asked.iter().any(|name| name == "wednesday.h5" || name == "sunday.h5"), "{asked:?}");
        assert!(!asked.iter().any(|name| name.contains("main.h5")), "{asked:?}");
        // Each name is asked for once.
        let mut once = asked.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), asked.len(), "{asked:?}");
        let members = page.ask(&json!({ "op": "members", "file": main, "path": "/" })).unwrap();
        assert!(members.contains(r#""n":"monday""#) && members.contains(r#""s":[3]"#), "{members}");
        // Closing a file closes what was lent to it.
        page.session.close(main);
        for number in 0..page.names.len() {
            let request = json!({ "op": "about", "file": number }).to_string();
            assert_eq!(page.session.call(request.as_bytes()).0, FAILED, "{number}");
        }
    }
}

/// A file in parts that follow each other by their numbers, as old writers leave them, and one in stripes.
#[test]
fn files_in_several_parts_are_opened_as_one() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let values: Vec<u32> = (0..5000).collect();
    let mut made = Writer::in_memory(&CreateOptions::default()).unwrap();
    made.dataset("a").write(&values).unwrap();
    let bytes = made.into_bytes().unwrap();
    let pieces: Vec<&[u8]> = bytes.chunks(8192).collect();
    assert!(pieces.len() > 2);
    for (number, piece) in pieces.iter().enumerate() {
        std::fs::write(folder.join(format!("run-{number:03}.h5")), piece).unwrap();
    }
    let wanted = serde_json::to_string(&values).unwrap();
    for way in [Way::Whole, Way::Ranges] {
        let mut page = Page::new(folder, way);
        let file = page.register("run-000.h5").unwrap();
        let open = json!({ "op": "open", "file": file, "beside": true, "name": "run-000.h5" });
        page.ask(&open).unwrap();
        assert_eq!(page.values(file, "/a").unwrap(), wanted, "{way:?}");
        assert_eq!(
            page.asked.concat().len(),
            pieces.len(),
            "{way:?}: the parts, and the one that is not there"
        );
        // Without its name, it is a file that was cut short.
        let mut page = Page::new(folder, way);
        let file = page.register("run-000.h5").unwrap();
        let open = page.ask(&json!({ "op": "open", "file": file, "beside": true }));
        assert!(open.is_err() || page.values(file, "/a").is_err(), "{way:?}");
    }
}

#[test]
fn without_a_lender_no_other_file_is_opened() {
    let temporary = tempfile::tempdir().unwrap();
    write(temporary.path()).unwrap();
    let mut page = Page::new(temporary.path(), Way::Whole);
    let file = page.register("main.h5").unwrap();
    page.ask(&json!({ "op": "open", "file": file })).unwrap();
    for path in ["/week", "/raw", "/monday"] {
        assert!(page.values(file, path).is_err(), "{path}");
    }
    assert!(page.asked.is_empty());
}

#[test]
fn parts_of_asdf_files_and_of_sparse_frames_are_lent() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    for way in [Way::Whole, Way::Ranges] {
        for (name, parts) in
            [("asdf/main.asdf", "asdf/main0000.asdf"), ("blosc2/sparse.b2frame/chunks.b2frame", "")]
        {
            let path = fixtures.join(name);
            let folder = path.parent().unwrap();
            let mut page = Page::new(folder, way);
            let file = page.open(path.file_name().unwrap().to_str().unwrap());
            let whole = if parts.is_empty() { folder } else { &path };
            let other = sciformats::File::open(whole).unwrap();
            let mut arrays = 0;
            for entry in other.walk() {
                let Ok(array) = other.array(&entry.path) else { continue };
                let found = page.values(file, &entry.path).unwrap();
                let wanted = array.read_dyn().unwrap().to_json();
                assert_eq!(found, wanted, "{name} {}", entry.path);
                arrays += 1;
            }
            assert!(
                arrays > 0 && !page.asked.is_empty(),
                "{name}: {arrays} arrays, asked for {:?}",
                page.asked
            );
        }
    }
}
