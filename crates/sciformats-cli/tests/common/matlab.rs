//! Files of MATLAB 7.3 with objects, as MATLAB lays them out.

use super::hdf5_pure::references::Reference;
use super::hdf5_pure::{CreateOptions, ObjectId, Writer};

/// The number that begins a reference to objects.
const MAGIC: u32 = 0xDD00_0000;

/// A file, and the metadata of its objects so far.
struct Objects {
    file: Writer,
    names: Vec<String>,
    classes: Vec<u32>,
    /// For each object its class, and its properties: a name and the number of a cell.
    objects: Vec<(u32, Vec<(u32, u32)>)>,
    cells: Vec<Reference>,
    made: usize,
}

impl Objects {
    fn name(&mut self, name: &str) -> u32 {
        let at = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(at + 1).unwrap()
    }

    /// A path for what has no name of its own.
    fn place(&mut self) -> String {
        self.made += 1;
        format!("#refs#/{}", self.made)
    }

    fn double(&mut self, values: &[f64]) -> ObjectId {
        let place = self.place();
        let dataset = self.file.dataset(&place).attribute("MATLAB_class", "double");
        dataset.shape([1, values.len() as u64]).write(values).unwrap()
    }

    fn text(&mut self, text: &str) -> ObjectId {
        let place = self.place();
        let units: Vec<u16> = text.encode_utf16().collect();
        let dataset = self.file.dataset(&place).attribute("MATLAB_class", "char");
        if units.is_empty() {
            return dataset.attribute("MATLAB_empty", 1i32).write(&[0u64, 0]).unwrap();
        }
        dataset.shape([units.len() as u64, 1]).write(&units).unwrap()
    }

    fn cell(&mut self, of: &[ObjectId]) -> ObjectId {
        let of: Vec<Reference> = of.iter().map(|&id| self.file.reference(id).unwrap()).collect();
        let place = self.place();
        let dataset = self.file.dataset(&place).attribute("MATLAB_class", "cell");
        dataset.shape([of.len() as u64, 1]).write(&of).unwrap()
    }

    fn texts(&mut self, texts: &[&str]) -> ObjectId {
        let cells: Vec<ObjectId> = texts.iter().map(|text| self.text(text)).collect();
        self.cell(&cells)
    }

    /// A structure: members that were written before are linked into it.
    fn structure(&mut self, fields: &[(&str, ObjectId)]) -> ObjectId {
        let place = self.place();
        let mut root = self.file.root();
        let mut group = root.group(&place).unwrap();
        group.attribute("MATLAB_class", "struct").unwrap();
        for (name, id) in fields {
            group.hard_link(name, *id).unwrap();
        }
        group.id()
    }

    /// A new object, as the reference to it.
    fn object(&mut self, class: &str, properties: &[(&str, ObjectId)]) -> [u32; 6] {
        let name = self.name(class);
        let class = self.classes.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.classes.push(name);
            self.classes.len() - 1
        });
        let class = u32::try_from(class + 1).unwrap();
        let mut known = Vec::new();
        for (name, id) in properties {
            let reference = self.file.reference(*id).unwrap();
            known.push((self.name(name), u32::try_from(self.cells.len()).unwrap()));
            self.cells.push(reference);
        }
        self.objects.push((class, known));
        [MAGIC, 2, 1, 1, u32::try_from(self.objects.len()).unwrap(), class]
    }

    /// Writes an object as what a property or a cell contains.
    fn inside(&mut self, reference: [u32; 6]) -> ObjectId {
        let place = self.place();
        let dataset = self.file.dataset(&place).attribute("MATLAB_class", "uint32");
        dataset.shape([1, 6]).write(&reference).unwrap()
    }

    fn variable(&mut self, (name, class): (&str, &str), reference: [u32; 6]) {
        let dataset = self.file.dataset(name).attribute("MATLAB_class", class);
        dataset.attribute("MATLAB_object_decode", 3i32).shape([1, 6]).write(&reference).unwrap();
    }

    /// A list of texts, of which `None` is missing.
    fn strings(&mut self, texts: &[Option<&str>]) -> [u32; 6] {
        let mut words = vec![1, 2, texts.len() as u64, 1];
        let units: Vec<Vec<u16>> =
            texts.iter().map(|text| text.unwrap_or_default().encode_utf16().collect()).collect();
        words.extend(texts.iter().zip(&units).map(|(text, units)| match text {
            Some(_) => units.len() as u64,
            None => u64::MAX,
        }));
        let mut all = units.concat();
        all.resize(all.len().next_multiple_of(4), 0);
        words.extend(
            all.chunks(4)
                .map(|four| four.iter().rev().fold(0u64, |word, unit| word << 16 | u64::from(*unit))),
        );
        let place = self.place();
        let dataset = self.file.dataset(&place).attribute("MATLAB_class", "uint64");
        let id = dataset.shape([words.len() as u64, 1]).write(&words).unwrap();
        self.object("string", &[("any", id)])
    }

    /// Writes what all objects consist of.
    fn finish(mut self) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut names: Vec<u8> =
            self.names.iter().flat_map(|name| [name.as_bytes(), &[0]].concat()).collect();
        names.resize(names.len().next_multiple_of(8), 0);
        let words = |words: Vec<u32>| words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        let classes =
            words([0; 4].into_iter().chain(self.classes.iter().flat_map(|name| [0, *name, 0, 0])).collect());
        let objects = self.objects.iter().zip(1u32..).flat_map(|((class, _), at)| [*class, 0, 0, 0, at, at]);
        let objects = words([0; 6].into_iter().chain(objects).collect());
        let mut properties = vec![0u32, 0];
        for (_, of) in &self.objects {
            properties.push(u32::try_from(of.len()).unwrap());
            properties.extend(of.iter().flat_map(|(name, cell)| [*name, 1, *cell]));
            properties.resize(properties.len().next_multiple_of(2), 0);
        }
        let added = words(vec![0; (self.objects.len() + 1) * 2]);
        let regions = [names, classes, Vec::new(), objects, words(properties), added, Vec::new(), vec![0; 8]];
        let mut end = 40;
        let mut header = vec![4u32, u32::try_from(self.names.len()).unwrap()];
        for region in &regions {
            end += region.len();
            header.push(u32::try_from(end).unwrap());
        }
        bytes.extend(words(header));
        regions.iter().for_each(|region| bytes.extend(region));
        let dataset = self.file.dataset("#refs#/metadata").attribute("MATLAB_class", "uint8");
        let metadata = dataset.shape([1, bytes.len() as u64]).write(&bytes).unwrap();
        let dataset = self.file.dataset("#refs#/nothing").attribute("MATLAB_class", "canonical empty");
        let nothing = dataset.attribute("MATLAB_empty", 1i32).write(&[0u64, 0]).unwrap();
        let (metadata, nothing) =
            (self.file.reference(metadata).unwrap(), self.file.reference(nothing).unwrap());
        let mut cells = vec![metadata, nothing];
        cells.extend(&self.cells);
        cells.extend([nothing; 3]);
        let dataset = self.file.dataset("#subsystem#/MCOS").attribute("MATLAB_class", "FileWrapper__");
        let dataset = dataset.attribute("MATLAB_object_decode", 3i32);
        dataset.shape([1, cells.len() as u64]).write(&cells).unwrap();
        self.file.into_bytes().unwrap()
    }
}

