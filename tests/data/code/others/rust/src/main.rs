use ticker::jobs::Report;
use ticker::scheduler::Scheduler;
use ticker::{Outcome, Queue};

fn render_page(now: u64) -> String {
    format!("page at {now}")
}

fn log_line(label: &str, outcome: Outcome) -> bool {
    println!("{label} -> {outcome:?}");
    true
}

fn reject_failed(_: &str, outcome: Outcome) -> bool {
    outcome != Outcome::Failed
}

fn drain<T, F>(mut queue: Queue<u32, T>, mut visit: F)
where
    F: FnMut(T),
{
    while let Some((_, value)) = queue.pop() {
        visit(value);
    }
}

fn print_word(word: &str) {
    print!("{word} ");
}

fn main() -> Result<(), String> {
    let mut words = Queue::default();
    for (i, word) in ["alpha", "beta", "gamma"].into_iter().enumerate() {
        words.push(9 - i as u32, word);
    }
    drain(words, print_word);
    println!();

    let mut scheduler = Scheduler::new()
        .hook(log_line)
        .hook(reject_failed);
    let daily = Report::new("daily", render_page);
    scheduler.add(3, daily);
    scheduler.add_kind("flaky", 2)?;
    scheduler.add_kind("flaky", 9)?;
    scheduler.add_kind("ready", 1)?;
    let missing = scheduler.add_kind("cron", 0);
    println!("{missing:?}");
    let finished = scheduler.run_until(100);
    println!("{finished} finished");
    Ok(())
}
