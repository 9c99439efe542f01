//! `/healthz`, `/readyz`, `/metrics`.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Readiness;
use crate::config::Http;

/// How often histograms are folded, so that they do not grow where nobody asks for them.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How long requests under way may take once the end has been asked for.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// A server that has its address and does not answer yet.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<SecretString>,
}

/// Takes the address.
///
/// # Errors
/// The address is taken, is not ours, or is open to others without a token.
pub async fn bind(settings: &Http) -> anyhow::Result<Bound> {
    let listen = settings.listen;
    ensure!(!settings.is_open(), "http.listen: {listen} is open to others and wants a token");
    let listener = TcpListener::bind(listen).await.with_context(|| format!("http.listen: {listen}"))?;
    Ok(Bound { address: listener.local_addr().context("http.listen")?, listener, token: settings.token.clone() })
}

impl Bound {
    /// The address, its port chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop`, and then finishes the requests under way, for a second at most.
    ///
    /// # Errors
    /// The listener failed.
    pub async fn serve(
        self,
        readiness: Readiness,
        metrics: PrometheusHandle,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let router = router(readiness, metrics.clone(), self.token);
        let server = axum::serve(self.listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
        tokio::select! {
            ended = async { server.await } => ended.context("http"),
            () = upkeep(&metrics) => Ok(()),
            () = async { stop.cancelled().await; tokio::time::sleep(LAST_REQUESTS).await } => Ok(()),
        }
    }
}

async fn upkeep(metrics: &PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_EVERY).await;
        metrics.run_upkeep();
    }
}

/// What probes ask stands outside the guard, and so does nothing else: neither later routes nor paths that are not there.
fn router(readiness: Readiness, metrics: PrometheusHandle, token: Option<SecretString>) -> Router {
    let probes =
        Router::new().route("/healthz", get(async || "ok")).route("/readyz", get(readyz).with_state(readiness));
    let guarded =
        Router::new().route("/metrics", get(render).with_state(metrics)).fallback(async || StatusCode::NOT_FOUND);
    let guarded = match token {
        Some(token) => guarded.layer(from_fn_with_state(token, guard)),
        None => guarded,
    };
    probes.merge(guarded)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let (is_ready, text) = readiness.report();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, text)
}

async fn render(State(metrics): State<PrometheusHandle>) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, kind)], metrics.render())
}

async fn guard(State(token): State<SecretString>, request: Request, next: Next) -> Response {
    if is_bearer(&request, &token) {
        return next.run(request).await;
    }
    let challenge = [(WWW_AUTHENTICATE, "Bearer realm=\"lastunit\"")];
    (StatusCode::UNAUTHORIZED, challenge, "a token is wanted\n").into_response()
}

fn is_bearer(request: &Request, token: &SecretString) -> bool {
    let given = request.headers().get(AUTHORIZATION);
    let given = given.and_then(|value| value.to_str().ok()?.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        let same = given.trim().as_bytes().ct_eq(token.expose_secret().as_bytes());
        scheme.eq_ignore_ascii_case("bearer") && bool::from(same)
    })
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::task::JoinHandle;

    use super::super::Condition;
    use super::*;

    struct Served {
        address: SocketAddr,
        readiness: Readiness,
        stop: CancellationToken,
        task: JoinHandle<anyhow::Result<()>>,
    }

    async fn serve(token: Option<&str>) -> Served {
        let settings =
            Http { listen: "127.0.0.1:0".parse().unwrap(), token: token.map(SecretString::from), ..Http::default() };
        let bound = bind(&settings).await.unwrap();
        let address = bound.address();
        let readiness = Readiness::awaiting(&["nats"]);
        let recorder = PrometheusBuilder::new().build_recorder();
        ::metrics::with_local_recorder(&recorder, || ::metrics::counter!("seen").increment(1));
        let stop = CancellationToken::new();
        let serving = bound.serve(readiness.clone(), recorder.handle(), stop.clone());
        Served { address, readiness, stop, task: tokio::spawn(serving) }
    }

    /// The status and the body.
    async fn ask(address: SocketAddr, path: &str, header: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    #[tokio::test]
    async fn probes_tell_life_and_readiness() {
        let served = serve(None).await;
        assert_eq!(ask(served.address, "/healthz", "").await, (200, "ok".to_owned()));
        let not_yet = (503, "not ready\nnats: starting\n".to_owned());
        assert_eq!(ask(served.address, "/readyz", "").await, not_yet);

        served.readiness.set("nats", Condition::Ready);
        served.readiness.warn("STOCK", Some("full".to_owned()));
        let ready = (200, "ready\nwarning: STOCK: full\n".to_owned());
        assert_eq!(ask(served.address, "/readyz", "").await, ready);

        let (status, body) = ask(served.address, "/metrics", "").await;
        assert!(status == 200 && body.contains("seen 1"), "{body}");
        assert_eq!(ask(served.address, "/nothing", "").await.0, 404);
    }

    #[tokio::test]
    async fn all_but_the_probes_wants_the_token() {
        let address = serve(Some("t0ken")).await.address;
        assert_eq!(ask(address, "/healthz", "").await.0, 200);
        assert_eq!(ask(address, "/readyz", "").await.0, 503);
        for (header, status) in [
            ("", 401),
            ("authorization: Bearer t0keN\r\n", 401),
            ("authorization: Bearer t0ken2\r\n", 401),
            ("authorization: Basic t0ken\r\n", 401),
            ("authorization: Bearer t0ken\r\n", 200),
            ("authorization: bearer t0ken\r\n", 200),
        ] {
            assert_eq!(ask(address, "/metrics", header).await.0, status, "{header}");
        }
        assert_eq!(ask(address, "/nothing", "").await.0, 401);
    }

    #[tokio::test]
    async fn it_ends_when_asked_although_a_client_dawdles() {
        let served = serve(None).await;
        let mut dawdler = TcpStream::connect(served.address).await.unwrap();
        dawdler.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
        served.stop.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(5), served.task).await;
        ended.unwrap().unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_open_address_without_a_token_is_refused() {
        let settings = Http { listen: "0.0.0.0:0".parse().unwrap(), ..Http::default() };
        let refused = bind(&settings).await.unwrap_err();
        assert!(refused.to_string().contains("token"), "{refused}");
    }
}
