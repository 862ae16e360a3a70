//! Files and folders that take the place of others.

use super::*;

#[test]
fn dropped_it_leaves_the_old_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"old").unwrap();
    let mut replacement = Replacement::create(&path).unwrap();
    replacement.write_at(0, b"new bytes").unwrap();
    drop(replacement);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_new_file_does_not_take_the_place_of_one_that_appears_before_it_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let is_refused = |result: Result<()>| match result {
        Err(Error::Io { source, .. }) => source.kind() == std::io::ErrorKind::AlreadyExists,
        _ => false,
    };
    let mut new = Replacement::create_new(&path).unwrap();
    new.write_at(0, b"late").unwrap();
    fs::write(&path, b"early").unwrap();
    assert!(is_refused(new.finish(Durability::Process)));
    assert!(is_refused(Replacement::create_new(&path).map(drop)));
    let mut named = Temporary::named(&dir.path().join("other")).unwrap();
    named.storage.write_at(0, b"late").unwrap();
    assert!(is_refused(named.finish_new(&path).map(drop)));
    assert_eq!(fs::read(&path).unwrap(), b"early");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let mut named = Temporary::named(&dir.path().join("other")).unwrap();
    named.storage.write_at(0, b"other").unwrap();
    named.finish_new(&dir.path().join("other")).unwrap();
    assert_eq!(fs::read(dir.path().join("other")).unwrap(), b"other");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_was_settled_may_still_be_written_and_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"old").unwrap();
    let mut scratch = Scratch::sibling(&path, |_| false).unwrap();
    scratch.settle(); // There is nothing yet.
    fs::write(scratch.path(), b"new").unwrap();
    scratch.settle();
    assert!(scratch.settling.is_some());
    fs::write(scratch.path(), b"newer").unwrap();
    scratch.finish(Durability::Process).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    let mut scratch = Scratch::sibling(&path, |_| false).unwrap();
    fs::write(scratch.path(), b"dropped").unwrap();
    scratch.settle();
    drop(scratch);
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn an_owner_stays_if_the_process_may_give_files_away() {
    use std::os::unix::fs::{MetadataExt, chown};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"old").unwrap();
    // Only the administrator can give the file away; for anybody else, it keeps its present owner.
    let _ = chown(&path, Some(1234), Some(4321));
    let owner = |path: &Path| fs::metadata(path).map(|metadata| (metadata.uid(), metadata.gid())).unwrap();
    let before = owner(&path);
    let mut replacement = Replacement::create(&path).unwrap();
    replacement.write_at(0, b"new").unwrap();
    replacement.finish(Durability::Process).unwrap();
    assert_eq!((fs::read(&path).unwrap(), owner(&path)), (b"new".to_vec(), before));
    let scratch = Scratch::beside(&path).unwrap();
    fs::write(scratch.path(), b"newer").unwrap();
    scratch.finish(Durability::Process).unwrap();
    assert_eq!((fs::read(&path).unwrap(), owner(&path)), (b"newer".to_vec(), before));
}

