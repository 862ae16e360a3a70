//! `plot` as users run it: on the terminal, into files, as JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use crate::common::Program;
use serde_json::Value as Json;

fn program() -> Program {
    Program::in_fixtures().with("COLUMNS", "60").with("LINES", "16")
}

#[track_caller]
fn stdout(status: i32, args: &[&str]) -> String {
    program().stdout(status, args)
}

#[track_caller]
fn stderr(status: i32, args: &[&str]) -> String {
    program().stderr(status, args)
}

#[test]
fn pictures_fit_the_terminal() {
    for args in [
        &["plot", "gsd/hoomd-log.gsd", "/log/energy"][..],
        &["plot", "blosc2/grid.b2nd"],
        &["plot", "blosc2/grid.b2nd", "--color", "always"],
        &["plot", "blosc2/grid.b2nd", "-k", "histogram"],
        &["plot", "rawarray/five-dimensions.ra"],
        &["plot", "rawarray/five-dimensions.ra", "-s", "0, 0, 0, 0", "-k", "line"],
        &["plot", "gsd/hoomd-single.gsd", "/frames/0/particles/position", "-k", "line"],
    ] {
        let text = stdout(0, args);
        let text = anstream::adapter::strip_str(&text).to_string();
        assert!(text.lines().count() <= 15, "{args:?}\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{args:?}\n{text}");
        // Where the array is all that the file has, the file's name says more than its path.
        let path = args.get(2).filter(|path| path.starts_with('/'));
        let title = path.copied().unwrap_or(args[1].rsplit('/').next().unwrap());
        assert!(text.starts_with(title), "{args:?}\n{text}");
    }
}

