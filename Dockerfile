# The program on a small Debian, as nobody in particular. The version of Rust is rust-version of Cargo.toml.
FROM rust:1.95-slim-trixie AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY migrations migrations
COPY streams streams
COPY src src
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin lastunit && cp target/release/lastunit /lastunit

FROM debian:trixie-slim
COPY --from=build /lastunit /usr/bin/lastunit
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["lastunit"]
CMD ["run"]
