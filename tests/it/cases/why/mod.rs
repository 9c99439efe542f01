//! Why: the story of an order, who had the units, a shelf at a moment; what a person resolves; what is asked over NATS; who waits for whom.

mod locks;
mod orders;
mod queries;
mod reviews;
mod shelves;
mod slots;

use serde_json::Value;

use super::Stage;

impl Stage {
    /// Runs a command that prints one JSON document, and reads it.
    async fn document(&self, args: &[&str]) -> Value {
        let ended = self.launch.run(&[args, &["--json"]].concat()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }
}
