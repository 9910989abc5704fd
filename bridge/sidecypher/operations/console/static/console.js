"use strict";

// The page is whole without this script, which keeps it up to date, filters, copies, and, once it
// has the token, shows and cancels calls, answers requests of sessions, and shows repositories of
// code. The token is kept in memory alone. Each time before it is sent the page is asked for anew,
// and if that fails or is of another sidecar, it is forgotten.

const REFRESH_MILLISECONDS = 2000;
const ANSWER_MILLISECONDS = 10_000;
// Neo4j, and steps that run after an answer, may take longer than a sidecar by itself.
const NEO4J_MILLISECONDS = 60_000;

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
let token = null;

// What has not changed is not announced again.
function setText(element, text) {
  if (element !== undefined && element.textContent !== text) element.textContent = text;
}

// What came of the last click stays until the next one; how the sidecar is changes by itself.
const tell = (text) => setText(byId("news"), text);
const tellState = (text) => setText(byId("state"), text);

// A sidecar that has stopped without ending would be waited for without end.
function request(path, options = {}, milliseconds = ANSWER_MILLISECONDS) {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), milliseconds);
  return fetch(path, { ...options, signal: patience.signal }).finally(() => clearTimeout(timer));
}

// Keeping the page up to date

// Tells what is to be said of it.
async function refresh() {
  const answer = await request("/");
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const { generation, catalogue } = fresh.documentElement.dataset;
  if (generation !== root.dataset.generation) {
    forget();
    return "Another sidecar answers here now. Load the page again.";
  }
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const old = byId(part.id);
    if (old.innerHTML !== part.innerHTML) old.replaceChildren(...part.childNodes);
  }
  for (const row of fresh.querySelectorAll(".namespace tr[id]")) {
    const cells = byId(row.id)?.querySelectorAll(".number") ?? [];
    row.querySelectorAll(".number").forEach((cell, index) => setText(cells[index], cell.textContent));
  }
  if (catalogue === root.dataset.catalogue) return "";
  return "Procedures have changed. Load the page again to see them.";
}

// The token goes only to who has just answered as the same sidecar.
async function refreshAnd(act) {
  try {
    const news = await refresh();
    const problem = token === null ? "" : await act();
    if (token !== null && byId("sessions") !== null) await showRequests();
    if (token !== null && byId("repositories")?.hidden) await listRepositories();
    tellState(problem || news);
  } catch {
    forget();
    tellState("The sidecar does not answer.");
  }
}

async function keepUpToDate() {
  if (byId("refresh").checked && !document.hidden) await refreshAnd(showCalls);
  setTimeout(keepUpToDate, REFRESH_MILLISECONDS);
}

// Calls

const ask = (path, options = {}, milliseconds = ANSWER_MILLISECONDS) =>
  request(path, { ...options, headers: { Authorization: `Bearer ${token}` } }, milliseconds);

const askSessions = (path, options = {}) =>
  ask(`/v1/sessions${path}`, options, NEO4J_MILLISECONDS);

const askRepositories = (path) => ask(`/v1/repositories${path}`, {}, NEO4J_MILLISECONDS);

function forget(problem = "") {
  token = null;
  byId("calls").hidden = true;
  for (const name of ["running", "failed"]) byId(name).tBodies[0].replaceChildren();
  byId("problems").replaceChildren();
  forgetSessions();
  forgetRepositories();
  byId("token-form").hidden = false;
  byId("token-problem").textContent = problem;
  byId("token").toggleAttribute("aria-invalid", problem !== "");
}

// Tells what is wrong, if anything is.
async function showCalls() {
  const answers = await Promise.all([ask("/v1/calls"), ask("/v1/modules")]);
  if (answers.some(({ status }) => status === 401)) {
    forget("This is not the token of this sidecar.");
    byId("token").focus();
    return "";
  }
  const refused = answers.find(({ ok }) => !ok);
  if (refused !== undefined) return `The sidecar cannot tell its calls: status ${refused.status}.`;
  const [{ running, failed }, { modules }] = await Promise.all(answers.map((each) => each.json()));
  // Told to forget the token meanwhile.
  if (token === null) return "";
  showProblems(modules.filter(({ problems }) => problems.length > 0));
  byId("token-form").hidden = true;
  byId("calls").hidden = false;
  fill("running", running, (each) => [
    each.name,
    each.callId,
    each.user,
    each.database,
    each.seconds.toFixed(1),
    String(each.rows),
    progress(each),
    each.state,
  ]);
  fill("failed", failed, (each) => [
    each.at,
    each.name,
    each.code,
    each.callId,
    each.user,
    each.seconds.toFixed(3),
  ]);
  return "";
}

