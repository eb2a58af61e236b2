//! A connection with several users, each with a separate authority.

use std::sync::Arc;

use wardian_communicator::{FailureKind, RemoteConnection};

use crate::sshd::{Records, Sshd, recorded, run};

fn users(connection: &RemoteConnection, refuses: &[String]) -> (Arc<Records>, RemoteConnection) {
    let records = Arc::new(Records::default());
    records.refuses.lock().unwrap().extend_from_slice(refuses);
    let shared = connection.on_behalf_of(records.clone());
    (records, shared)
}

#[tokio::test]
async fn each_user_of_a_shared_connection_is_authorized_and_recorded() {
    let Some(sshd) = Sshd::start("") else { return };
    let nobody = Arc::<Records>::default();
    let connection = recorded(&sshd.values(), &nobody);
    let (first, one) = users(&connection, &[]);
    let (second, two) = users(&connection, &[]);
    one.connect().await.unwrap();
    for _ in 0..10 {
        assert_eq!(run(&one, "echo a").await.unwrap().text(), "a\n");
        assert_eq!(run(&two, "head -c 100000 /dev/zero").await.unwrap().stdout.len(), 100_000);
    }
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
    let asked = [format!("127.0.0.1 {}", sshd.port), "127.0.0.1 at 127.0.0.1".to_owned()];
    assert_eq!(
        (&*first.asked.lock().unwrap(), &*second.asked.lock().unwrap()),
        (&asked.to_vec(), &asked.to_vec())
    );
    drop(two);
    let of_second = second.ended.lock().unwrap()[0].clone();
    assert!(of_second.received > 100_000 && of_second.address.is_some(), "{of_second:?}");
    assert!(first.ended.lock().unwrap().is_empty());
    drop(one);
    assert_eq!(first.ended.lock().unwrap().len(), 1);
    assert!(nobody.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn denied_user_cannot_reuse_open_connection() {
    let Some(sshd) = Sshd::start("") else { return };
    let connection = sshd.connection();
    connection.connect().await.unwrap();
    for refused in [format!("127.0.0.1 {}", sshd.port), "127.0.0.1 at 127.0.0.1".to_owned()] {
        let (records, other) = users(&connection, &[refused]);
        let error = run(&other, "true").await.unwrap_err();
        assert_eq!(error.kind(), FailureKind::Denied, "{error}");
        assert!(records.ended.lock().unwrap().is_empty(), "nothing was used");
    }
    assert!(run(&connection, "true").await.is_ok());
    // When a name is checked, the address of the open connection is checked as well.
    let mut values = sshd.values();
    values.push(("host", "localhost".into()));
    let connection = crate::sshd::connection(&values);
    connection.connect().await.unwrap();
    let (records, other) = users(&connection, &["localhost at 127.0.0.1".to_owned()]);
    let error = run(&other, "true").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Denied, "{error}");
    assert_eq!(records.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn upload_is_authorized_by_resolved_path() {
    let Some(sshd) = Sshd::start("") else { return };
    let root = sshd.directory.path().canonicalize().unwrap();
    for directory in ["tree", "elsewhere", "to"] {
        std::fs::create_dir(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("tree/a"), "a").unwrap();
    std::fs::write(root.join("elsewhere/secret"), "hush").unwrap();
    std::os::unix::fs::symlink("../elsewhere/secret", root.join("tree/b")).unwrap();
    let secret = format!("read {}", root.join("elsewhere/secret").display());
    let to = root.join("to").to_str().unwrap().to_owned();
    let source = root.join("tree/").to_str().unwrap().to_owned();
    let connection = sshd.connection();
    let (records, refused) = users(&connection, std::slice::from_ref(&secret));
    let error = refused.upload_path(&source, &to).await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Denied, "{error}");
    assert!(!root.join("to/b").exists());
    assert!(records.asked.lock().unwrap().contains(&format!("read {}", root.join("tree").display())));
    let (_, granted) = users(&connection, &[]);
    granted.upload_path(&source, &to).await.unwrap();
    assert_eq!(std::fs::read_to_string(root.join("to/b")).unwrap(), "hush");
}
