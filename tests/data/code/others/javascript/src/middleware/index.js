import { HttpError } from '../errors.js';

export function createLogger(write) {
  let count = 0;
  return async function logger(ctx, next) {
    count += 1;
    const id = count;
    await next();
    write(`#${id} ${ctx.method} ${ctx.path} -> ${ctx.status}`);
  };
}

export const requireToken = (token, isOpen) => {
  const guard = (ctx, next) => {
    if (isOpen(ctx.path)) return next();
    if (ctx.headers.token !== token) {
      throw new HttpError(401, 'token missing');
    }
    return next();
  };
  return guard;
};

const formatters = {
  json(body) {
    return JSON.stringify(body);
  },
  text(body) {
    return String(body);
  },
};

export function render(kind, body) {
  const format = formatters[kind];
  if (!format) return formatters.text(body);
  return format(body);
}
