import { HttpError, NotFoundError } from './errors.js';

const METHODS = new Set(['GET', 'POST', 'DELETE']);

function normalise(path) {
  const trimmed = path.replace(/\/+$/, '');
  return trimmed === '' ? '/' : trimmed;
}

export function compilePath(path) {
  const keys = [];
  const source = normalise(path).replace(/:(\w+)/g, (_, key) => {
    keys.push(key);
    return '([^/]+)';
  });
  return { regex: new RegExp(`^${source}$`), keys };
}

class Layer {
  match(method, path) {
    return null;
  }

  describe() {
    return this.constructor.name.toLowerCase();
  }
}

class Route extends Layer {
  constructor(method, path, handler) {
    super();
    this.method = method;
    this.path = path;
    this.handler = handler;
    this.pattern = compilePath(path);
  }

  match(method, path) {
    if (method !== this.method) return null;
    const found = this.pattern.regex.exec(path);
    if (!found) return null;
    const params = {};
    this.pattern.keys.forEach((key, i) => {
      params[key] = decodeURIComponent(found[i + 1]);
    });
    return { handler: this.handler, params };
  }

  describe() {
    const kind = super.describe();
    return `${kind} ${this.method} ${this.path}`;
  }
}

class Mount extends Layer {
  constructor(prefix, router) {
    super();
    this.prefix = normalise(prefix);
    this.router = router;
  }

  match(method, path) {
    if (!path.startsWith(this.prefix + '/')) return null;
    return this.router.find(method, path.slice(this.prefix.length));
  }
}

export default class Router {
  #layers = [];

  constructor() {
    this.middleware = [];
  }

  static withDefaults(...fns) {
    const router = new Router();
    for (const fn of fns) {
      router.use(fn);
    }
    return router;
  }

  use(fn) {
    this.middleware.push(fn);
    return this;
  }

  get(path, handler) {
    return this.#add('GET', path, handler);
  }

  post(path, handler) {
    return this.#add('POST', path, handler);
  }

  mount(prefix, router) {
    const layer = new Mount(prefix, router);
    this.#layers.push(layer);
    return this;
  }

  #add(method, path, handler) {
    this.#layers.push(new Route(method, path, handler));
    return this;
  }

  find(method, path) {
    for (const layer of this.#layers) {
      const hit = layer.match(method, path);
      if (hit) return hit;
    }
    return null;
  }

  routes() {
    return this.#layers.map((layer) => layer.describe());
  }

  async handle(ctx) {
    if (!METHODS.has(ctx.method)) {
      throw new HttpError(405, `bad method ${ctx.method}`);
    }
    const path = normalise(ctx.path);
    const hit = this.find(ctx.method, path);
    const stack = this.middleware;
    const dispatch = async (index) => {
      if (index < stack.length) {
        const step = stack[index];
        return step(ctx, () => dispatch(index + 1));
      }
      if (!hit) throw new NotFoundError(ctx.path);
      ctx.params = hit.params;
      const run = hit.handler;
      return run(ctx);
    };
    await dispatch(0);
    return ctx;
  }
}
