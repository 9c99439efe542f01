//! Counts what is told, as lightly as can be: on the machine under test, whatever the reader takes is missing from what is measured.

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// How much is read at once.
const BUFFER: usize = 1 << 20;

/// A subscription that reads frames and looks into none: the text protocol of NATS, as its documentation has it.
pub(super) struct Tap {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Tap {
    /// Subscribes; what is published after this returns is counted.
    pub async fn open(nats: &str, subject: &str) -> anyhow::Result<Self> {
        let address = nats.strip_prefix("nats://").unwrap_or(nats);
        let stream = BufReader::with_capacity(BUFFER, TcpStream::connect(address).await?);
        let mut tap = Self { stream, line: Vec::new() };
        let hello = format!("CONNECT {{\"verbose\":false,\"headers\":true}}\r\nSUB {subject} 1\r\nPING\r\n");
        tap.stream.write_all(hello.as_bytes()).await?;
        while tap.line().await? != "PONG" {}
        Ok(tap)
    }

    /// Waits for the next message.
    pub async fn next(&mut self) -> anyhow::Result<()> {
        loop {
            let line = self.line().await?;
            if line.starts_with("HMSG ") || line.starts_with("MSG ") {
                let size: usize = line.rsplit(' ').next().unwrap_or_default().parse()?;
                return self.skip(size + 2).await;
            }
            match line {
                "PING" => self.stream.write_all(b"PONG\r\n").await?,
                "+OK" | "PONG" => {}
                _ if line.starts_with("INFO ") => {}
                other => bail!("the broker said {other}"),
            }
        }
    }

    async fn line(&mut self) -> anyhow::Result<&str> {
        self.line.clear();
        self.stream.read_until(b'\n', &mut self.line).await?;
        let line = self.line.strip_suffix(b"\r\n").context("the connection was closed")?;
        Ok(std::str::from_utf8(line)?)
    }

    async fn skip(&mut self, mut bytes: usize) -> anyhow::Result<()> {
        while bytes > 0 {
            let there = self.stream.fill_buf().await?.len().min(bytes);
            if there == 0 {
                bail!("the connection was closed");
            }
            self.stream.consume(there);
            bytes -= there;
        }
        Ok(())
    }
}