function showProblems(modules) {
  const items = modules.flatMap(({ module, problems }) =>
    problems.map((problem) => {
      const item = document.createElement("li");
      item.textContent = `${module}: ${problem}`;
      return item;
    }),
  );
  byId("problems").replaceChildren(...items);
  byId("no-problems").hidden = items.length > 0;
}

function progress({ done, total }) {
  if (done === null) return "-";
  return total === null ? String(done) : `${done} of ${total}`;
}

// Rows stay the same elements as long as their calls do, so that a button keeps the focus.
function fill(name, calls, textsOf) {
  const body = byId(name).tBodies[0];
  const before = new Map([...body.rows].map((row) => [row.dataset.call, row]));
  const rows = calls.map((call) => {
    const row = before.get(call.callId) ?? newRow(call.callId, textsOf(call).length);
    textsOf(call).forEach((text, index) => setText(row.cells[index], text));
    if (name === "running") offerCancel(row, call);
    return row;
  });
  for (const row of before.values()) if (!rows.includes(row)) row.remove();
  rows.forEach((row, index) => {
    if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null);
  });
  byId(`none-${name}`).hidden = calls.length > 0;
}

function newRow(callId, cells) {
  const row = document.createElement("tr");
  row.dataset.call = callId;
  for (let index = 0; index < cells; index += 1) row.insertCell();
  return row;
}

function offerCancel(row, call) {
  const cell = row.cells[8] ?? row.insertCell();
  const canBeCancelled = call.state === "running" || call.state === "waiting";
  if (!canBeCancelled) {
    cell.replaceChildren();
  } else if (cell.firstChild === null) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Cancel";
    button.setAttribute("aria-label", `Cancel ${call.name}, call ${call.callId}`);
    button.addEventListener("click", () => refreshAnd(() => cancel(call)));
    cell.append(button);
  }
}

async function cancel({ callId, name }) {
  const answer = await ask(`/v1/calls/${encodeURIComponent(callId)}/cancel`, { method: "POST" });
  if (answer.status === 202) tell(`The call to ${name} is being cancelled.`);
  else tell((await answer.json()).detail);
  return showCalls();
}

// Sessions

function forgetSessions() {
  if (byId("sessions") === null) return;
  for (const name of ["requests", "executions", "picture"]) byId(name).replaceChildren();
  for (const name of ["sessions", "session"]) byId(name).hidden = true;
  for (const name of ["session-title", "session-state", "sessions-problem"]) setText(byId(name), "");
  byId("session-id").value = "";
  byId("no-sessions").hidden = false;
}

async function showRequests() {
  const answer = await askSessions("");
  const { requests, problem, detail } = await answer.json();
  if (token === null) return;
  byId("sessions").hidden = false;
  byId("no-sessions").hidden = true;
  setText(byId("sessions-problem"), problem ?? detail ?? "");
  if (!requests) return;
  // Items stay the same elements, so that what is being typed stays, too.
  const before = new Map([...byId("requests").children].map((item) => [item.dataset.request, item]));
  const items = requests.map((each) => before.get(each.requestId) ?? newItem(each));
  for (const item of before.values()) if (!items.includes(item)) item.remove();
  byId("requests").append(...items.filter((item) => !item.isConnected));
  byId("none-requests").hidden = items.length > 0;
}

function element(tag, text, properties = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  return Object.assign(made, properties);
}

function newItem({ sessionId, requestId, stepId, statement, options, since }) {
  const item = document.createElement("li");
  item.dataset.request = requestId;
  const place = `session ${sessionId} · step ${stepId} · ${since.slice(0, 19).replace("T", " ")}`;
  const id = `answer-${requestId}`;
  const field = element(options === null ? "input" : "select", "", { id, required: true });
  if (options === null) field.autocomplete = "off";
  else field.append(...["", ...options].map((each) => element("option", each, { value: each })));
  const form = document.createElement("form");
  const label = element("label", "Answer", { htmlFor: id });
  label.append(element("span", ` ${statement}`, { className: "aloud" }));
  form.append(label, " ", field, " ", element("button", "Send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refreshAnd(() => send({ sessionId, requestId, answer: field.value }));
  });
  const show = element("button", "Show session", { type: "button" });
  show.append(element("span", ` ${sessionId}`, { className: "aloud" }));
  show.addEventListener("click", () => refreshAnd(() => showSession(sessionId)));
  form.append(" ", show);
  item.append(
    element("p", statement, { className: "statement" }),
    element("p", place, { className: "marks" }),
    form,
  );
  return item;
}

async function send(answer) {
  const options = { method: "POST", body: JSON.stringify(answer) };
  const reply = await askSessions("/answer", options);
  const told = await reply.json();
  tell(reply.ok ? `Answered. The session is ${told.status} now.` : told.detail);
  return reply.ok ? showSession(answer.sessionId) : "";
}

