//! Images: round trips, also while the index changes, and what damage costs.

use std::sync::Mutex;
use std::thread;

use super::*;
use crate::disk::index::{Index, Inserted, Place, SizeCode, Uses};

const VOLUME: [u8; 16] = *b"0123456789abcdef";

fn hash(key: u32) -> u64 {
    u64::from(key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn place(granule: u32) -> Place {
    let size = SizeCode::of_bytes(granule % 9_000 + 1);
    Place { granule, size }
}

fn empty() -> Index {
    Index::new(1_000, 4_000_000).unwrap()
}

fn filled(keys: u32) -> Index {
    let index = empty();
    for key in 0..keys {
        assert_eq!(index.insert(hash(key), place(key)), Inserted::Added);
        index.set_uses(hash(key), place(key), Uses::new(key % 50, 64 * key));
    }
    index
}

fn write(index: &Index, file: &File, generation: u64) -> Title {
    let mut writer = ImageWriter::new(index, generation, 42);
    while writer.step(index, file).unwrap() {}
    writer.finish(index, &VOLUME, file).unwrap()
}

/// Restores all that is wanted into `index`; says how many blocks were lost.
fn read(index: &Index, file: &File, wanted: impl Fn(u64) -> bool) -> u32 {
    let title = Title::read(file, &VOLUME).unwrap().expect("a whole image");
    let mut reader = ImageReader::new(index, title).expect("of the same form");
    while reader.step(index, file, |known, _| wanted(known)).unwrap() {}
    reader.lost_blocks()
}

fn holds(index: &Index, key: u32) -> bool {
    index.find(hash(key)).contains(&place(key))
}

#[test]
fn an_image_gives_back_places_and_uses() {
    // The largest has several blocks; some are taken in the middle of growth.
    for keys in [0, 1, 905, 950, 30_000, 300_000] {
        let file = tempfile::tempfile().unwrap();
        let title = write(&filled(keys), &file, 7);
        assert_eq!(
            (title.generation, title.lsn, title.places),
            (7, 42, keys.into())
        );
        assert_eq!(Title::read(&file, &VOLUME).unwrap(), Some(title));
        let index = empty();
        assert_eq!(read(&index, &file, |_| true), 0);
        assert_eq!((index.len(), index.dropped()), (keys as usize, 0));
        for key in 0..keys {
            assert!(holds(&index, key), "{key} of {keys}");
            let uses = index.uses(hash(key), place(key));
            assert_eq!(uses, Some(Uses::new(key % 50, 64 * key)));
        }
    }
}

#[test]
fn what_is_not_wanted_is_left_out() {
    let file = tempfile::tempfile().unwrap();
    write(&filled(2_000), &file, 1);
    let index = empty();
    let unwanted = index.known_of(hash(77));
    read(&index, &file, |known| known != unwanted);
    assert!(!holds(&index, 77));
    assert_eq!(index.len(), 1_999);
}

#[test]
fn it_is_restored_into_an_index_in_use() {
    let file = tempfile::tempfile().unwrap();
    write(&filled(50_000), &file, 1);
    let index = empty();
    for key in 50_000..53_000 {
        index.insert(hash(key), place(key));
    }
    read(&index, &file, |_| true);
    assert!((0..53_000).all(|key| holds(&index, key)));
    assert_eq!(index.len(), 53_000);
}

#[test]
fn an_image_is_taken_while_the_index_changes() {
    let file = tempfile::tempfile().unwrap();
    let index = filled(200_000);
    let mut writer = ImageWriter::new(&index, 1, 42);
    let mut key = 200_000;
    while writer.step(&index, &file).unwrap() {
        // Growth goes on between blocks: what has moved is further on, and is met again.
        for _ in 0..20_000 {
            index.insert(hash(key), place(key));
            key += 1;
        }
    }
    writer.finish(&index, &VOLUME, &file).unwrap();
    let restored = empty();
    assert_eq!(read(&restored, &file, |_| true), 0);
    let lost = (0..200_000).filter(|key| !holds(&restored, *key)).count();
    assert_eq!(lost, 0);
}

#[test]
fn a_damaged_block_costs_what_was_in_it() {
    let file = tempfile::tempfile().unwrap();
    let title = write(&filled(300_000), &file, 1);
    assert!(title.blocks > 3);
    for damaged in [0, 1, title.blocks - 1] {
        let at = block_at(damaged) + 5_000;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        let index = empty();
        assert_eq!(read(&index, &file, |_| true), 1);
        assert!(index.len() > 150_000);
        assert!((0..300_000).filter(|key| holds(&index, *key)).count() <= index.len());
        file.write_all_at(&byte, at).unwrap();
    }
    file.set_len(block_at(2)).unwrap();
    assert_eq!(read(&empty(), &file, |_| true), title.blocks - 2);
}

#[test]
fn blocks_of_another_image_are_not_taken() {
    let file = tempfile::tempfile().unwrap();
    write(&filled(300_000), &file, 1);
    let index = filled(100_000);
    let mut writer = ImageWriter::new(&index, 2, 42);
    // Begun, and cut off by a loss of power.
    writer.step(&index, &file).unwrap();
    assert_eq!(read(&empty(), &file, |_| true), 1);
}

#[test]
fn no_file_that_is_none_is_taken_for_an_image() {
    let file = tempfile::tempfile().unwrap();
    assert_eq!(Title::read(&file, &VOLUME).unwrap(), None);
    write(&filled(10), &file, 1);
    assert_eq!(Title::read(&file, b"another volume..").unwrap(), None);
    let mut page = vec![0; TITLE_BYTES];
    file.read_exact_at(&mut page, 0).unwrap();
    for (at, byte) in page.iter().take(size_of::<TitleBytes>()).enumerate() {
        file.write_all_at(&[byte ^ 0x10], at as u64).unwrap();
        assert_eq!(Title::read(&file, &VOLUME).unwrap(), None, "byte {at}");
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    let title = Title::read(&file, &VOLUME).unwrap().unwrap();
    let other_size = Index::new(2_000, 4_000_000).unwrap();
    assert!(ImageReader::new(&other_size, title).is_none());
}

#[test]
fn finders_and_writers_go_on_while_it_is_taken_and_restored() {
    let file = tempfile::tempfile().unwrap();
    write(&filled(100_000), &file, 1);
    let index = empty();
    let newest = Mutex::new(100_000);
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in 100_000..110_000 {
                index.insert(hash(key), place(key));
                *newest.lock().unwrap() = key;
            }
        });
        scope.spawn(|| read(&index, &file, |_| true));
        while *newest.lock().unwrap() < 109_999 {
            let key = *newest.lock().unwrap();
            assert!(key == 100_000 || holds(&index, key), "{key}");
        }
    });
    assert!((0..110_000).all(|key| holds(&index, key)));
}
