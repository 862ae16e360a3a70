//! The titles of the rows of `docs/conformance.md`, in the order of the document.

/// A title, and its groups of cases.
type Row = (&'static str, &'static [&'static str]);

/// The rows of each format.
const ROWS: &[(&str, &[Row])] = &[
    (
        "hdf5",
        &[
            ("every datatype in every layout, with every index and filter", &["matrix"]),
            ("layouts and chunk indexes", &["layouts"]),
            ("filters", &["filters", "blosc"]),
            ("datatypes", &["types"]),
            ("text and sequences of variable length", &["sequences"]),
            ("references", &["references"]),
            ("groups and links", &["groups", "links"]),
            ("attributes", &["attributes"]),
            ("100,000 links, thousands of attributes, large attributes", &["large", "many"]),
            ("shared messages", &["shared"]),
            ("virtual datasets", &["virtual"]),
            ("elements in other files", &["external"]),
            ("appended rows", &["appended"]),
            ("dimension scales, order of creation, user block", &["tracked", "user"]),
            (
                "file-space strategies",
                &["free", "paged", "space-kept", "space-paged", "space-pages", "space-end", "space-blocks"],
            ),
            ("one writer, many readers", &["swmr", "open"]),
            ("links, objects and attributes of existing files", &["edit", "edit many"]),
            ("counts, changes of storage, non-default parameters; h5repack", &["life"]),
            ("what the library reports about our files and its own", &["facts"]),
            ("elements and extents of existing datasets", &["elements", "chunks"]),
            ("changes made by the program", &["program"]),
            ("arrays of every fixture in every other format", &["convert"]),
            ("rescue of damaged and truncated files", &["rescue"]),
            ("properties and values of files repacked by the program", &["kept", "restored", "told"]),
            ("files that refer to other files, in the program", &["elsewhere"]),
            ("netCDF-4", &["netcdf", "netCDF"]),
            ("everything in h5dump, h5ls and h5stat", &["tools"]),
            ("addresses and lengths of 2, 4 and 8 bytes", &["short"]),
            ("conversions of element types", &["conversions"]),
            ("short and odd chunks through filters and pipelines of them", &["odd"]),
        ],
    ),
    ("asdf", &[("any tree, read and then written again", &["trees"])]),
    (
        "blosc2",
        &[
            ("BloscLZ: filters, element sizes, splits", &["blosclz"]),
            ("LZ4: filters, element sizes, splits", &["lz4"]),
            ("LZ4HC: filters, element sizes, splits", &["lz4hc"]),
            ("Zlib: filters, element sizes, splits", &["zlib"]),
            ("Zstandard: filters, element sizes, splits", &["zstd"]),
            ("compression levels", &["levels"]),
            ("lengths of chunks", &["lengths"]),
            ("dictionaries", &["dictionary"]),
            ("codecs and filters of cells (NDLZ, NDCELL, NDMEAN)", &["cells"]),
            ("chunks without bytes (zeros, NaN, one value)", &["special", "arrays of one value"]),
            ("chunks of variable length", &["variable"]),
            ("elements of more than 255 bytes", &["wide types"]),
            ("buffers without a frame, including Blosc 1", &["buffer"]),
            ("arrays (B2ND)", &["arrays"]),
            ("element types of arrays", &["dtypes"]),
            ("variable-length metalayers", &["vlmeta"]),
            ("frames in folders", &["sparse"]),
            ("frames after other bytes", &["offset"]),
            ("edited frames", &["edited"]),
            ("edited arrays", &["array edits"]),
            ("frames and arrays that the program repacks", &["repack"]),
            ("short and odd inputs through codecs, filters and frames", &["odd"]),
        ],
    ),
    (
        "gsd",
        &[
            ("element types", &["types"]),
            ("chunks without elements", &["empty"]),
            ("a thousand names", &["names"]),
            ("thousands of frames", &["frames"]),
            ("frames without chunks", &["sparse"]),
            ("files that grow", &["grown"]),
            ("files of layer 1.0", &["layer-1.0"]),
            ("files upgraded to layer 2", &["upgraded"]),
            ("files that are appended to", &["appended"]),
            ("files that were never closed", &["unclosed"]),
            ("HOOMD: single precision", &["hoomd-single"]),
            ("HOOMD: double precision", &["hoomd-double"]),
            ("HOOMD: defaults", &["hoomd-defaults"]),
            ("HOOMD: values of the first frame", &["hoomd-partial"]),
            ("HOOMD: logged quantities", &["hoomd-log"]),
            ("files written anew by the program", &["kept"]),
        ],
    ),
    (
        "rawarray",
        &[
            ("element types, shapes, byte orders", &["types"]),
            ("arrays without elements", &["empty"]),
            ("LZ4", &["lz4"]),
            ("LEB128", &["leb128"]),
            ("bits", &["bits"]),
            ("metadata", &["metadata"]),
            ("files that are edited or streamed", &["edits"]),
            ("files in a file", &["nested"]),
            ("features that only the Julia package writes", &["julia"]),
            ("files repacked by the program, including npy", &["kept"]),
        ],
    ),
    (
        "references",
        &[
            ("HDF5 fixtures as JSON, in zarr-python", &["json hdf5"]),
            ("ASDF fixtures as JSON, in zarr-python", &["json asdf"]),
            ("Blosc2 fixtures as JSON, in zarr-python", &["json blosc2"]),
            ("GSD fixtures as JSON, in zarr-python", &["json gsd"]),
            ("RawArray fixtures as JSON, in zarr-python", &["json rawarray"]),
            (
                "the same as Parquet, in the mapper of fsspec",
                &[
                    "parquet hdf5",
                    "parquet asdf",
                    "parquet blosc2",
                    "parquet gsd",
                    "parquet rawarray",
                    "parquet tables",
                ],
            ),
            ("many files as one, in zarr-python", &["combined"]),
            ("stores of Zarr 3, in zarr-python and of it", &["stores"]),
        ],
    ),
    (
        "tables",
        &[
            ("structured arrays of h5py, and groups of arrays", &["h5py"]),
            ("tables of PyTables", &["pytables"]),
            ("indexes of PyTables, also damaged ones", &["indexes"]),
            ("variables over grids, beside xarray", &["grids"]),
            ("frames and series of pandas, fixed and table", &["pandas"]),
            ("frames of AnnData", &["anndata"]),
            ("logs of HOOMD, tables of ASDF, NXdata", &["others"]),
            ("files of Parquet, Arrow and CSV", &["foreign"]),
            (
                "tables that the program writes: PyTables, h5py, AnnData, pyarrow, DuckDB, Polars",
                &["written"],
            ),
            ("queries beside DuckDB", &["sql"]),
            ("damaged and hostile tables", &["hostile"]),
        ],
    ),
    (
        "examples",
        &[
            ("a slab of a climate model's output", &["climate"]),
            ("a loop of a simulation, continued", &["simulation"]),
            ("structs as rows of a table", &["particles"]),
            ("cells and genes of AnnData", &["anndata"]),
            ("slices for clients of a server", &["server"]),
            ("many files in tasks of tokio", &["tokio_sums"]),
            ("an image like those of the Roman telescope", &["roman"]),
            ("a trajectory of HOOMD", &["hoomd"]),
            ("a compressed map", &["heights"]),
            ("frames in a RawArray", &["usage"]),
            ("contents of any file", &["contents"]),
            ("largest numbers of any file", &["maximum"]),
            ("errors told apart", &["errors"]),
        ],
    ),
];

/// The row of the content manifests, last in every table.
const MANIFESTS: Row = ("whole files, by their content manifests", &["manifest"]);

/// Returns the title of the row of a group; a group without a title has its own name.
pub(crate) fn title<'a>(format: &str, group: &'a str) -> &'a str {
    let found = titles(format).find(|(_, groups)| groups.contains(&group));
    found.map_or(group, |(title, _)| title)
}

