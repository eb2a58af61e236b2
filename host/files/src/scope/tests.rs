use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::FileType;

use super::*;

fn project() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for directory in ["project/out/inner", "project/module", "secret"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    for file in ["project/main.tf", "project/out/file", "project/module/a", "secret/key"] {
        fs::write(root.path().join(file), file).unwrap();
    }
    root
}

fn read(scope: &FileScope, path: &Path) -> String {
    match scope.read(path, 100) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(FileAccessError::Outside { .. }) => "outside".into(),
        Err(FileAccessError::PluginLink { .. }) => "plugin link".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn paths_do_not_leave_confined_scope() {
    let root = project();
    let directory = root.path().join("project");
    symlink("../secret", directory.join("up")).unwrap();
    symlink(root.path().join("secret/key"), directory.join("absolute")).unwrap();
    symlink(directory.join("main.tf"), directory.join("inside")).unwrap();
    symlink("absent", directory.join("dangling")).unwrap();
    let scope = FileScope::confined(&directory).unwrap();
    for path in ["up/key", "up/absent", "absolute", "../secret/key", "/etc/passwd", "module/../../secret/key"]
    {
        assert_eq!(read(&scope, Path::new(path)), "outside", "{path}");
        assert_eq!(read(&scope, &directory.join(path)), "outside", "{path}");
    }
    for (path, expected) in [("main.tf", "main.tf"), ("module/../main.tf", "main.tf"), ("inside", "main.tf")]
    {
        assert_eq!(read(&scope, Path::new(path)), format!("project/{expected}"), "{path}");
        assert_eq!(read(&scope, &directory.join(path)), format!("project/{expected}"), "{path}");
    }
    let kind = |path: &str| scope.resolve(Path::new(path), LastLink::Follow).and_then(|found| found.kind());
    for absent in ["dangling", "main.tf/x"] {
        let is_absent = match kind(absent) {
            Ok(kind) => kind.is_none(),
            Err(error) => {
                matches!(
                    io::Error::from(error).kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                )
            }
        };
        assert!(is_absent, "{absent}");
    }
    assert!(matches!(kind("up"), Err(FileAccessError::Outside { .. })), "even if it exists");
}

#[test]
fn links_out_of_writable_directories_are_not_followed() {
    let root = project();
    let directory = root.path().join("project");
    let out = directory.join("out");
    for (name, target) in
        [("up", "../module/a"), ("near", "file"), ("inner/near", "../file"), ("far", "../../secret")]
    {
        symlink(target, out.join(name)).unwrap();
    }
    symlink(root.path().join("secret/key"), out.join("absolute")).unwrap();
    symlink(out.join("file"), out.join("absolute-near")).unwrap();
    symlink("inner", out.join("step")).unwrap();
    symlink("../secret/key", directory.join("operator")).unwrap();
    symlink("out/up", directory.join("through")).unwrap();
    let scope = FileScope::anywhere(Arc::new(WritableDirectories::new([out.clone()]))).unwrap();
    for (path, expected) in [
        ("main.tf", "project/main.tf"),
        ("operator", "secret/key"),
        ("out/near", "project/out/file"),
        ("out/inner/near", "project/out/file"),
        ("out/absolute-near", "project/out/file"),
        ("out/step/../file", "project/out/file"),
        ("out/../module/a", "project/module/a"),
        ("out/up", "plugin link"),
        ("out/far/key", "plugin link"),
        ("out/absolute", "plugin link"),
        ("through", "plugin link"),
        ("out/step/../../main.tf", "plugin link"),
    ] {
        assert_eq!(read(&scope, &directory.join(path)), expected, "{path}");
    }
    let nested = WritableDirectories::new([out.clone(), out.join("inner")]);
    let scope = FileScope::anywhere(Arc::new(nested)).unwrap();
    assert_eq!(read(&scope, &out.join("inner/near")), "plugin link", "out of the inner directory");
}

#[test]
fn reads_only_regular_files_within_the_size_limit() {
    let root = project();
    let scope = FileScope::anywhere(Arc::default()).unwrap();
    let _socket = UnixListener::bind(root.path().join("socket")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("pipe"),
        FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for path in [root.path().join("pipe"), PathBuf::from("/dev/null")] {
        assert!(matches!(scope.read(&path, 100), Err(FileAccessError::NotRegular)), "{}", path.display());
    }
    assert!(scope.read(&root.path().join("socket"), 100).is_err());
    assert!(scope.read(root.path(), 100).is_err());
    let key = root.path().join("secret/key");
    assert!(matches!(scope.read(&key, 9), Err(FileAccessError::TooLarge(9))));
    assert_eq!(scope.read(&key, 10).unwrap(), b"secret/key");
}

#[cfg(target_os = "linux")]
#[test]
fn procfs_process_files_are_not_read() {
    let root = project();
    let scope = FileScope::anywhere(Arc::default()).unwrap();
    let pid = std::process::id();
    symlink("/proc/self/environ", root.path().join("link")).unwrap();
    symlink(format!("/proc/{pid}"), root.path().join("directory")).unwrap();
    let held = fs::File::open(root.path().join("secret/key")).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    for path in [
        "/proc/self/environ".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/{pid}/environ"),
        format!("/proc/{pid}/task/{pid}/environ"),
        format!("/proc/{pid}/maps"),
        format!("/proc/{pid}/mem"),
        format!("/proc/{}/environ", std::os::unix::process::parent_id()),
        "/proc/mounts".to_owned(),
        "/proc/kcore".to_owned(),
        format!("/dev/fd/{number}"),
        root.path().join("link").display().to_string(),
        root.path().join("directory/environ").display().to_string(),
        format!("{0}/directory/root{0}/secret/key", root.path().display()),
    ] {
        let read = scope.read(Path::new(&path), 1 << 20);
        let refused = match &read {
            Err(FileAccessError::Process) => true,
            // The machine that runs the test has no such file.
            Err(FileAccessError::System(_)) => !Path::new(&path).exists(),
            _ => false,
        };
        assert!(refused, "{path}: {read:?}");
    }
    assert!(matches!(scope.list(Path::new("/proc/self")), Err(FileAccessError::Process)));
    let memory = scope.resolve(Path::new("/proc/self/mem"), LastLink::Follow);
    assert!(matches!(memory, Err(FileAccessError::Process)), "{memory:?}");
    for path in ["/proc/cpuinfo", "/proc/sys/kernel/ostype"] {
        assert!(!scope.read(Path::new(path), 1 << 20).unwrap().is_empty(), "{path}");
    }
}

#[test]
fn listing_is_read_in_chunks() {
    let root = project();
    let many = root.path().join("many");
    fs::create_dir(&many).unwrap();
    for index in 0..1_000 {
        fs::write(many.join(format!("{index:0>200}")), "").unwrap();
    }
    symlink("/etc", many.join("link")).unwrap();
    let scope = FileScope::confined(root.path()).unwrap();
    let mut listing = scope.list(Path::new("many")).unwrap();
    let (mut names, mut pieces) = (Vec::new(), 0);
    loop {
        let piece = listing.read_piece().unwrap();
        if piece.is_empty() {
            break;
        }
        assert!(piece.len() < 200, "a piece is bounded");
        pieces += 1;
        names.extend(piece);
    }
    assert!(pieces > 5);
    assert_eq!(names.len(), 1_001);
    let link = names.iter().find(|entry| entry.name == "link").unwrap();
    assert_eq!(link.kind, FileType::Symlink);
    let target = scope.resolve(Path::new("many/link"), LastLink::Follow);
    assert!(matches!(target, Err(FileAccessError::Outside { .. })), "{target:?}");
}