/// A table of three runs, their texts, a date, and an object of a user's class.
pub(crate) fn runs() -> Vec<u8> {
    let mut block = vec![b' '; 512];
    block[..19].copy_from_slice(b"MATLAB 7.3 MAT-file");
    let file = Writer::in_memory(&CreateOptions::default().with_user_block(block)).unwrap();
    let mut of = Objects { file, names: vec![], classes: vec![], objects: vec![], cells: vec![], made: 0 };
    let when = of.double(&[1.7041104e12, 1.704110400125e12, f64::NAN]);
    let zone = of.text("Europe/Berlin");
    let when = of.object("datetime", &[("data", when), ("tz", zone)]);
    let when = of.inside(when);
    let (millis, format) = (of.double(&[5.4e6, 3.6e6, 0.0]), of.text("h"));
    let took = of.object("duration", &[("millis", millis), ("fmt", format)]);
    let took = of.inside(took);
    let place = of.strings(&[Some("north"), Some("größer"), None]);
    let place = of.inside(place);
    let (names, codes) = (of.texts(&["good", "bad"]), of.double(&[1.0, 0.0, 2.0]));
    let state = of.object("categorical", &[("categoryNames", names), ("codes", codes)]);
    let state = of.inside(state);
    let speed = of.double(&[1.5, f64::NAN, -3.25]);
    let data = of.cell(&[speed, when, took, place, state]);
    let names = of.texts(&["speed", "when", "took", "place", "state"]);
    let (rows, columns) = (of.double(&[3.0]), of.double(&[5.0]));
    let row_names = of.texts(&["r1", "r2", "r3"]);
    let units = of.texts(&["m/s", "", "", "", ""]);
    let told = of.texts(&["at the inlet", "", "of the whole run", "", ""]);
    let dimensions = of.texts(&["run", "Variables"]);
    let props = of.structure(&[
        ("VariableUnits", units),
        ("VariableDescriptions", told),
        ("DimensionNames", dimensions),
    ]);
    let table = of.object(
        "table",
        &[
            ("data", data),
            ("varnames", names),
            ("nrows", rows),
            ("nvars", columns),
            ("rownames", row_names),
            ("props", props),
        ],
    );
    of.variable(("runs", "table"), table);
    let title = of.strings(&[Some("three runs")]);
    of.variable(("title", "string"), title);
    let start = of.double(&[1.7041104e12]);
    let start = of.object("datetime", &[("data", start)]);
    of.variable(("start", "datetime"), start);
    let (name, matrix) = (of.text("probe 7"), of.double(&[0.0; 5000]));
    let probe = of.object("lab.Probe", &[("name", name), ("signal", matrix)]);
    of.variable(("probe", "lab.Probe"), probe);
    of.finish()
}