/// Returns the position of a title in the document. Titles without a position follow the others, and
/// manifests are last.
pub(crate) fn place(format: &str, title: &str) -> usize {
    if title == MANIFESTS.0 {
        return usize::MAX;
    }
    titles(format).position(|(known, _)| known == title).unwrap_or(usize::MAX - 1)
}

fn titles(format: &str) -> impl Iterator<Item = Row> {
    let of_format = ROWS.iter().filter(move |(name, _)| *name == format).flat_map(|(_, rows)| rows.iter());
    of_format.copied().chain([MANIFESTS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;

    #[test]
    fn groups_have_titles_and_an_order() {
        assert_eq!(title("hdf5", "space-end"), "file-space strategies");
        assert_eq!(title("asdf", "views"), "views");
        assert!(place("gsd", title("gsd", "types")) < place("gsd", title("gsd", "empty")));
        assert!(place("gsd", "unheard of") < place("gsd", title("gsd", "manifest")));
    }

    #[test]
    fn each_group_has_one_title() {
        for format in FORMATS {
            let groups: Vec<&str> =
                titles(format.name).flat_map(|(_, groups)| groups.iter().copied()).collect();
            for (at, group) in groups.iter().enumerate() {
                assert!(!groups[..at].contains(group), "{}: {group}", format.name);
            }
        }
    }
}
