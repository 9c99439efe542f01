//! A TCP proxy of our own between the program and a server: it can hold back, swallow and cut.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What becomes of bytes in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// They pass.
    Pass,
    /// They wait until they pass.
    Hold,
    /// They are gone.
    Swallow,
}

/// How PostgreSQL's clients say COMMIT.
const COMMIT: &[u8] = b"COMMIT\0";

/// A proxy; gone, with its connections, when dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _end: DropGuard,
}

struct Shared {
    server: String,
    to_server: watch::Sender<Flow>,
    to_client: watch::Sender<Flow>,
    /// Connections made in an earlier era are cut.
    era: watch::Sender<u64>,
    /// What is held back on its way to the server.
    held: watch::Sender<Vec<u8>>,
    /// How many answers to COMMIT are still to be cut off, and how many were.
    to_cut: AtomicUsize,
    cut: AtomicUsize,
}

impl Proxy {
    /// Before the server that the URL names.
    pub async fn before(url: &str) -> Self {
        let shared = Arc::new(Shared {
            server: host_of(url).to_owned(),
            to_server: watch::Sender::new(Flow::Pass),
            to_client: watch::Sender::new(Flow::Pass),
            era: watch::Sender::new(0),
            held: watch::Sender::new(Vec::new()),
            to_cut: AtomicUsize::new(0),
            cut: AtomicUsize::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(accept(listener, shared.clone(), end.clone())));
        Self { address, shared, _end: end.drop_guard() }
    }

    /// The URL with this proxy in the place of the server.
    pub fn url(&self, url: &str) -> String {
        url.replacen(host_of(url), &self.address.to_string(), 1)
    }

    /// What becomes of what the program says.
    pub fn to_server(&self, flow: Flow) {
        self.shared.to_server.send_replace(flow);
    }

    /// What becomes of what the server says.
    pub fn to_client(&self, flow: Flow) {
        self.shared.to_client.send_replace(flow);
    }

    /// Cuts every connection there is.
    pub fn cut(&self) {
        self.shared.era.send_modify(|era| *era += 1);
    }

    /// From now on cuts connections as soon as a COMMIT said on them is answered, so many times.
    pub fn cut_answers_to_commit(&self, times: usize) {
        self.shared.to_cut.store(times, Ordering::SeqCst);
    }

    /// How many answers to COMMIT were cut off.
    pub fn answers_cut(&self) -> usize {
        self.shared.cut.load(Ordering::SeqCst)
    }

    /// Waits until these bytes are held back on their way to the server.
    pub async fn holds(&self, bytes: &[u8]) {
        let has = |held: &Vec<u8>| contains(held, bytes);
        self.shared.held.subscribe().wait_for(has).await.unwrap();
    }
}

fn host_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    host.rsplit('@').next().unwrap()
}

fn contains(all: &[u8], part: &[u8]) -> bool {
    all.windows(part.len()).any(|window| window == part)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, end: CancellationToken) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let connection = carry(client, shared.clone());
        tokio::spawn(end.clone().run_until_cancelled_owned(connection));
    }
}

/// Carries one connection until either side ends it or it is cut.
async fn carry(client: TcpStream, shared: Arc<Shared>) {
    let mut era = shared.era.subscribe();
    let born = *era.borrow_and_update();
    let Ok(server) = TcpStream::connect(&shared.server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let doomed = CancellationToken::new();
    tokio::select! {
        () = speak(from_client, to_server, &shared, &doomed) => {}
        () = answer(from_server, to_client, &shared, &doomed) => {}
        _ = era.wait_for(|era| *era > born) => {}
    }
}

/// Client to server.
async fn speak(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared, doomed: &CancellationToken) {
    let mut flow = shared.to_server.subscribe();
    let mut waiting = VecDeque::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        tokio::select! {
            read = from.read(&mut chunk) => {
                let said = match read {
                    Ok(0) | Err(_) => return,
                    Ok(length) => chunk[..length].to_vec(),
                };
                if contains(&said, COMMIT) && shared.takes_one() {
                    doomed.cancel();
                }
                waiting.push_back(said);
            }
            changed = flow.changed() => if changed.is_err() { return },
        }
        let now = *flow.borrow_and_update();
        match now {
            Flow::Pass => {
                for said in waiting.drain(..) {
                    if to.write_all(&said).await.is_err() {
                        return;
                    }
                }
            }
            Flow::Hold => shared.held.send_modify(|held| *held = waiting.iter().flatten().copied().collect()),
            Flow::Swallow => waiting.clear(),
        }
    }
}

/// Server to client.
async fn answer(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, shared: &Shared, doomed: &CancellationToken) {
    let mut flow = shared.to_client.subscribe();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let length = match from.read(&mut chunk).await {
            Ok(0) | Err(_) => return,
            Ok(length) => length,
        };
        if doomed.is_cancelled() {
            shared.cut.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if flow.wait_for(|flow| *flow != Flow::Hold).await.is_err() {
            return;
        }
        let now = *flow.borrow_and_update();
        if now == Flow::Pass && to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}

impl Shared {
    fn takes_one(&self) -> bool {
        self.to_cut.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}
