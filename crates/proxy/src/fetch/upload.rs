//! The client's content on its way to the hop, piece by piece: what the hop doesn't take is not read
//! from the client.

use std::time::Duration;

use net::deadline::Deadline;
use net::half::WriteHalf;
use stats::{Cells, Counter};
use wire::http1::{LAST_CHUNK, write_chunk_head};

use crate::failure::{Failure, FailureKind, Side};
use crate::fetch::UploadError;
use crate::listen::client::{ClientError, ClientIn};

/// Where it goes.
pub(crate) struct To<'c> {
    pub(crate) write: WriteHalf,
    pub(crate) deadline: Deadline,
    /// For each piece.
    pub(crate) timeout: Duration,
    pub(crate) cells: &'c Cells,
}

/// Sends all content that `client` has for this request, then `after`, and gives the writing half back.
///
/// # Errors
///
/// Says whose fault it was.
pub(crate) async fn run(
    client: &mut ClientIn,
    mut to: To<'_>,
    (chunked, after): (bool, &[u8]),
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
        to.put(&[&size, piece, end]).await?;
    }
    if chunked {
        to.put(&[LAST_CHUNK]).await?;
    }
    if !after.is_empty() {
        to.put(&[after]).await?;
    }
    Ok(to.write)
}

impl To<'_> {
    async fn put(&mut self, parts: &[&[u8]]) -> Result<(), UploadError> {
        let writing = self.write.write_parts(parts);
        match self.deadline.limit(self.timeout, writing).await {
            Ok(Ok(())) => {
                let bytes: usize = parts.iter().map(|part| part.len()).sum();
                self.cells.add(Counter::HopBytesOut, bytes as u64);
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(UploadError::Hop),
        }
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