async function showSession(sessionId) {
  const answer = await askSessions(`/one?id=${encodeURIComponent(sessionId)}`);
  const told = await answer.json();
  if (token === null) return "";
  if (!answer.ok) {
    tell(told.detail);
    return "";
  }
  byId("session").hidden = false;
  setText(byId("session-title"), `Session ${told.id}`);
  const next = told.nextSteps.length > 0 ? `. Next: ${told.nextSteps.join(", ")}` : "";
  setText(byId("session-state"), `${told.workflow ?? "No workflow"}: ${told.status}${next}`);
  const rows = told.executions.map((each) =>
    rowOf([each.step, String(each.cycle), each.state, each.error ?? each.value]),
  );
  byId("executions").replaceChildren(...rows);
  byId("picture").replaceChildren(imageOf(told));
  byId("session-title").focus();
  return "";
}

function rowOf(texts) {
  const row = document.createElement("tr");
  row.append(...texts.map((text) => element("td", text)));
  return row;
}

function imageOf({ picture, description }) {
  const src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  return element("img", "", { alt: description, src });
}

// Repositories of code

function forgetRepositories() {
  if (byId("repositories") === null) return;
  for (const name of ["indexed", "statistics", "map"]) byId(name).replaceChildren();
  for (const name of ["repositories", "repository"]) byId(name).hidden = true;
  for (const name of ["repository-title", "repositories-problem"]) setText(byId(name), "");
  byId("no-repositories").hidden = false;
}

async function listRepositories() {
  const answer = await askRepositories("");
  const { repositories, problem, detail } = await answer.json();
  if (token === null) return;
  byId("repositories").hidden = false;
  byId("no-repositories").hidden = true;
  setText(byId("repositories-problem"), problem ?? detail ?? "");
  if (!repositories) return;
  const rows = repositories.map(({ repoId, status, indexedAt, entities }) => {
    const at = indexedAt?.slice(0, 19).replace("T", " ") ?? "-";
    const row = rowOf([repoId, status, at, String(entities), ""]);
    row.cells[3].className = "number";
    const button = element("button", "Show graph", { type: "button" });
    button.append(element("span", ` of ${repoId}`, { className: "aloud" }));
    button.addEventListener("click", () => refreshAnd(() => showRepository(repoId)));
    row.cells[4].append(button);
    return row;
  });
  byId("indexed").replaceChildren(...rows);
  byId("none-indexed").hidden = rows.length > 0;
}

async function showRepository(id) {
  const answer = await askRepositories(`/one?id=${encodeURIComponent(id)}`);
  const told = await answer.json();
  if (token === null) return "";
  if (!answer.ok) {
    tell(told.detail);
    await listRepositories();
    return "";
  }
  byId("repository").hidden = false;
  setText(byId("repository-title"), `Repository ${told.id}`);
  const rows = told.statistics.map(({ kind, key, count }) => rowOf([kind, key, String(count)]));
  for (const row of rows) row.cells[2].className = "number";
  byId("statistics").replaceChildren(...rows);
  byId("map").replaceChildren(imageOf(told));
  byId("repository-title").focus();
  return "";
}

// Filtering and copying

function filter() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const section of document.querySelectorAll(".namespace")) {
    const rows = [...section.querySelectorAll("tr[id]")];
    for (const row of rows) {
      const described = [row.cells[0], row.cells[1].querySelector("p")];
      const text = described.map((each) => each.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const visible = rows.filter((row) => !row.hidden).length;
    section.hidden = visible === 0;
    shown += visible;
  }
  byId("shown").textContent = `${shown} shown`;
}

async function copy(button) {
  const text = button.previousElementSibling.textContent;
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied: ${text}`);
  } catch {
    getSelection().selectAllChildren(button.previousElementSibling);
    tell("The browser does not let the page copy. The call is selected.");
  }
}

for (const part of document.querySelectorAll(".live, .copy")) part.hidden = false;
for (const part of document.querySelectorAll(".still")) part.hidden = true;
byId("filter").addEventListener("input", filter);
byId("procedures").addEventListener("click", (event) => {
  const button = event.target.closest(".copy");
  if (button !== null) copy(button);
});
byId("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  byId("token").value = "";
  await refreshAnd(showCalls);
});
byId("forget").addEventListener("click", () => {
  forget();
  byId("token").focus();
});
byId("session-form")?.addEventListener("submit", (event) => {
  event.preventDefault();
  refreshAnd(() => showSession(byId("session-id").value));
});
forget();
setTimeout(keepUpToDate, REFRESH_MILLISECONDS);
