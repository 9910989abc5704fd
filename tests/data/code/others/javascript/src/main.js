import { Router, HttpError, compilePath, middleware } from './index.js';
import * as mw from './middleware/index.js';

const books = new Map([
  ['1', { id: '1', title: 'Dune' }],
  ['2', { id: '2', title: 'Emma' }],
]);
const lines = [];

function record(line) {
  lines.push(line);
}

function isPublic(path) {
  return path === '/health';
}

function reply(ctx, status, body, kind = 'json') {
  ctx.status = status;
  ctx.body = mw.render(kind, body);
}

function listBooks(ctx) {
  const titles = [...books.values()].map((book) => book.title);
  reply(ctx, 200, titles);
}

function showBook(ctx) {
  const book = books.get(ctx.params.id);
  if (!book) throw new HttpError(404, 'no such book');
  reply(ctx, 200, book);
}

function createBook(ctx) {
  const id = String(books.size + 1);
  books.set(id, { id, title: ctx.payload.title });
  reply(ctx, 201, id, 'text');
}

const health = (ctx) => reply(ctx, 200, 'ok', 'text');

function buildApp() {
  const log = middleware.createLogger(record);
  const auth = mw.requireToken('s3cret', isPublic);
  const api = new Router();
  api
    .get('/books', listBooks)
    .get('/books/:id', showBook)
    .post('/books', createBook);
  const app = Router.withDefaults(log, auth);
  return app
    .get('/health', health)
    .mount('/api/', api);
}

async function request(app, method, path, extra = {}) {
  const ctx = { method, path, headers: { token: 's3cret' }, status: 0, ...extra };
  try {
    await app.handle(ctx);
  } catch (err) {
    if (!(err instanceof HttpError)) throw err;
    ctx.status = err.status;
    ctx.body = JSON.stringify(err.toBody());
  }
  return ctx;
}

async function main() {
  const app = buildApp();
  const results = [
    await request(app, 'GET', '/health', { headers: {} }),
    await request(app, 'GET', '/api/books'),
    await request(app, 'POST', '/api/books', { payload: { title: 'Ulysses' } }),
    await request(app, 'GET', '/api/books/9'),
    await request(app, 'GET', '/nowhere'),
    await request(app, 'GET', '/api/books', { headers: {} }),
    await request(app, 'PATCH', '/api/books'),
  ];
  results.forEach((ctx) => console.log(ctx.status, ctx.body));
  console.log(app.routes().join('\n'));
  console.log(compilePath('/a/:b/c').keys, lines.length);
}

main().catch((err) => {
  console.error(err);
  process.exitCode = 1;
});
