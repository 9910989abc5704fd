import { Cache, Clock, Ttl } from './cache';
import * as policies from '@policies';
import { CountingPolicy } from '@policies/base';

class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }
}

class ManualClock implements Clock {
  constructor(private time = 0) {}

  now(): number {
    return this.time;
  }

  advance(ms: number): ManualClock {
    this.time += ms;
    return this;
  }
}

class Journal {
  private lines: string[] = [];

  onEvict = (key: string): void => {
    this.write(`evicted ${key}`);
  };

  write(line: string): void {
    this.lines.push(line);
  }

  dump(): string {
    return this.lines.join('\n');
  }
}

const stats = { hits: 0, misses: 0 };

function countHit(): void {
  stats.hits += 1;
}

function countMiss(): void {
  stats.misses += 1;
}

function attach<V>(cache: Cache<V>, journal: Journal): Cache<V> {
  return cache
    .on('hit', countHit)
    .on('miss', countMiss)
    .on('evict', journal.onEvict);
}

async function fetchLength(key: string): Promise<number> {
  await Promise.resolve();
  return key.length;
}

function summarise(policy: CountingPolicy<string>): string {
  return policy.report().toUpperCase();
}

export async function main(): Promise<void> {
  const clock = new ManualClock(100).advance(5);
  const journal = new Journal();
  const lru = new policies.LruPolicy<string>();
  const lfu: CountingPolicy<string> = new policies.LfuPolicy<string>('LFU');
  const first = new Cache<number>(2, lru, clock);
  attach(first, journal);
  first
    .set('a', 1)
    .set('b', 2);
  first.get('a');
  first.set('c', 3, 10);
  clock.advance(20);
  first.get('c');

  const second = new Cache<string>(1, lfu, new SystemClock());
  second.set('x', 'one', Ttl.FOREVER);
  second.set('y', 'two', 1000);
  second.get('y');

  const third = Cache.named<number>('lru', 4, clock);
  const fourth = Cache.named<number>('lfu', 4, clock);
  for (const cache of [third, fourth]) {
    attach(cache, journal);
    await cache.wrap('hello', fetchLength);
  }

  const deadline = Ttl.deadline(clock, 1);
  console.log([lru, lfu].map(summarise), stats, deadline);
  console.log(journal.dump(), first.size);
}

void main();
