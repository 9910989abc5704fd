/// A binary heap that gives the smallest key first.
pub struct MinQueue<K, T> {
    items: Vec<(K, T)>,
}

impl<K: PartialOrd + Copy, T> MinQueue<K, T> {
    pub fn new() -> Self {
        Self::with_capacity(8)
    }

    pub fn with_capacity(n: usize) -> Self {
        MinQueue { items: Vec::with_capacity(n) }
    }

    pub fn push(&mut self, key: K, value: T) {
        self.items.push((key, value));
        self.sift_up(self.items.len() - 1);
    }

    pub fn pop(&mut self) -> Option<(K, T)> {
        if self.items.is_empty() {
            return None;
        }
        let top = self.items.swap_remove(0);
        self.sift_down(0);
        Some(top)
    }

    pub fn peek(&self) -> Option<&K> {
        self.items.first().map(|(key, _)| key)
    }

    pub fn size(&self) -> usize {
        self.items.len()
    }

    fn sift_up(&mut self, at: usize) {
        if at == 0 {
            return;
        }
        let up = parent(at);
        if self.items[at].0 < self.items[up].0 {
            self.items.swap(at, up);
            self.sift_up(up);
        }
    }

    fn sift_down(&mut self, at: usize) {
        let size = self.size();
        let best = (2 * at + 1..(2 * at + 3).min(size))
            .fold(at, |a, b| if self.items[b].0 < self.items[a].0 { b } else { a });
        if best != at {
            self.items.swap(at, best);
            self.sift_down(best);
        }
    }
}

impl<K: PartialOrd + Copy, T> Default for MinQueue<K, T> {
    fn default() -> Self {
        MinQueue::new()
    }
}

fn parent(at: usize) -> usize {
    (at - 1) / 2
}