#[test]
#[cfg(unix)]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("data"), dir.path().join("link"));
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut replacement = Replacement::create(&link).unwrap();
    replacement.write_at(0, b"new").unwrap();
    replacement.finish(Durability::Power).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    let scratch = Scratch::beside(&link).unwrap();
    fs::write(scratch.path(), b"newer").unwrap();
    scratch.finish(Durability::Power).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_killed_processes_left_is_removed_and_what_lives_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let living = Scratch::beside(&path).unwrap();
    for slot in [1, 5] {
        fs::write(temporary::name(&path, slot), b"left").unwrap();
    }
    let left = temporary::name(&path, 3);
    fs::create_dir(&left).unwrap();
    fs::write(left.join(temporary::LOCK), b"").unwrap();
    fs::write(left.join("data"), b"left").unwrap();
    fs::create_dir(temporary::name(&path, 6)).unwrap();
    let held = temporary::name(&path, 4);
    let lock = temporary::locked(&held).unwrap().unwrap();
    let mut replacement = Replacement::create(&path).unwrap();
    replacement.write_at(0, b"new").unwrap();
    assert!(living.path().parent().unwrap().exists() && held.exists());
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        2 + usize::from(!cfg!(all(target_os = "linux", feature = "linux")))
    );
    replacement.finish(Durability::Process).unwrap();
    drop((living, lock));
    assert_eq!(fs::read(&path).unwrap(), b"new");
    drop(Replacement::create(&path).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_place_in_the_same_folder_goes_with_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let names = || {
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    fs::write(&path, b"old").unwrap();
    // After a process was killed, its folder exists and its lock is free.
    fs::create_dir(dir.path().join(".data.0.partial")).unwrap();
    fs::write(dir.path().join(".data.0.partial/lock"), b"").unwrap();
    fs::write(dir.path().join(".0-data"), b"left").unwrap();
    // This is another program's file, because there is no folder with it.
    fs::write(dir.path().join(".1-data"), b"somebody's").unwrap();
    let scratch = Scratch::sibling(&path, |_| false).unwrap();
    assert_eq!(scratch.path().parent(), Some(dir.path()));
    fs::write(scratch.path(), b"new").unwrap();
    scratch.finish(Durability::Process).unwrap();
    assert_eq!(names(), [".1-data", "data"]);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    let scratch = Scratch::sibling(&path, |_| false).unwrap();
    fs::write(scratch.path(), b"newer").unwrap();
    drop(scratch);
    assert_eq!((names(), fs::read(&path).unwrap()), (vec![".1-data".into(), "data".into()], b"new".to_vec()));
}

#[test]
fn a_folder_takes_the_place_of_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("frame");
    let is_part = |name: &OsStr| name == "old" || name == "new";
    for content in ["old", "new"] {
        let scratch = Scratch::sibling(&path, is_part).unwrap();
        fs::create_dir(scratch.path()).unwrap();
        fs::write(scratch.path().join(content), content).unwrap();
        scratch.finish(Durability::Process).unwrap();
    }
    let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["new"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_with_other_contents_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("frame");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("part"), b"old").unwrap();
    let is_part = |name: &OsStr| name == "part";
    let scratch = Scratch::sibling(&path, is_part).unwrap();
    fs::create_dir(scratch.path()).unwrap();
    // It appears while the new folder is written, and then before.
    fs::create_dir(path.join("thesis")).unwrap();
    assert!(scratch.finish(Durability::Process).is_err());
    assert!(Scratch::sibling(&path, is_part).is_err());
    assert!(Replacement::create(&path).is_err() && Scratch::beside(&path).is_err());
    assert_eq!(fs::read(path.join("part")).unwrap(), b"old");
    assert!(path.join("thesis").exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_appears_while_a_new_file_is_written_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let mut replacement = Replacement::create(&path).unwrap();
    replacement.write_at(0, b"late").unwrap();
    let scratches = [Scratch::beside(&path).unwrap(), Scratch::sibling(&path, |_| true).unwrap()];
    for scratch in &scratches {
        fs::write(scratch.path(), b"late").unwrap();
    }
    let folder = Scratch::sibling(&path, |_| true).unwrap();
    fs::create_dir(folder.path()).unwrap();
    fs::write(&path, b"early").unwrap();
    assert!(replacement.finish(Durability::Process).is_err());
    for scratch in scratches {
        assert!(scratch.finish(Durability::Process).is_err());
    }
    assert!(folder.finish(Durability::Process).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"early");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn only_files_are_replaced_and_links_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (link, far) = (dir.path().join("link"), dir.path().join("far"));
    // A link may lead to a file that does not exist yet.
    std::os::unix::fs::symlink("far", &link).unwrap();
    let mut replacement = Replacement::create(&link).unwrap();
    replacement.write_at(0, b"new").unwrap();
    replacement.finish(Durability::Process).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&far).unwrap(), b"new");
    let socket = dir.path().join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [&socket, Path::new("/dev/null")] {
        assert!(Replacement::create(path).is_err() && Scratch::beside(path).is_err());
        assert!(Scratch::sibling(path, |_| true).is_err());
    }
}

#[test]
fn a_file_that_is_edited_is_not_replaced_and_the_reverse() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"old").unwrap();
    let editor = FileStorage::edit(&path).unwrap();
    editor.try_lock().unwrap();
    assert!(matches!(Replacement::create(&path), Err(Error::Conflict { .. })));
    assert!(matches!(Scratch::beside(&path), Err(Error::Conflict { .. })));
    drop(editor);
    let replacement = Replacement::create(&path).unwrap();
    let other = FileStorage::edit(&path).unwrap();
    assert!(matches!(other.try_lock(), Err(Error::Conflict { .. })));
    replacement.finish(Durability::Process).unwrap();
    // The lock can be taken again, but it is that of the file that was there before.
    assert!(other.check_unchanged().is_err());
}

/// The implementation for systems and file systems that have no files without names.
#[test]
fn a_named_temporary_file_does_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"old").unwrap();
    let mut named = Temporary::named(&path).unwrap();
    named.storage.write_at(0, b"new").unwrap();
    assert_eq!((fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (b"old".to_vec(), 2));
    let open = named.finish(&path).unwrap();
    assert_eq!((fs::read(&path).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (b"new".to_vec(), 1));
    assert!(FileStorage::edit(&path).unwrap().try_lock().is_err());
    drop(open);
    drop(Temporary::named(&path).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn a_file_that_must_not_be_written_is_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, b"a week of work").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    // The administrator may write to every file.
    let may_write = fs::OpenOptions::new().write(true).open(&path).is_ok();
    let results = [
        Replacement::create(&path).map(drop),
        Replacement::of_held(&path).map(drop),
        Scratch::beside(&path).map(drop),
        Scratch::sibling(&path, |_| true).map(drop),
    ];
    for result in results {
        match result {
            Ok(()) => assert!(may_write),
            Err(Error::Io { source, .. }) => assert_eq!(source.kind(), io::ErrorKind::PermissionDenied),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(fs::read(&path).unwrap(), b"a week of work");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
