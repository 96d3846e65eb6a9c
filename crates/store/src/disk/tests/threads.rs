//! Many threads at once: what is found is always something that was stored under its key, and nothing that this thread has
//! removed or replaced before.

use super::{Volume, VolumeUsage, body, folder, get, made, noise, opened, stamps};
use crate::disk::Refused;
use crate::sync::{Arc, thread};

const BYTES: u64 = 4 << 20;
const THREADS: u64 = 4;
const KEYS: u64 = 50;

fn name(thread: u64, key: u64) -> Vec<u8> {
    format!("key {key} of {thread}").into_bytes()
}

fn check(volume: &Volume, thread: u64, key: u64, newest: Option<u64>) {
    let Some(stored) = get(volume, &name(thread, key)) else {
        return;
    };
    assert_eq!(stored.key, name(thread, key));
    let number = stored.stamps.judged;
    assert!(body(&stored) == noise(number, body(&stored).len()));
    assert_eq!(Some(number), newest, "key {key} of {thread}");
}

/// Stores, finds and removes keys of its own, and finds those of others.
fn work(volume: &Volume, thread: u64, steps: u64) -> Vec<Option<u64>> {
    let mut newest = vec![None; KEYS as usize];
    for step in 0..steps {
        let chance = noise(thread << 32 | step, 8);
        let key = u64::from(chance[0]) % KEYS;
        match chance[1] % 8 {
            0..3 => {
                let number = thread << 32 | step;
                let bytes = usize::from(chance[2]) * 60;
                // Without it, most would be refused.
                while volume.usage().segments_free < 5 {
                    thread::yield_now();
                }
                let stored = volume.put(
                    &name(thread, key),
                    b"",
                    &[noise(number, bytes)],
                    stamps(number),
                );
                match stored {
                    Ok(()) => newest[key as usize] = Some(number),
                    Err(refused) => assert!(matches!(refused, Refused::Busy | Refused::Full)),
                }
            }
            3 => {
                volume.remove(&name(thread, key));
                newest[key as usize] = None;
            }
            4..7 => check(volume, thread, key, newest[key as usize]),
            _ => drop(get(volume, &name((thread + 1) % THREADS, key))),
        }
    }
    newest
}

#[test]
fn threads_do_not_mix_things_up() {
    let usage = mix(BYTES, 3000);
    assert!(
        usage.bytes_written > 3 * BYTES && usage.reinserts > 0,
        "{usage:?}"
    );
}

/// Has each thread take so many steps in a volume of so many bytes.
pub(super) fn mix(bytes: u64, steps: u64) -> VolumeUsage {
    let folder = folder();
    let volume = made(folder.path(), bytes);
    let workers = (0..THREADS).map(|thread| {
        let volume = Arc::clone(&volume);
        thread::spawn(move || work(&volume, thread, steps))
    });
    let workers: Vec<_> = workers.collect();
    let newest: Vec<_> = workers
        .into_iter()
        .map(|worker| worker.join().unwrap())
        .collect();
    let check_all = |volume: &Volume| {
        for (thread, newest) in newest.iter().enumerate() {
            for (key, newest) in newest.iter().enumerate() {
                check(volume, thread as u64, key as u64, *newest);
            }
        }
    };
    check_all(&volume);
    volume.flush().unwrap();
    let usage = volume.usage();
    drop(volume);
    let volume = opened(folder.path(), bytes);
    check_all(&volume);
    assert_eq!(volume.usage().wrong, 0);
    usage
}
