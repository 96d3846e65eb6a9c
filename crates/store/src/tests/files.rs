//! Bodies in files of memory: the same bytes as on the heap, whoever reads them and whenever.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;
use crate::{Body, FileSlice, Files, Slice};

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;

fn store_with(files: Files, options: &Options) -> TestStore {
    Store::new(Options {
        files: Some(files),
        file_bytes_min: 100 * KB,
        ..options.clone()
    })
}

/// Whatever pages there are to be had here.
fn all_files() -> Vec<Files> {
    let large = Files::in_large_pages();
    large.into_iter().chain([Files::in_any_pages()]).collect()
}

fn in_files() -> TestStore {
    let options = Options {
        object_bytes_max: 64 * MB,
        ..Options::default()
    };
    store_with(Files::in_any_pages(), &options)
}

fn fill(
    store: &TestStore,
    url: &str,
    from: u64,
    length: u64,
    announced: bool,
) -> Arc<Object<Meta>> {
    let (object, mut filler) = publish(store, url, announced.then_some(length), Keep::Store);
    for at in (0..length).step_by(50_000) {
        let bytes = (length - at).min(50_000) as usize;
        filler.append(&pattern(from + at, bytes)).unwrap();
    }
    filler.finish().unwrap();
    object
}

/// The body as one part of a file.
fn file_of(object: &Arc<Object<Meta>>) -> FileSlice {
    let Poll::Ready(Some(Ok(Slice::File(file)))) = object.reader().next_now() else {
        panic!("not in a file")
    };
    assert_eq!(Some(file.len()), object.length());
    file
}

fn is_on_heap(object: &Arc<Object<Meta>>) -> bool {
    match object.body() {
        Body::Whole(_) => true,
        Body::Pages(pages) => pages.slices().all(|slice| matches!(slice, Slice::Heap(_))),
        Body::Disk(_) | Body::Pieces(_) | Body::Filling(_) => false,
    }
}

#[test]
fn a_finished_large_body_is_one_part_of_a_file() {
    for files in all_files() {
        let store = store_with(
            files,
            &Options {
                object_bytes_max: 64 * MB,
                ..Options::default()
            },
        );
        for (length, announced) in [
            (100 * KB, true),
            (3 * MB + 7, true),
            (100 * KB, false),
            (3 * MB + 7, false),
        ] {
            let object = fill(&store, "a", 0, length, announced);
            assert_eq!(file_of(&object).offset(), 0);
            assert_eq!(body(&object), pattern(0, length as usize));
            assert_eq!(store.usage().bytes, 1 + META_BYTES + length);
            drop(object);
            store.purge();
            assert_eq!(store.usage().bytes, 0);
        }
    }
}

#[test]
fn a_small_body_and_one_only_shared_stay_on_the_heap() {
    let store = in_files();
    assert!(is_on_heap(&fill(&store, "a", 0, 100 * KB - 1, true)));
    assert!(is_on_heap(&fill(&store, "b", 0, 100 * KB - 1, false)));
    let (object, mut filler) = publish(&store, "c", Some(MB), Keep::ShareOnly);
    filler.append(&pattern(0, MB as usize)).unwrap();
    let mut reader = object.reader();
    while let Poll::Ready(Some(Ok(slice))) = reader.next_now() {
        assert!(matches!(slice, Slice::Heap(_)));
    }
}

#[test]
fn ranges_are_read_across_what_is_in_the_file_and_what_is_not_yet() {
    let store = in_files();
    let length = 2 * MB + 100;
    let source = pattern(0, length as usize);
    let (object, mut filler) = publish(&store, "a", Some(length), Keep::Store);
    let check = |received: u64| {
        for (from, to) in [
            (0, 1),
            (256 * KB - 1, 256 * KB + 1),
            (4095, 4097),
            (100, 900_000),
            (MB, length),
        ] {
            let mut reader = object.reader();
            reader.seek(from);
            reader.stop_at(to);
            let (got, end) = drain(&mut reader);
            let to = to.min(received);
            let expected = source.get(from as usize..to as usize).unwrap_or_default();
            assert_eq!(got, expected, "{from}..{to} of {received}");
            assert!(matches!(end, None | Some(Ok(()))));
        }
    };
    for chunk in source.chunks(70_000) {
        filler.append(chunk).unwrap();
        check(filler.received());
    }
    filler.finish().unwrap();
    check(length);
}

#[test]
fn readers_on_many_threads_follow_a_body_into_its_file() {
    let store = in_files();
    let length = 5 * MB + 123;
    for announced in [Some(length), None] {
        let (object, mut filler) = publish(&store, "a", announced, Keep::Store);
        thread::scope(|scope| {
            for number in 0..4 {
                let mut reader = object.reader();
                scope.spawn(move || {
                    let mut at = number * 1000;
                    reader.seek(at);
                    while let Some(slice) = block_on(reader.next()) {
                        let bytes = slice.unwrap().to_bytes().unwrap();
                        assert!(bytes == pattern(at, bytes.len()), "at {at}");
                        at += bytes.len() as u64;
                    }
                    assert_eq!(at, length);
                });
            }
            for at in (0..length).step_by(30_000) {
                let bytes = (length - at).min(30_000) as usize;
                filler.append(&pattern(at, bytes)).unwrap();
            }
            filler.finish().unwrap();
        });
        assert_eq!(body(&object), pattern(0, length as usize));
    }
}

