export interface EvictionPolicy<K> {
  readonly label: string;
  touch(key: K): void;
  forget(key: K): void;
  victim(): K | undefined;
}

export abstract class CountingPolicy<K> implements EvictionPolicy<K> {
  protected touches = 0;

  constructor(public readonly label: string) {}

  touch(key: K): void {
    this.touches += 1;
    this.onTouch(key);
  }

  report(): string {
    return `${this.label}: ${this.touches} touches`;
  }

  protected abstract onTouch(key: K): void;
  abstract forget(key: K): void;
  abstract victim(): K | undefined;
}
