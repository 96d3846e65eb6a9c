//! A look at a volume from outside, while it is open and when it isn't.

use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::{Volume, made, noise, opened, options, stamps, wait};
use crate::disk::{Closeness, Listed, ListedContent, Survey};

const MIB: u64 = 1 << 20;

fn survey(path: &Path) -> Survey {
    Survey::open(options(path, 16 * MIB)).unwrap()
}

fn list(survey: &Survey, closeness: Closeness) -> Vec<Listed> {
    let mut all = Vec::new();
    survey.each(closeness, |listed| {
        all.push(listed);
        ControlFlow::Continue(())
    });
    all
}

/// Keys with the bytes of their bodies, in order.
fn sound(survey: &Survey, closeness: Closeness) -> Vec<(Bytes, u64)> {
    let all = list(survey, closeness).into_iter();
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

fn damaged(survey: &Survey, closeness: Closeness) -> usize {
    let damaged = |listed: &&Listed| matches!(listed.content, ListedContent::Damaged);
    list(survey, closeness).iter().filter(damaged).count()
}

fn filled(path: &Path) -> Arc<Volume> {
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

fn expected() -> [(Bytes, u64); 3] {
    let expected: [(&[u8], u64); 3] = [(b"a", 3000), (b"c", 3000), (b"large", 100_000)];
    expected.map(|(key, bytes)| (Bytes::from_static(key), bytes))
}

fn body(survey: &Survey, key: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let listed = survey.find(key).unwrap();
    let read = survey.read_body(&listed, |piece| {
        all.extend_from_slice(piece);
        Ok(())
    });
    read.unwrap();
    all
}

#[test]
fn all_that_can_be_found_is_found_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let volume = filled(folder.path());
    for open in [true, false] {
        if !open {
            volume.close().unwrap();
        }
        let survey = survey(folder.path());
        for closeness in [Closeness::Heads, Closeness::Bytes] {
            assert_eq!(
                sound(&survey, closeness),
                expected(),
                "{open} {closeness:?}"
            );
        }
        assert_eq!(survey.usage().records, 3);
        assert!(survey.damaged_chunks().is_empty());
        assert!(survey.find(b"b").is_none());
        assert_eq!(body(&survey, b"c"), noise(1, 3000));
        assert_eq!(body(&survey, b"large"), noise(2, 100_000));
    }
    assert!(!sound(&survey(folder.path()), Closeness::Bytes).is_empty());
    // It has changed nothing that counts.
    let again = opened(folder.path(), 16 * MIB);
    assert!(again.may_have(b"a") && !again.may_have(b"b"));
}

#[test]
fn what_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path()));
    let file = folder.path().join("squall.log");
    let log = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    let flip = |key: &[u8], at: u64| {
        let found = survey(folder.path()).find(key).unwrap();
        log.write_all_at(b"??", found.offset + at).unwrap();
    };
    flip(b"c", 1000);
    let seen = survey(folder.path());
    assert_eq!(damaged(&seen, Closeness::Heads), 0, "only its body is");
    assert_eq!(damaged(&seen, Closeness::Bytes), 1);
    let found = seen.find(b"c").unwrap();
    assert!(seen.read_body(&found, |_| Ok(())).is_err());
    flip(b"a", 66);
    let seen = survey(folder.path());
    assert_eq!(damaged(&seen, Closeness::Heads), 1, "its key is");
    assert_eq!(sound(&seen, Closeness::Bytes).len(), 1);
}

#[test]
fn a_fragment_that_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    drop(filled(folder.path()));
    let path = folder.path().join("squall.log");
    let mut bytes = std::fs::read(&path).unwrap();
    let piece = &noise(2, 100_000)[50_000..50_100];
    let at = bytes
        .windows(100)
        .position(|window| window == piece)
        .unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let seen = survey(folder.path());
    assert_eq!(damaged(&seen, Closeness::Heads), 0);
    assert_eq!(damaged(&seen, Closeness::Bytes), 1);
}

#[test]
fn a_chunk_that_is_damaged_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), 16 * MIB);
    for key in ["a", "b"] {
        volume
            .put(key.as_bytes(), b"", &[noise(1, 100)], stamps(1))
            .unwrap();
        volume.flush().unwrap();
    }
    drop(volume);
    let at = survey(folder.path()).find(b"a").unwrap().offset;
    let chunk = at / 4096 * 4096;
    let path = folder.path().join("squall.log");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[usize::try_from(chunk).unwrap()] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let seen = survey(folder.path());
    assert_eq!(seen.damaged_chunks(), [chunk]);
    assert_eq!(sound(&seen, Closeness::Bytes).len(), 1);
}

#[test]
fn what_is_overwritten_meanwhile_is_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let volume = made(folder.path(), MIB);
    volume
        .put(b"old", b"", &[noise(1, 3000)], stamps(1))
        .unwrap();
    volume.flush().unwrap();
    let before = survey(folder.path());
    for number in 0..2000_u32 {
        let body = [noise(u64::from(number), 3000)];
        while volume
            .put(&number.to_le_bytes(), b"", &body, stamps(1))
            .is_err()
        {
            std::thread::yield_now();
        }
    }
    volume.flush().unwrap();
    for closeness in [Closeness::Heads, Closeness::Bytes] {
        let outlived = |listed: &Listed| matches!(listed.content, ListedContent::Outlived);
        let found = list(&before, closeness);
        assert!(found.len() == 1 && found.iter().all(outlived), "{found:?}");
    }
    assert_eq!(damaged(&survey(folder.path()), Closeness::Bytes), 0);
}
