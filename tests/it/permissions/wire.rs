//! A client that speaks to the broker word by word. Libraries tell of a refusal some time later, or only by a silence; here a question follows
//! each attempt, and the broker answers in order.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::table::Answer;
use crate::support::PATIENCE;

/// The subscription of the inbox; those made later have a number.
const INBOX: &str = "inbox";

/// A connection of one user, who hears what is sent to the inbox.
pub struct Wire {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    inbox: String,
    asked: u32,
    heard: Vec<Heard>,
}

/// A message that came.
#[derive(Debug, Clone)]
pub struct Heard {
    /// As it was published: an answer that is a stored message comes under that message's own subject.
    pub subject: String,
    /// The number of the subscription.
    subscription: String,
    /// The first line of its headers, where it has some.
    pub status: String,
    pub body: Vec<u8>,
}

impl Heard {
    /// Its body, and null where that is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// One line of the protocol.
enum Line {
    Pong,
    Error(String),
    Other,
}

impl Wire {
    /// Logs in with a seed, or as nobody.
    ///
    /// # Errors
    /// What the broker said to it.
    pub async fn log_in(url: &str, seed: Option<&str>, inbox: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(url.trim_start_matches("nats://")).await.unwrap();
        let (reader, writer) = stream.into_split();
        let (reader, inbox) = (BufReader::new(reader), inbox.to_owned());
        let mut wire = Self { reader, writer, inbox, asked: 0, heard: Vec::new() };
        let greeting = wire.line().await;
        let info: Value = serde_json::from_str(greeting.strip_prefix("INFO ").unwrap()).unwrap();
        let mut connect =
            json!({ "verbose": false, "pedantic": false, "headers": true, "lang": "test", "version": "0" });
        if let Some(seed) = seed {
            let key = KeyPair::from_seed(seed).unwrap();
            let signature = key.sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap();
            connect["nkey"] = key.public_key().into();
            connect["sig"] = BASE64_URL_SAFE_NO_PAD.encode(signature).into();
        }
        wire.say(&format!("CONNECT {connect}\r\n"), b"").await;
        wire.settle().await?;
        Ok(wire)
    }

    /// Hears its inbox from now on.
    pub async fn open_inbox(&mut self) {
        let line = format!("SUB {}.> {INBOX}\r\n", self.inbox);
        self.say(&line, b"").await;
        assert_eq!(self.settle().await, Ok(()));
    }

    /// Subscribes.
    pub async fn listen(&mut self, subject: &str) -> Answer {
        self.asked += 1;
        let line = format!("SUB {subject} {}\r\n", self.asked);
        self.say(&line, b"").await;
        answer(self.settle().await)
    }

    /// Publishes, and expects no answer.
    pub async fn send(&mut self, subject: &str, body: &str) -> Answer {
        self.send_for(subject, "", body).await
    }

    /// Publishes with another's subject as the one to answer to.
    pub async fn send_for(&mut self, subject: &str, reply: &str, body: &str) -> Answer {
        let line = format!("PUB {subject} {reply} {}\r\n", body.len());
        self.say(&line, format!("{body}\r\n").as_bytes()).await;
        answer(self.settle().await)
    }

    /// Publishes and waits for the answer; none where it was refused.
    pub async fn ask(&mut self, subject: &str, body: &str) -> Option<Heard> {
        self.asked += 1;
        let reply = format!("{}.{}", self.inbox, self.asked);
        match self.send_for(subject, &reply, body).await {
            Answer::Refused => None,
            Answer::Allowed => Some(self.hear(|heard| heard.subscription == INBOX).await),
        }
    }

    /// Waits for a message.
    pub async fn hear(&mut self, wanted: impl Fn(&Heard) -> bool) -> Heard {
        let heard = async {
            loop {
                if let Some(at) = self.heard.iter().position(&wanted) {
                    return self.heard.remove(at);
                }
                self.read().await;
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.expect("a message")
    }

    /// Asks whether the broker is there, and returns the first complaint it had before it said so.
    async fn settle(&mut self) -> Result<(), String> {
        self.say("PING\r\n", b"").await;
        let mut complaint = Ok(());
        loop {
            match self.read().await {
                Line::Pong => return complaint,
                // Who may not log in is sent away.
                Line::Error(error) if error.contains("Authorization Violation") => return Err(error),
                Line::Error(error) => complaint = complaint.and(Err(error)),
                Line::Other => {}
            }
        }
    }

    async fn say(&mut self, line: &str, body: &[u8]) {
        self.writer.write_all(&[line.as_bytes(), body].concat()).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.reader.read_line(&mut line).await.unwrap(), 0, "the broker hung up");
        line.trim_end().to_owned()
    }

    async fn read(&mut self) -> Line {
        let line = self.line().await;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["PONG"] => return Line::Pong,
            ["PING"] => self.say("PONG\r\n", b"").await,
            ["-ERR", ..] => return Line::Error(line),
            ["MSG", subject, subscription, .., size] => self.take([subject, subscription, "0", size]).await,
            ["HMSG", subject, subscription, .., headers, size] => {
                self.take([subject, subscription, headers, size]).await;
            }
            _ => {}
        }
        Line::Other
    }

    async fn take(&mut self, [subject, subscription, headers, size]: [&str; 4]) {
        let mut block = vec![0; size.parse::<usize>().unwrap() + "\r\n".len()];
        self.reader.read_exact(&mut block).await.unwrap();
        let (headers, body) = block.split_at(headers.parse().unwrap());
        let status = String::from_utf8_lossy(headers).lines().next().unwrap_or_default().to_owned();
        let body = body.strip_suffix(b"\r\n").unwrap().to_vec();
        self.heard.push(Heard { subject: subject.to_owned(), subscription: subscription.to_owned(), status, body });
    }
}

fn answer(settled: Result<(), String>) -> Answer {
    match settled {
        Ok(()) => Answer::Allowed,
        Err(error) => {
            assert!(error.contains("Permissions Violation"), "{error}");
            Answer::Refused
        }
    }
}
