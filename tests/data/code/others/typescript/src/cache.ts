import createPolicy, { EvictionPolicy } from '@policies';
import { Emitter } from './events';

export interface Clock {
  now(): number;
}

interface Entry<V> {
  value: V;
  expires: number;
}

export type CacheEvents = { hit: string; miss: string; evict: string };

export namespace Ttl {
  export const FOREVER = Number.POSITIVE_INFINITY;

  export function deadline(clock: Clock, ttl: number): number {
    return ttl === FOREVER ? FOREVER : clock.now() + ttl;
  }
}

export class Cache<V> extends Emitter<CacheEvents> {
  private entries = new Map<string, Entry<V>>();

  constructor(
    private readonly capacity: number,
    private readonly policy: EvictionPolicy<string>,
    private readonly clock: Clock,
  ) {
    super();
  }

  static named<V>(policyName: string, capacity: number, clock: Clock): Cache<V> {
    const policy = createPolicy<string>(policyName);
    return new Cache<V>(capacity, policy, clock);
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.entries.get(key);
    if (!entry || this.isStale(entry)) {
      this.drop(key);
      this.emit('miss', key);
      return undefined;
    }
    this.policy.touch(key);
    this.emit('hit', key);
    return entry.value;
  }

  set(key: string, value: V, ttl: number = Ttl.FOREVER): this {
    if (!this.entries.has(key)) {
      this.makeRoom();
    }
    const expires = Ttl.deadline(this.clock, ttl);
    this.entries.set(key, { value, expires });
    this.policy.touch(key);
    return this;
  }

  async wrap(key: string, load: (key: string) => Promise<V>): Promise<V> {
    const known = this.get(key);
    if (known !== undefined) return known;
    const fresh = await load(key);
    this.set(key, fresh, 50);
    return fresh;
  }

  private makeRoom(): void {
    if (this.entries.size < this.capacity) return;
    const key = this.policy.victim();
    if (key === undefined) return;
    this.drop(key);
    this.emit('evict', key);
    this.makeRoom();
  }

  private drop(key: string): void {
    this.entries.delete(key);
    this.policy.forget(key);
  }

  private isStale = (entry: Entry<V>): boolean => entry.expires <= this.clock.now();
}
