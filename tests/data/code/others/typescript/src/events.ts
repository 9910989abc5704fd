export type Listener<T> = (payload: T) => void;

export class Emitter<Events extends Record<string, unknown>> {
  private listeners = new Map<keyof Events, Listener<any>[]>();

  on<E extends keyof Events>(event: E, listener: Listener<Events[E]>): this {
    this.bucket(event).push(listener);
    return this;
  }

  protected emit<E extends keyof Events>(event: E, payload: Events[E]): void {
    for (const listener of this.bucket(event)) {
      listener(payload);
    }
  }

  private bucket(event: keyof Events): Listener<any>[] {
    let found = this.listeners.get(event);
    if (!found) {
      found = [];
      this.listeners.set(event, found);
    }
    return found;
  }
}