#[test]
fn a_cut_body_in_a_file_gives_what_it_has_and_then_the_error() {
    let store = in_files();
    let (object, mut filler) = publish(&store, "a", Some(2 * MB), Keep::Store);
    filler.append(&pattern(0, 700_000)).unwrap();
    drop(filler);
    assert_eq!(
        drain(&mut object.reader()),
        (pattern(0, 700_000), Some(Err(ReadError::Cut)))
    );
    drop(object);
    assert_eq!(store.usage().bytes, 0);
}

#[test]
fn beyond_the_number_of_files_bodies_lie_on_the_heap() {
    let options = Options {
        files_max: 1,
        object_bytes_max: 64 * MB,
        ..Options::default()
    };
    let store = store_with(Files::in_any_pages(), &options);
    let first = fill(&store, "a", 0, MB, true);
    assert!(!is_on_heap(&first));
    let second = fill(&store, "b", 5, MB, true);
    assert!(is_on_heap(&second));
    assert_eq!(body(&second), pattern(5, 1 << 20));
    store.remove(key("a"));
    drop(first);
    assert!(!is_on_heap(&fill(&store, "c", 0, MB, true)));
}

#[test]
fn where_a_file_takes_no_more_the_body_goes_on_on_the_heap() {
    let Some(files) = Files::of_size(600 * KB) else {
        return; // Not root: no file system of our own to fill up.
    };
    let options = Options {
        object_bytes_max: 64 * MB,
        ..Options::default()
    };
    let store = store_with(files, &options);
    let object = fill(&store, "a", 0, 2 * MB, true);
    let Body::Pages(pages) = object.body() else {
        panic!("not in pages")
    };
    let kinds: Vec<bool> = pages
        .slices()
        .map(|slice| matches!(slice, Slice::File(_)))
        .collect();
    assert!(kinds.starts_with(&[true, false]), "{kinds:?}");
    assert_eq!(body(&object), pattern(0, 2 << 20));
    let mut reader = object.reader();
    reader.seek(500_000);
    reader.stop_at(600_000);
    assert_eq!(drain(&mut reader).0, pattern(500_000, 100_000));
    assert_eq!(store.usage().bytes, 1 + META_BYTES + 2 * MB);
}

#[test]
fn a_body_that_outgrows_the_limit_leaves_its_file_behind() {
    let options = Options {
        object_bytes_max: MB,
        gap_bytes_max: 64 * KB,
        join_bytes_max: 512 * KB,
        ..Options::default()
    };
    let store = store_with(Files::in_any_pages(), &options);
    let (object, mut filler) = publish(&store, "a", None, Keep::Store);
    let (mut fast, mut slow) = (object.reader(), object.reader());
    slow.seek(10);
    assert!(poll(|cx| slow.poll_next(cx)).is_pending());
    let mut read = 0;
    for _ in 0..100 {
        let at = filler.received();
        filler.append(&pattern(at, 32 << 10)).unwrap();
        let (bytes, end) = drain(&mut fast);
        assert_eq!((bytes, end), (pattern(read, 32 << 10), None));
        read += 32 * KB;
        assert!(store.usage().bytes <= MB + 32 * KB + 1 + META_BYTES);
    }
    assert_eq!(filler.keep(), Keep::ShareOnly);
    assert!(store.usage().bytes <= 512 * KB + 1 + META_BYTES);
    assert_eq!(drain(&mut slow).1, Some(Err(ReadError::Lost { at: 10 })));
    filler.finish().unwrap();
    assert_eq!(drain(&mut fast), (Vec::new(), Some(Ok(()))));
    drop((object, fast, slow));
    assert_eq!(store.usage().bytes, 0);
}

/// The pages in a socket's queue are those of the file. They must not change when the body is gone and its memory is
/// used for others.
#[test]
fn what_is_in_flight_stays_as_it_was_when_the_body_is_evicted() {
    for files in all_files() {
        let memory_bytes_max = 5 * MB;
        let options = Options {
            memory_bytes_max,
            object_bytes_max: memory_bytes_max,
            ..Options::default()
        };
        let store = store_with(files, &options);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut readers = Vec::new();
        for round in 0..20 {
            let object = fill(
                &store,
                &format!("{round}"),
                round * MB,
                2 * MB - 5,
                round % 2 == 0,
            );
            let file = file_of(&object);
            drop(object);
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            server.set_nonblocking(true).unwrap();
            let mut offset = file.offset() + 3;
            // As much as the socket takes; nobody reads yet.
            let sent =
                rustix::fs::sendfile(&server, &file, Some(&mut offset), file.len() as usize - 3)
                    .unwrap();
            assert!(sent > 100_000, "{sent}");
            drop(file);
            if round % 3 == 0 {
                store.purge();
            }
            readers.push((round, sent, client, server));
        }
        assert!(store.usage().bytes <= memory_bytes_max);
        for (round, sent, mut client, mut server) in readers {
            server.flush().unwrap();
            drop(server);
            let mut got = Vec::new();
            client.read_to_end(&mut got).unwrap();
            assert!(got == pattern(round * MB + 3, sent), "round {round}");
        }
    }
}
