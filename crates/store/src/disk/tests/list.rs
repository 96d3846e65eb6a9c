//! A look through all that is stored.

use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;

use bytes::Bytes;

use super::{Volume, get, made, noise, stamps, wait};
use crate::disk::{Listed, ListedContent};

const MIB: u64 = 1 << 20;

fn list(volume: &Volume) -> Vec<Listed> {
    let mut all = Vec::new();
    volume.list(|listed| {
        all.push(listed);
        ControlFlow::Continue(())
    });
    all
}

/// Keys with the bytes of their bodies, in order.
fn sound(volume: &Volume) -> Vec<(Bytes, u64)> {
    let all = list(volume).into_iter();
    let sound = all.filter_map(|listed| match listed.content {
        ListedContent::Sound {
            key, body_bytes, ..
        } => Some((key, body_bytes)),
        ListedContent::Outlived | ListedContent::Damaged => None,
    });
    let mut sound: Vec<_> = sound.collect();
    sound.sort();
    sound
}

fn filled(path: &std::path::Path) -> std::sync::Arc<Volume> {
    let volume = made(path, 16 * MIB);
    for key in ["a", "b", "a", "c"] {
        volume
            .put(key.as_bytes(), b"meta", &[noise(1, 3000)], stamps(1))
            .unwrap();
    }
    volume.remove(b"b");
    let mut writing = volume.begin(b"large", None).unwrap();
    let mut body = Bytes::from(noise(2, 100_000));
    wait(|cx| writing.poll_append(&mut body, cx)).unwrap();
    wait(|cx| writing.poll_finish(b"meta", stamps(2), cx)).unwrap();
    volume.flush().unwrap();
    volume
}

#[test]
fn all_that_can_be_found_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let volume = filled(folder.path());
    assert!(get(&volume, b"c").is_some());
    let expected: [(&[u8], u64); 3] = [(b"a", 3000), (b"c", 3000), (b"large", 100_000)];
    let expected = expected.map(|(key, bytes)| (Bytes::from_static(key), bytes));
    assert_eq!(sound(&volume), expected);
    assert_eq!(
        list(&volume).iter().map(|listed| listed.uses).sum::<u32>(),
        1
    );
    let mut shown = 0;
    volume.list(|_| {
        shown += 1;
        ControlFlow::Break(())
    });
    assert_eq!(shown, 1);
}

#[test]
fn what_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let volume = filled(folder.path());
    let log = std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("squall.log"))
        .unwrap();
    for listed in list(&volume) {
        if matches!(&listed.content, ListedContent::Sound { key, .. } if key == "c") {
            log.write_all_at(b"?", listed.offset + 1000).unwrap();
        }
    }
    let damaged = |listed: &&Listed| matches!(listed.content, ListedContent::Damaged);
    assert_eq!(list(&volume).iter().filter(damaged).count(), 1);
    assert_eq!(sound(&volume).len(), 2);
}
