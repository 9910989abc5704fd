use super::{Backoff, Job, Outcome};

pub struct Report<F> {
    label: String,
    render: F,
    pub pages: Vec<String>,
}

impl<F: Fn(u64) -> String> Report<F> {
    pub fn new(label: &str, render: F) -> Self {
        Report { label: label.to_owned(), render, pages: Vec::new() }
    }

    fn add_page(&mut self, text: String) -> usize {
        self.pages.push(text);
        self.pages.len()
    }
}

impl<F: Fn(u64) -> String> Job for Report<F> {
    const KIND: &'static str = "report";

    fn name(&self) -> String {
        self.label.clone()
    }

    fn run(&mut self, now: u64) -> Outcome {
        let text = (self.render)(now);
        match self.add_page(text) {
            n if n < 2 => Outcome::Again { after: 10 },
            _ => Outcome::Done,
        }
    }

    fn title(&self) -> String {
        self.name().to_uppercase()
    }
}

pub struct Flaky {
    attempt: u32,
    succeed_at: u32,
    backoff: Backoff,
}

impl Flaky {
    pub fn new(succeed_at: u32) -> Self {
        let backoff = Backoff::new(5).limit(4);
        Flaky { attempt: 0, succeed_at, backoff }
    }

    fn succeeds(&self) -> bool {
        self.attempt >= self.succeed_at
    }
}

impl Job for Flaky {
    const KIND: &'static str = "flaky";

    fn name(&self) -> String {
        format!("at{}", self.succeed_at)
    }

    fn run(&mut self, _now: u64) -> Outcome {
        if self.succeeds() {
            return Outcome::Done;
        }
        self.attempt += 1;
        Outcome::retry(self.backoff, self.attempt)
    }
}
