//! The client's content on its way to the hop, piece by piece: what the hop doesn't take is not read
//! from the client.

use std::time::Duration;

use net::deadline::Deadline;
use net::half::WriteHalf;
use wire::http1::{LAST_CHUNK, write_chunk_head};

use crate::failure::{Failure, FailureKind, Side};
use crate::fetch::UploadError;
use crate::listen::client::{ClientError, ClientIn};

/// Sends all content that `client` has for this request, then `after`, and gives the writing half back.
///
/// # Errors
///
/// Says whose fault it was.
pub(crate) async fn run(
    client: &mut ClientIn,
    mut write: WriteHalf,
    (chunked, after): (bool, &[u8]),
    (deadline, timeout): (Deadline, Duration),
) -> Result<WriteHalf, UploadError> {
    let mut size = Vec::new();
    loop {
        let piece = client.next().await;
        let Some(piece) = piece.map_err(|error| UploadError::Client(failure_of(&error)))? else {
            break;
        };
        size.clear();
        let mut end: &[u8] = &[];
        if chunked {
            write_chunk_head(piece.len(), &mut size);
            end = b"\r\n";
        }
        put(&mut write, &deadline, timeout, &[&size, piece, end]).await?;
    }
    if chunked {
        put(&mut write, &deadline, timeout, &[LAST_CHUNK]).await?;
    }
    if !after.is_empty() {
        put(&mut write, &deadline, timeout, &[after]).await?;
    }
    Ok(write)
}

async fn put(
    write: &mut WriteHalf,
    deadline: &Deadline,
    timeout: Duration,
    parts: &[&[u8]],
) -> Result<(), UploadError> {
    match deadline.limit(timeout, write.write_parts(parts)).await {
        Ok(result) => result.map_err(|_error| UploadError::Hop),
        Err(_expired) => Err(UploadError::Hop),
    }
}

fn failure_of(error: &ClientError) -> Failure {
    let kind = match error {
        ClientError::Gone(_) => FailureKind::ClientGone,
        ClientError::TimedOut => FailureKind::RequestParseTimeout,
        ClientError::Bad(_) => FailureKind::InvalidReq,
        ClientError::TooBig => FailureKind::TooBig,
    };
    Failure::new(kind, Side::Client).with_detail(error.to_string())
}
