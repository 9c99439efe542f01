//! Three private nats-servers that are one JetStream.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;

use super::{Binaries, NatsOptions, PrivateNats, port};

/// How many there are: the least that lose nothing when one of them is lost.
const NODES: usize = 3;

/// A cluster of our own on loopback. Each node can be killed, paused and started again by itself.
#[derive(Debug)]
pub struct PrivateCluster {
    /// The servers.
    pub nodes: Vec<PrivateNats>,
}

impl PrivateCluster {
    /// Starts the nodes in `dir/node-1` and so on. Returns when JetStream answers on each. `config` are lines for the configuration of all.
    pub async fn start(binaries: &Binaries, dir: &Path, config: &str) -> Result<Self> {
        for _ in 0..port::TRIES {
            let ports = Ports::free()?;
            match ports.launch(binaries, dir, config).await {
                Err(_) if ports.are_taken() => {}
                nodes => return Ok(Self { nodes: nodes? }),
            }
        }
        bail!("the nats-servers found every port taken")
    }

    /// Where clients find it: all nodes, with commas.
    pub fn url(&self) -> String {
        self.nodes.iter().map(PrivateNats::url).collect::<Vec<_>>().join(",")
    }

    /// The node that the broker calls so.
    pub fn named(&mut self, name: &str) -> Result<&mut PrivateNats> {
        self.nodes.iter_mut().find(|node| node.name() == name).with_context(|| format!("no node {name}"))
    }
}

/// A port for clients and one for the other nodes, of each node.
struct Ports([(u16, u16); NODES]);

impl Ports {
    fn free() -> Result<Self> {
        let mut free = BTreeSet::new();
        while free.len() < 2 * NODES {
            free.insert(port::free()?);
        }
        let free: Vec<u16> = free.into_iter().collect();
        Ok(Self(std::array::from_fn(|node| (free[2 * node], free[2 * node + 1]))))
    }

    fn are_taken(&self) -> bool {
        self.0.iter().any(|(client, route)| !port::is_free(*client) || !port::is_free(*route))
    }

    /// At once, as none is ready before a majority is.
    async fn launch(&self, binaries: &Binaries, dir: &Path, config: &str) -> Result<Vec<PrivateNats>> {
        let routes: Vec<String> =
            self.0.iter().map(|(_, route)| format!("\"nats-route://127.0.0.1:{route}\"")).collect();
        let routes = routes.join(", ");
        let nodes = self.0.iter().enumerate().map(|(node, (client, route))| {
            let cluster =
                format!("cluster {{ name: lastunit, listen: \"127.0.0.1:{route}\", routes: [{routes}] }}\n{config}");
            let options = NatsOptions { port: Some(*client), config: cluster, guarded: false };
            let dir = dir.join(format!("node-{}", node + 1));
            async move { PrivateNats::start(binaries, &dir, options).await }
        });
        try_join_all(nodes).await
    }
}
