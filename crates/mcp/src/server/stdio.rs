//! The protocol on two streams, our standard input and output: newline-delimited JSON, nothing else on the output.
//!
//! Law: a client that vanishes ends the server. Whatever waits to be written is written before that, as long as
//! somebody reads it.

use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;

use super::handler::{HostHandler, ToolHost};

/// The longest line that a client may send.
const MOST_LINE: usize = 64 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
/// Chunks that wait for us; past this the client waits.
const MOST_WAITING: usize = 16;

/// Serves one client until it closes our input, or the connection breaks.
pub async fn serve_stdio(
    host: Arc<dyn ToolHost>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), String> {
    let input = read_on_thread(input).map_err(|error| error.to_string())?;
    let (output, written) = write_on_thread(output).map_err(|error| error.to_string())?;
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MOST_LINE);
    let served = match HostHandler(host).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        // One that only looked and left has done nothing wrong.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    // The writer ends when the transport, and with it the channel, is gone.
    written.await.unwrap_or_default();
    served
}

/// Bytes of a thread that reads.
#[derive(Debug)]
struct ThreadReader {
    chunks: mpsc::Receiver<Vec<u8>>,
    rest: Vec<u8>,
    taken: usize,
}

/// Reads on a thread, because a terminal, a file and a socket are not read in one way otherwise.
fn read_on_thread(mut input: impl Read + Send + 'static) -> std::io::Result<ThreadReader> {
    let (sender, chunks) = mpsc::channel(MOST_WAITING);
    let read = move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = input.read(&mut buffer) {
            if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("mcp input".to_owned()).spawn(read)?;
    Ok(ThreadReader { chunks, rest: Vec::new(), taken: 0 })
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.taken == self.rest.len() {
            match self.chunks.poll_recv(context) {
                Poll::Ready(Some(chunk)) => (self.rest, self.taken) = (chunk, 0),
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
        let count = buffer.remaining().min(self.rest.len() - self.taken);
        buffer.put_slice(&self.rest[self.taken..self.taken + count]);
        self.taken += count;
        Poll::Ready(Ok(()))
    }
}

/// Bytes for a thread that writes.
#[derive(Debug)]
struct ThreadWriter(Option<mpsc::UnboundedSender<Vec<u8>>>);

/// The writer, and the news that its thread has ended.
fn write_on_thread(
    mut output: impl Write + Send + 'static,
) -> std::io::Result<(ThreadWriter, tokio::sync::oneshot::Receiver<()>)> {
    let (sender, mut chunks) = mpsc::unbounded_channel::<Vec<u8>>();
    let (ended, written) = tokio::sync::oneshot::channel();
    let write = move || {
        while let Some(chunk) = chunks.blocking_recv() {
            if output.write_all(&chunk).and_then(|()| output.flush()).is_err() {
                break;
            }
        }
        // Nobody may wait for it.
        ended.send(()).unwrap_or_default();
    };
    std::thread::Builder::new().name("mcp output".to_owned()).spawn(write)?;
    Ok((ThreadWriter(Some(sender)), written))
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let sent = self
            .0
            .as_ref()
            .ok_or_else(gone)
            .and_then(|sender| sender.send(bytes.to_vec()).map_err(|_| gone()));
        Poll::Ready(sent.map(|()| bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        self.0 = None;
        Poll::Ready(Ok(()))
    }
}
