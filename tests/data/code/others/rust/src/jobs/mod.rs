mod kinds;

pub use self::kinds::{Flaky, Report};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    Done,
    Again { after: u64 },
    Failed,
}

impl Outcome {
    pub fn retry(wait: Backoff, attempt: u32) -> Self {
        match wait.delay(attempt) {
            Some(after) => Outcome::Again { after },
            None => Outcome::Failed,
        }
    }

    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Again { .. })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    base: u64,
    limit: u32,
}

impl Backoff {
    pub fn new(base: u64) -> Self {
        Backoff { base, limit: 3 }
    }

    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    fn delay(&self, attempt: u32) -> Option<u64> {
        (attempt < self.limit).then(|| self.base * power(2, attempt))
    }
}

fn power(base: u64, n: u32) -> u64 {
    if n == 0 {
        1
    } else {
        base * power(base, n - 1)
    }
}

pub trait Job {
    const KIND: &'static str;

    fn name(&self) -> String;

    fn run(&mut self, now: u64) -> Outcome;

    fn title(&self) -> String {
        format!("{}:{}", Self::KIND, self.name())
    }
}
