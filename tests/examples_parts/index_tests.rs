//! The index of the examples lists all of them, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Names in the first column of the index's tables: ``| [`name`](target) | …``.
fn listed(index: &str) -> BTreeSet<(String, String)> {
    let entries = index.lines().filter_map(|line| line.strip_prefix("| [`"));
    let link = |entry: &str| {
        let (name, rest) = entry.split_once("`](").expect("a link");
        let (target, _) = rest.split_once(')').expect("a link that ends");
        (name.to_owned(), target.to_owned())
    };
    entries.map(link).collect()
}

/// Examples as `name.rs`, folders as `name/mod.rs`: what is in the folder.
fn present(folder: &Path) -> BTreeSet<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entry = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            Some((name.clone(), format!("{name}/mod.rs")))
        } else {
            name.strip_suffix(".rs").map(|stem| (stem.to_owned(), name.clone()))
        }
    };
    entries.filter_map(entry).collect()
}

#[test]
fn the_index_lists_every_example_and_every_shared_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    assert_eq!(listed(&index), present(&folder));
}
