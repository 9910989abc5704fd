import { CountingPolicy, type EvictionPolicy } from './base';

export type { EvictionPolicy } from './base';

export class LruPolicy<K> extends CountingPolicy<K> {
  private order = new Set<K>();

  constructor() {
    super('lru');
  }

  protected onTouch(key: K): void {
    this.forget(key);
    this.order.add(key);
  }

  forget(key: K): void {
    this.order.delete(key);
  }

  victim(): K | undefined {
    const [oldest] = this.order;
    return oldest;
  }
}

export class LfuPolicy<K> extends CountingPolicy<K> {
  private counts = new Map<K, number>();

  protected onTouch(key: K): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  forget(key: K): void {
    this.counts.delete(key);
  }

  victim(): K | undefined {
    return minBy([...this.counts.keys()], (key) => this.counts.get(key) ?? 0);
  }

  report(): string {
    const head = super.report();
    return `${head}, ${this.counts.size} keys`;
  }
}

function minBy<T>(items: T[], score: (item: T) => number): T | undefined {
  let best: T | undefined;
  let bestScore = Infinity;
  for (const item of items) {
    const value = score(item);
    if (value < bestScore) {
      best = item;
      bestScore = value;
    }
  }
  return best;
}

const factories: Record<string, <K>() => EvictionPolicy<K>> = {
  lru: makeLru,
  lfu: makeLfu,
};

function makeLru<K>(): EvictionPolicy<K> {
  return new LruPolicy<K>();
}

function makeLfu<K>(): EvictionPolicy<K> {
  return new LfuPolicy<K>('lfu');
}

export default function createPolicy<K>(name: string): EvictionPolicy<K> {
  const factory = factories[name];
  if (factory === undefined) {
    throw new RangeError(`unknown policy ${name}`);
  }
  return factory<K>();
}
