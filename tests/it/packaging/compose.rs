//! `compose.yaml` and the `Dockerfile`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::mint::minted;
use super::shipped;
use crate::support::{Ground, Launch};

/// The file, its anchors and merges resolved.
fn compose() -> Value {
    let text = fs::read_to_string(shipped("compose.yaml")).unwrap();
    let mut yaml: serde_yaml_ng::Value = serde_yaml_ng::from_str(&text).unwrap();
    // A merged mapping may merge another: three levels stand in the file.
    for _ in 0..3 {
        yaml.apply_merge().unwrap();
    }
    serde_json::to_value(yaml).unwrap()
}

fn services(compose: &Value) -> impl Iterator<Item = (&String, &Value)> {
    compose["services"].as_object().unwrap().iter()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter().map(|text| text.as_str().unwrap()).collect()
}

/// Where a file stands that compose.yaml names from its own directory.
fn named(path: &str) -> PathBuf {
    match path.strip_prefix("./secrets/") {
        Some(secret) => minted().join(secret),
        None => shipped(path),
    }
}

#[test]
fn it_follows_the_specification() {
    let schema: Value = serde_json::from_str(include_str!("compose-spec.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let compose = compose();
    let errors: Vec<String> =
        validator.iter_errors(&compose).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    // The schema would say: a key that does not exist is one too many.
    let mut wrong = compose.clone();
    wrong["services"]["nats"]["healthchek"] = Value::Null;
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn every_service_is_confined() {
    let compose = compose();
    for (name, service) in services(&compose) {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(texts(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(texts(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        let image = service["image"].as_str().unwrap();
        let tag = image.split_once(':').unwrap().1;
        assert!(tag.starts_with(|first: char| first.is_ascii_digit()), "{image}");
        // One changes the owner of a new volume, and can do nothing else.
        if name == "nats-volume" {
            assert_eq!((texts(&service["cap_add"]), &service["network_mode"]), (vec!["CHOWN"], &"none".into()));
        } else {
            assert!(!service["user"].as_str().unwrap().starts_with('0'), "{name}");
            assert!(service.get("cap_add").is_none(), "{name}");
        }
        for port in texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port}");
        }
        let lasts = service["restart"] != "no";
        assert_eq!(service.get("healthcheck").is_some(), lasts, "{name}");
    }
    let dockerfile = fs::read_to_string(shipped("Dockerfile")).unwrap();
    let user = compose["services"]["lastunit"]["user"].as_str().unwrap();
    assert!(dockerfile.contains(&format!("\nUSER {user}\n")));
    let cargo = fs::read_to_string(shipped("Cargo.toml")).unwrap();
    let rust = cargo.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    assert!(dockerfile.contains(&format!("FROM rust:{rust}-")));
}

#[test]
fn every_file_and_secret_it_names_is_there() {
    let compose = compose();
    let secrets = compose["secrets"].as_object().unwrap();
    for (name, secret) in secrets {
        let file = named(secret["file"].as_str().unwrap());
        assert!(file.is_file(), "{name}: {}", file.display());
        let used = services(&compose).any(|(_, service)| texts(&service["secrets"]).contains(&name.as_str()));
        assert!(used, "{name}");
    }
    for (name, service) in services(&compose) {
        for volume in texts(&service["volumes"]) {
            let source = volume.split(':').next().unwrap();
            let is_there = match source.strip_prefix('.') {
                Some(_) => named(source).is_file(),
                None => compose["volumes"].get(source).is_some(),
            };
            assert!(is_there, "{name}: {source}");
        }
        let environment = service["environment"].as_object().into_iter().flatten();
        let wanted = environment.filter_map(|(_, value)| value.as_str()?.strip_prefix("/run/secrets/"));
        for secret in wanted {
            assert!(texts(&service["secrets"]).contains(&secret), "{name} is not given {secret}");
            assert!(secrets.contains_key(secret), "{secret}");
        }
    }
    // What the image is built from is in the context.
    let ignored = fs::read_to_string(shipped(".dockerignore")).unwrap();
    let dockerfile = fs::read_to_string(shipped("Dockerfile")).unwrap();
    let copied =
        dockerfile.lines().filter_map(|line| line.strip_prefix("COPY ")).filter(|line| !line.starts_with("--"));
    for source in copied.flat_map(|line| line.rsplit_once(' ').unwrap().0.split(' ')) {
        assert!(shipped(source).exists() && ignored.contains(&format!("!{source}\n")), "{source}");
    }
}

#[tokio::test]
async fn the_program_understands_every_setting_in_it() {
    let ground = Ground::new().await;
    let compose = compose();
    let mut checked = 0;
    for (name, service) in services(&compose).filter(|(_, service)| service["build"] == ".") {
        let mut launch = Launch::new(&ground);
        for (key, value) in service["environment"].as_object().unwrap() {
            let value = value.as_str().unwrap();
            let value = match value.strip_prefix("/run/secrets/") {
                Some(secret) => named(compose["secrets"][secret]["file"].as_str().unwrap()).display().to_string(),
                None => value.to_owned(),
            };
            launch = launch.env(key, value);
        }
        let ended = launch.run(&["config", "check"]).await;
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let shown = launch.run(&["config", "show"]).await;
        let key = if name == "streams" { "nkey_seed = \"***\"" } else { "password = \"***\"" };
        assert!(shown.stdout.contains(key), "{name}: {shown:?}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}
