pub mod jobs;
mod queue;
pub mod scheduler;

pub use jobs::{Backoff, Job, Outcome};
pub use queue::MinQueue as Queue;