#[test]
fn pictures_in_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (svg, png) = (path("a.svg"), path("a.png"));
    for output in [&svg, &png] {
        let text =
            stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log/energy", "-o", output, "--size", "640x480"]);
        assert!(text.contains(": written"), "{text}");
    }
    let text = fs::read_to_string(&svg).unwrap();
    assert!(text.contains("width=\"640\"") && text.contains(">energy</text>"), "{text}");
    let reader =
        png::Decoder::new(fs::File::open(&png).map(std::io::BufReader::new).unwrap()).read_info().unwrap();
    assert_eq!(reader.info().size(), (640, 480));
    // The same picture is the same file.
    let again = path("b.png");
    stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log/energy", "-o", &again, "--size", "640x480", "-q"]);
    assert_eq!(fs::read(&png).unwrap(), fs::read(&again).unwrap());
    assert!(stderr(2, &["plot", "blosc2/grid.b2nd", "-o", &png]).contains("exists already"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &png, "--force", "-q"]);
    assert!(stderr(2, &["plot", "blosc2/grid.b2nd", "-o", &path("a.jpg")]).contains(".svg, .pdf or .png"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &path("a.pdf"), "-q"]);
    let pdf = fs::read(path("a.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
    // Values on a logarithmic scale; counts have none.
    let log = path("log.svg");
    stdout(0, &["plot", "blosc2/grid.b2nd", "--log", "-o", &log, "-q"]);
    let (log, linear) = (fs::read_to_string(log).unwrap(), path("linear.svg"));
    stdout(0, &["plot", "blosc2/grid.b2nd", "-o", &linear, "-q"]);
    assert!(log != fs::read_to_string(linear).unwrap() && log.contains(">20</text>"), "{log}");
    let refused = stderr(1, &["plot", "blosc2/grid.b2nd", "--log", "-k", "histogram"]);
    assert!(refused.contains("no logarithmic scale"), "{refused}");
    // Errors name the file, and leave nothing behind.
    let error = stderr(4, &["plot", "blosc2/grid.b2nd", "-o", &path("no/where.svg")]);
    assert!(error.contains("no/where.svg: the file cannot be written: No such file"), "{error}");
    fs::create_dir(path("folder.png")).unwrap();
    let error = stderr(4, &["plot", "blosc2/grid.b2nd", "-o", &path("folder.png"), "--force"]);
    assert!(error.contains("folder.png: the file cannot be written: "), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 7);
}

#[test]
fn several_lines_have_names_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::climate(&dir.path().join("a.nc"));
    crate::common::climate(&dir.path().join("b.nc"));
    crate::common::spiral(&dir.path().join("spiral.h5"));
    let program = Program::at(dir.path());
    let svg = |args: &[&str]| {
        let args = [&["plot"], args, &["-o", "-", "--format", "svg"]].concat();
        program.stdout(0, &args)
    };
    // Of several arrays, of several files, and of several fields.
    let arrays = svg(&["a.nc", "/lat", "/lon"]);
    assert!(arrays.contains(">lat</text>") && arrays.contains(">lon</text>"), "{arrays}");
    assert!(arrays.contains(">a.nc</text>"), "{arrays}");
    let files = svg(&["a.nc", "b.nc", "/lat"]);
    assert!(
        files.contains(">a.nc</text>") && files.contains(">b.nc</text>") && files.contains(">/lat</text>"),
        "{files}"
    );
    let fields = svg(&["spiral.h5", "/spiral", "--field", "x", "--field", "y"]);
    assert!(fields.contains(">x</text>") && fields.contains(">y</text>"), "{fields}");
    assert_eq!(fields.matches("stroke-width=\"3\"").count(), 2, "{fields}");
    for (args, status, why) in [
        (&["a.nc", "/lat", "/lon", "-k", "image"][..], 2, "only be drawn as lines"),
        (&["a.nc", "/lat", "/time"], 1, "dates"),
        (&["spiral.h5", "/spiral", "--field", "x", "--field", "z"], 2, "names z, but the fields are"),
        (&["spiral.h5", "/spiral", "--field", "x", "--field", "y", "-k", "histogram"], 2, "several times"),
    ] {
        let error = program.stderr(status, &[&["plot"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
}

#[test]
fn points_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::spiral(&dir.path().join("spiral.h5"));
    let program = Program::at(dir.path());
    let drawn = |format: &str| {
        let args =
            ["plot", "spiral.h5", "/spiral", "--field", "x", "--field", "y", "--field", "t", "-k", "scatter"];
        program.run(&[&args[..], &["-o", "-", "--format", format]].concat()).stdout
    };
    let svg = String::from_utf8(drawn("svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 200);
    // The third number is the colour, which a bar explains.
    assert!(svg.contains(">t</text>") && svg.contains("<image"), "{svg}");
    let pdf = drawn("pdf");
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
    assert_eq!(String::from_utf8_lossy(&pdf).matches("RG 6 w").count(), 200);
    let png = drawn("png");
    let info = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
    assert_eq!(info.info().size(), (1000, 700));
    let large =
        program.run(&["plot", "spiral.h5", "/spiral", "--field", "x", "-o", "-", "--scale", "2"]).stdout;
    let info = png::Decoder::new(std::io::Cursor::new(&large)).read_info().unwrap();
    assert_eq!(info.info().size(), (2000, 1400));
    let json: Json = serde_json::from_str(&stdout(
        0,
        &["plot", "--json", "gsd/hoomd-single.gsd", "/frames/0/particles/position", "-k", "scatter"],
    ))
    .unwrap();
    assert_eq!(json["kind"], "scatter");
}

#[test]
fn a_series_has_one_scale() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::climate(&dir.path().join("climate.nc"));
    crate::common::photo(&dir.path().join("photo.h5"));
    let program = Program::at(dir.path());
    let text = program.stdout(0, &["plot", "climate.nc", "/tas", "--each", "time", "-o", "tas.svg"]);
    assert!(text.contains("tas-000.svg … tas-003.svg") && text.contains("4 pictures"), "{text}");
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let ticks = |svg: &str| {
        svg.lines()
            .filter(|line| line.contains("text-anchor=\"start\"") && !line.contains("missing"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (first, last) = (read("tas-000.svg"), read("tas-003.svg"));
    assert_eq!(ticks(&first), ticks(&last));
    assert!(first.contains("[0, :, :]") && first != last, "{first}");
    let exists = program.stderr(2, &["plot", "climate.nc", "/tas", "--each", "0", "-o", "tas.svg"]);
    assert!(exists.contains("tas-000.svg: the file exists already"), "{exists}");
    let none = program.stderr(2, &["plot", "climate.nc", "/tas", "--each", "depth", "-o", "x.svg"]);
    assert!(none.contains("no dimension depth; there are time, lat, lon, or 0 to 2"), "{none}");
    // As pixels without axes: one for each element, or one for each colour.
    let text = program.stdout(0, &["convert", "climate.nc", "t.png", "--select", "/tas"]);
    assert!(text.contains("4 pictures"), "{text}");
    let size = |name: &str| {
        let file = fs::File::open(dir.path().join(name)).map(std::io::BufReader::new).unwrap();
        png::Decoder::new(file).read_info().unwrap().info().size()
    };
    assert_eq!(size("t-002.png"), (4, 3));
    program.stdout(0, &["convert", "photo.h5", "photo.png", "-q"]);
    let file = fs::File::open(dir.path().join("photo.png")).map(std::io::BufReader::new).unwrap();
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert_eq!((reader.info().size(), &pixels[..6]), ((20, 12), &[0, 0, 128, 0, 12, 128][..]));
}

#[test]
fn colours_may_lie_in_pixels_lines_and_planes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("photos.h5");
    let mut file = sciformats::hdf5_pure::Writer::create(path).unwrap();
    let value = |at: [usize; 3]| u8::try_from(at[0] * 60 + at[1] * 9 + at[2] * 2).unwrap();
    for (name, mode, order) in [
        ("pixel", "INTERLACE_PIXEL", [0, 1, 2]),
        ("line", "INTERLACE_LINE", [0, 2, 1]),
        ("plane", "INTERLACE_PLANE", [2, 0, 1]),
    ] {
        // Two rows, five columns, and three colours in the order of the mode.
        let sides = order.map(|axis| [2usize, 5, 3][axis]);
        let mut bytes = Vec::new();
        for number in 0..30 {
            let places = [number / (sides[1] * sides[2]), number / sides[2] % sides[1], number % sides[2]];
            let mut at = [0; 3];
            order.iter().zip(places).for_each(|(axis, place)| at[*axis] = place);
            bytes.push(value(at));
        }
        let image = file.dataset(name).shape(sides.map(|side| side as u64)).attribute("CLASS", "IMAGE");
        image.attribute("INTERLACE_MODE", mode).write(&bytes).unwrap();
    }
    file.finish().unwrap();
    let program = Program::at(dir.path());
    let picture = |name: &str| {
        let (path, png) = (format!("/{name}"), format!("{name}.png"));
        let text = program.stdout(0, &["convert", "photos.h5", &png, "--select", &path]);
        assert!(!text.contains("pictures"), "{text}");
        let json = program.stdout(0, &["plot", "--json", "photos.h5", &path]);
        (fs::read(dir.path().join(&png)).unwrap(), serde_json::from_str::<Json>(&json).unwrap())
    };
    let (pixel, drawn) = picture("pixel");
    for name in ["line", "plane"] {
        let (other, also) = picture(name);
        assert!(other == pixel, "{name}");
        assert_eq!((&also["kind"], &also["image"]), (&drawn["kind"], &drawn["image"]), "{name}");
    }
}

#[test]
fn pictures_as_json() {
    let json = |args: &[&str]| -> Json { serde_json::from_str(&stdout(0, args)).unwrap() };
    let line = json(&["plot", "--json", "gsd/hoomd-log.gsd", "/log/energy"]);
    assert_eq!(line["kind"], "line");
    assert_eq!(line["lines"][0]["first"], serde_json::json!([0.0, 0.25, 0.5, 0.75, 1.0]));
    assert_eq!(line["x"]["high"], 4.0);
    let bars =
        json(&["plot", "--json", "gsd/hoomd-log.gsd", "/log/energy", "-k", "histogram", "--bins", "2"]);
    assert_eq!(bars["counts"], serde_json::json!([2, 3]));
    let image = json(&["plot", "--json", "rawarray/five-dimensions.ra"]);
    assert_eq!(image["kind"], "image");
}

#[test]
fn what_cannot_be_drawn_says_why() {
    for (args, why) in [
        (&["plot", "gsd/hoomd-log.gsd", "/frames"][..], "is a group, not an array"),
        (&["plot", "rawarray/scalar.ra"], "a single value"),
        (&["plot", "rawarray/no-elements.ra"], "no elements"),
        (&["plot", "blosc2/text.b2nd"], "which are not numbers"),
        (&["plot", "gsd/hoomd-log.gsd", "/log"], "choose one of their fields with --field"),
        (&["plot", "rawarray/five-dimensions.ra", "-s", "..."], "an image needs 2"),
    ] {
        let error = stderr(1, args);
        assert!(error.contains(why), "{args:?}: {error}");
    }
    let field = stdout(0, &["plot", "gsd/hoomd-log.gsd", "/log", "--field", "log/energy"]);
    assert!(field.starts_with("/log log/energy"), "{field}");
}

#[test]
fn the_title_names_what_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    crate::common::climate(&dir.path().join("climate.nc"));
    let program = Program::at(dir.path());
    let drawn = program.stdout(0, &["plot", "climate.nc", "/tas", "--at", "lat=52,time=2001-07-02", "-q"]);
    assert!(drawn.starts_with("/tas[lat=52.5, time=2001-07-02"), "{drawn}");
}
