// The conformance suite cannot send headers of its own, so each of its requests gets the token here.
const { Agent, setGlobalDispatcher } = await import(process.env.MCP_TEST_UNDICI);

const token = `Bearer ${process.env.MCP_TEST_TOKEN}`;
const withToken = (dispatch) => (options, handler) => {
  const headers = Array.isArray(options.headers)
    ? [...options.headers, "authorization", token]
    : { ...options.headers, authorization: token };
  return dispatch({ ...options, headers }, handler);
};
setGlobalDispatcher(new Agent().compose(withToken));
