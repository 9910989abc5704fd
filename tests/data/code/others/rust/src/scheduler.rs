use std::collections::HashMap;

use crate::jobs::{self, Job, Outcome};
use crate::queue::MinQueue;

/// The object-safe face of a job.
pub trait Task {
    fn step(&mut self, now: u64) -> Outcome;
    fn label(&self) -> String;
}

impl<J: Job> Task for J {
    fn step(&mut self, now: u64) -> Outcome {
        self.run(now)
    }

    fn label(&self) -> String {
        Job::title(self)
    }
}

type Hook = fn(&str, Outcome) -> bool;

#[derive(Default)]
pub struct Scheduler {
    now: u64,
    queue: MinQueue<u64, Box<dyn Task>>,
    hooks: Vec<Hook>,
    factories: HashMap<&'static str, fn(u32) -> Box<dyn Task>>,
}

impl Scheduler {
    pub fn new() -> Self {
        let mut factories: HashMap<&'static str, fn(u32) -> Box<dyn Task>> = HashMap::new();
        factories.insert("flaky", flaky_task);
        factories.insert("ready", ready_task);
        Scheduler { factories, ..Default::default() }
    }

    pub fn hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    pub fn add<T: Task + 'static>(&mut self, delay: u64, task: T) -> &mut Self {
        self.enqueue(delay, Box::new(task));
        self
    }

    pub fn add_kind(&mut self, kind: &str, arg: u32) -> Result<(), String> {
        let make = self.factories.get(kind).ok_or_else(|| unknown(kind))?;
        let task = make(arg);
        self.enqueue(1, task);
        Ok(())
    }

    fn enqueue(&mut self, delay: u64, task: Box<dyn Task>) {
        self.queue.push(self.now + delay, task);
    }

    pub fn run_until(&mut self, end: u64) -> usize {
        let mut finished = 0;
        while self.queue.peek().map_or(false, |due| *due <= end) {
            let Some((due, mut task)) = self.queue.pop() else { break };
            self.now = due;
            let outcome = task.step(due);
            let label = task.label();
            let heard = self.notify(&label, outcome);
            if heard && outcome.is_final() {
                finished += 1;
            } else if let Outcome::Again { after } = outcome {
                self.enqueue(after, task);
            }
        }
        finished
    }

    fn notify(&self, label: &str, outcome: Outcome) -> bool {
        self.hooks.iter().all(|hook| hook(label, outcome))
    }
}

fn unknown(kind: &str) -> String {
    format!("unknown job kind {kind}")
}

fn flaky_task(succeed_at: u32) -> Box<dyn Task> {
    Box::new(jobs::Flaky::new(succeed_at))
}

fn ready_task(_: u32) -> Box<dyn Task> {
    flaky_task(0)
}
