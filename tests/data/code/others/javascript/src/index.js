export { default as Router, compilePath } from './router.js';
export * from './errors.js';
export * as middleware from './middleware/index.js';
