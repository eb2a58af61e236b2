//! The memory of a large download. This is the only test of its program, because the kernel reports
//! the peak of a whole process.

#![allow(clippy::unwrap_used, reason = "a test ends there")]

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use url::Url;
use wardian_download::{Downloader, DownloaderOptions, Fetch, Target};

const SIZE: u64 = 700 << 20;

/// Returns the highest resident memory of this process, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn memory_use_is_independent_of_file_size() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        assert!(stream.read(&mut buffer).await.unwrap() > 0);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {SIZE}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let chunk = vec![7; 1 << 20];
        for _ in 0..SIZE >> 20 {
            stream.write_all(&chunk).await.unwrap();
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large");
    let before = peak_memory();
    let target = Target { path: &path, expected: None, max_bytes: SIZE, size: Some(SIZE), label: "large" };
    let started = std::time::Instant::now();
    let downloader = Downloader::new(DownloaderOptions::default());
    let downloading = downloader.download(Fetch::get(url), target);
    let downloaded = tokio::time::timeout(Duration::from_mins(5), downloading).await.unwrap().unwrap();
    assert_eq!(downloaded.size, SIZE);
    let after = peak_memory();
    println!("peak memory: {before} KiB before, {after} KiB after; {:?}", started.elapsed());
    assert!(after < 60 * 1024, "{after} KiB");
}
