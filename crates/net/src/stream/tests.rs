//! What streams promise.

use std::pin::pin;
use std::task::Waker;

use super::*;
use crate::testing::{on_worker, pair};

/// Polls once, as a task would that is not woken.
fn once<T>(work: impl Future<Output = T>) -> Poll<T> {
    pin!(work).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn bytes_written_in_parts_are_read_in_order() {
    on_worker(async {
        let (mut ours, mut theirs) = pair().await;
        let parts = [&b"head"[..], b"", b" and ", b"body"];
        let mut slices = parts.map(IoSlice::new);
        ours.write_all_vectored(&mut slices).await.unwrap();
        ours.shutdown_write().unwrap();
        let mut got = Vec::with_capacity(100);
        while theirs.read(&mut got).await.unwrap() > 0 {}
        assert_eq!(got, b"head and body");
    });
}

#[test]
fn writing_nothing_is_done_at_once() {
    on_worker(async {
        let (mut ours, _theirs) = pair().await;
        ours.write_all(b"").await.unwrap();
        let mut slices = [IoSlice::new(b""), IoSlice::new(b"")];
        ours.write_all_vectored(&mut slices).await.unwrap();
    });
}

#[test]
fn much_more_than_the_socket_takes_arrives_whole() {
    on_worker(async {
        let (mut ours, mut theirs) = pair().await;
        let sent: Vec<u8> = (0..20_000_000_u32).map(|i| i.to_le_bytes()[1]).collect();
        let expected = sent.clone();
        let writer = tokio::task::spawn_local(async move {
            let mut slices: Vec<_> = sent.chunks(10_007).map(IoSlice::new).collect();
            ours.write_all_vectored(&mut slices).await.unwrap();
        });
        let mut got = Vec::with_capacity(expected.len() + 1);
        while theirs.read(&mut got).await.unwrap() > 0 {}
        writer.await.unwrap();
        assert!(got == expected);
    });
}

#[test]
fn a_pooled_read_holds_a_buffer_only_while_there_are_bytes() {
    on_worker(async {
        let (mut ours, mut theirs) = pair().await;
        let buffers = Buffers::default();
        let mut slot = None;
        assert!(once(ours.read_pooled(&mut slot, &buffers)).is_pending());
        assert!(slot.is_none() && buffers.in_use() == 0);

        theirs.write_all(b"half a head").await.unwrap();
        assert_eq!(ours.read_pooled(&mut slot, &buffers).await.unwrap(), 11);
        assert!(once(ours.read_pooled(&mut slot, &buffers)).is_pending());
        assert_eq!(slot.as_ref().unwrap().as_slice(), b"half a head");

        theirs.write_all(b", the rest").await.unwrap();
        ours.read_pooled(&mut slot, &buffers).await.unwrap();
        assert_eq!(slot.take().unwrap().as_slice(), b"half a head, the rest");

        drop(theirs);
        assert_eq!(ours.read_pooled(&mut slot, &buffers).await.unwrap(), 0);
        assert!(slot.is_none() && buffers.in_use() == 0);
    });
}

#[test]
fn a_short_read_waits_for_an_event_before_the_next() {
    on_worker(async {
        let (mut ours, mut theirs) = pair().await;
        theirs.write_all(b"abc").await.unwrap();
        let mut got = Vec::with_capacity(64);
        ours.read(&mut got).await.unwrap();
        assert!(once(ours.read_ready()).is_pending());
        theirs.write_all(b"def").await.unwrap();
        ours.read_ready().await.unwrap();
        ours.read(&mut got).await.unwrap();
        assert_eq!(got, b"abcdef");
    });
}

#[test]
fn an_idle_connection_is_told_from_a_closed_and_a_chatty_one() {
    on_worker(async {
        let (ours, mut theirs) = pair().await;
        assert_eq!(ours.idle_state(), Idle::Quiet);
        assert_eq!(ours.idle_state_by_events(), Idle::Quiet);

        theirs.write_all(b"!").await.unwrap();
        ours.read_ready().await.unwrap();
        assert_eq!(ours.idle_state(), Idle::Surplus);
        assert_eq!(ours.idle_state_by_events(), Idle::Surplus);

        let (ours, theirs) = pair().await;
        drop(theirs);
        ours.read_ready().await.unwrap();
        assert_eq!(ours.idle_state(), Idle::Closed);
        assert_eq!(ours.idle_state_by_events(), Idle::Closed);
    });
}

#[test]
fn an_aborted_connection_is_reset() {
    on_worker(async {
        let (ours, mut theirs) = pair().await;
        ours.abort();
        let error = theirs.read(&mut Vec::with_capacity(8)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(theirs.idle_state(), Idle::Closed);
    });
}

#[test]
fn mapped_addresses_are_ipv4_addresses() {
    on_worker(async {
        let (ours, _theirs) = pair().await;
        let Transport::Tcp(tcp) = ours.transport;
        let mapped = "[::ffff:10.0.0.1]:80".parse().unwrap();
        let stream = Stream::tcp(tcp, mapped, mapped);
        assert_eq!(stream.peer_addr(), "10.0.0.1:80".parse().unwrap());
        assert_eq!(stream.local_addr(), "10.0.0.1:80".parse().unwrap());
    });
}

#[test]
fn a_bound_on_unsent_bytes_fills_the_socket_sooner() {
    on_worker(async {
        let (mut ours, _theirs) = pair().await;
        let megabytes = vec![0; 64 << 20];
        ours.set_unsent_bytes_max(64 * 1024).unwrap();
        assert!(once(ours.write_all(&megabytes)).is_pending());
    });
}

#[test]
fn a_stream_is_small() {
    assert!(size_of::<Stream>() <= 104, "{}", size_of::<Stream>());
}
