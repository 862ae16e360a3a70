//! Measures how time and memory grow: it runs `bench/src/bin/scaling`, keeps the results in
//! `bench/results/scaling.json`, and writes `docs/scaling.md` with its plots from them. Its last section is that of `cargo xtask cluster`.

mod plot;
mod render;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::args::Args;
use crate::bench::machine::machine;
use crate::bench::program;
use crate::cluster;
use crate::sh::{About, Result, root, run, target_folder};
use render::Series;
pub(crate) use render::number;

/// The task. It fails if something grows faster than its bound.
pub(crate) fn task(mut args: Args) -> Result {
    let render = args.flag("--render");
    let subject = args.word();
    args.end()?;
    let kept = kept();
    if !render {
        let lines = target_folder()?.join("bench-files").join("scaling.lines");
        if lines.exists() {
            fs::remove_file(&lines).about(&lines)?;
        }
        let measured = run(program("scaling", None)?.env("SCIFORMATS_BENCH_RECORD", &lines).args(&subject));
        if subject.is_some() {
            // If only a part was measured, its results are printed; the document needs all parts.
            return measured;
        }
        let series: Result<Vec<Value>> = fs::read_to_string(&lines)
            .about(&lines)?
            .lines()
            .map(|line| serde_json::from_str(line).about(&lines))
            .collect();
        fs::create_dir_all(root().join("bench").join("results"))?;
        fs::write(&kept, text(&series?)).about(&kept)?;
    }
    let series = publish_kept()?;
    let fast: Vec<&str> =
        series.iter().filter(|series| !series.is_ok()).map(|series| series.work.as_str()).collect();
    if fast.is_empty() {
        Ok(())
    } else {
        Err(format!("these grow too fast, or take too much: {}", fast.join("; ")).into())
    }
}

/// Where the results are kept.
fn kept() -> PathBuf {
    root().join("bench").join("results").join("scaling.json")
}

/// Writes the document and the plots from what is kept, and returns the series.
pub(crate) fn publish_kept() -> Result<Vec<Series>> {
    let kept = kept();
    publish(&serde_json::from_str(&fs::read_to_string(&kept).about(&kept)?).about(&kept)?)
}

/// Writes one line per series, so that a diff shows which series have changed.
fn text(series: &[Value]) -> String {
    let lines: Vec<String> = series.iter().map(Value::to_string).collect();
    format!("{{\n\"machine\": {},\n\"series\": [\n{}\n]\n}}\n", json!(machine()), lines.join(",\n"))
}

/// Writes the document and the plots.
fn publish(kept: &Value) -> Result<Vec<Series>> {
    let series = kept["series"].as_array().into_iter().flatten().map(Series::parse);
    let series = series.collect::<Option<Vec<Series>>>().ok_or("a series is incomplete")?;
    let facts = kept["machine"].as_object().into_iter().flatten();
    let facts: Vec<String> =
        facts.map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or_default())).collect();
    let docs = root().join("docs");
    let folder = docs.join("scaling");
    if folder.exists() {
        fs::remove_dir_all(&folder).about(&folder)?;
    }
    fs::create_dir_all(&folder).about(&folder)?;
    let write = |path: PathBuf, text: String| fs::write(&path, text).about(&path);
    for (name, picture) in render::plots(&series) {
        write(folder.join(name), picture)?;
    }
    write(docs.join("scaling.md"), render::document(&series, &facts.join(", ")) + &cluster::section()?)?;
    println!("{}: {} series", docs.join("scaling.md").display(), series.len());
    Ok(series)
}
