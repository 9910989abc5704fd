"use strict";

// The pages are whole without this script, but for what needs the token. It keeps them up to date,
// follows links without losing the token, filters, copies, and shows what the token opens. The
// token is kept in memory alone. Each time before it is sent the page is requested again, and if
// that fails or is of another sidecar, the token is forgotten.

const REFRESH_MILLISECONDS = 2000;
const ANSWER_MILLISECONDS = 10_000;
// Neo4j, and steps that run after an answer, may take longer than a sidecar by itself.
const NEO4J_MILLISECONDS = 60_000;

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const main = byId("main");
let token = null;
// What the token opens: when it was last requested, the time of what is shown, and what is wrong.
const NOTHING_SHOWN = { at: 0, time: "", problem: "" };
let shown = NOTHING_SHOWN;
// Counts pages, so that an answer for one that was left is not shown on the next.
let visits = 0;
// Numbers requests, so that a late answer does not replace that to a newer request.
let requests = 0;
const latest = { page: 0, secrets: 0 };

function isOutdated(part, number) {
  if (number < latest[part]) return true;
  latest[part] = number;
  return false;
}

// What has not changed is not announced again.
function setText(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// What came of the last click stays until the next one; how the sidecar is changes by itself.
const tell = (text) => setText(byId("news"), text);
const tellState = (text) => setText(byId("state"), text);

// The sidecar has not answered, or not to the end.
class NoAnswer extends Error {}

const answered = (waiting) =>
  waiting.catch((cause) => {
    throw new NoAnswer("The sidecar does not answer", { cause });
  });

// A sidecar that has stopped without ending would be waited for without end.
function request(path, options = {}, milliseconds = ANSWER_MILLISECONDS) {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), milliseconds);
  return answered(fetch(path, { ...options, signal: patience.signal })).finally(() => clearTimeout(timer));
}

const ask = (path, { headers, ...options } = {}, milliseconds = NEO4J_MILLISECONDS) =>
  request(path, { ...options, headers: { ...headers, Authorization: `Bearer ${token}` } }, milliseconds);

// Making and changing elements

function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children);
  return made;
}

const isAlike = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id ?? "") === (other.id ?? "");

// Elements that stay keep the focus, what is typed in them, and whether they are open.
function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const kept = new Set(["open", "aria-invalid", ...(old.matches("tr, .group, .live, .still, .secret") ? ["hidden"] : [])]);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !kept.has(name)) old.setAttribute(name, value);
  }
  if (!old.hasAttribute("data-own")) morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  const wanted = new Set([...fresh.children].map(({ id }) => id).filter(Boolean));
  for (const child of [...old.children]) if (child.id && !wanted.has(child.id)) child.remove();
  const keyed = new Map([...old.children].filter(({ id }) => id).map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const match = child.id ? keyed.get(child.id) : place;
    if (!match || !isAlike(match, child)) {
      old.insertBefore(child, place);
    } else {
      if (match !== place) old.insertBefore(match, place);
      morph(match, child);
      place = match.nextSibling;
    }
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// Keeping the page up to date

async function fetchPage(path) {
  const answer = await request(path);
  if (!answer.ok && answer.status !== 404) throw new NoAnswer(`status ${answer.status}`);
  return new DOMParser().parseFromString(await answered(answer.text()), "text/html");
}

const here = () => location.pathname + location.search;

// Returns whether the same sidecar has answered.
async function refresh() {
  const visit = visits;
  const number = (requests += 1);
  const fresh = await fetchPage(here());
  if (fresh.documentElement.dataset.generation !== root.dataset.generation) {
    forget();
    location.reload();
    return false;
  }
  if (visit === visits && !isOutdated("page", number)) show(fresh);
  return true;
}

function show(fresh) {
  document.title = fresh.title;
  root.dataset.catalogue = fresh.documentElement.dataset.catalogue;
  for (const id of ["menu", "who", "health", "updated", "main"]) {
    morph(byId(id), fresh.getElementById(id));
  }
  revive();
}

// Shows what works with this script alone, and hides what is for pages without it.
function revive() {
  for (const part of document.querySelectorAll(".live")) part.hidden = false;
  for (const part of document.querySelectorAll(".still")) part.hidden = true;
  byId("forget").hidden = token === null;
  showLock();
  filter();
}

// The token goes only to who has just answered as the same sidecar.
async function refreshAnd(act) {
  try {
    if (!(await refresh())) return;
    const problem = token === null ? "" : await act();
    tellState(problem);
    root.classList.remove("away");
  } catch (error) {
    tellFailure(error);
  }
}

function tellFailure(error) {
  if (error instanceof NoAnswer) {
    tellAway();
    return;
  }
  console.error(error);
  tellState("The page cannot show the answer of the sidecar. The browser's console has the reason.");
}

function tellAway() {
  const again = token === null ? "" : " Enter the token again when it is back.";
  forget();
  // The time stays that of the last answer, and so does the sentence, which is announced once.
  if (root.classList.contains("away")) return;
  root.classList.add("away");
  const time = byId("updated").textContent;
  tellState(`The sidecar does not answer. What you see is from ${time} UTC.${again}`);
}

async function keepUpToDate() {
  if (byId("refresh").checked && !document.hidden) await refreshAnd(() => showSecrets(false));
  setTimeout(keepUpToDate, REFRESH_MILLISECONDS);
}

// Following links

async function visitPage(path, { y = null, push = true } = {}) {
  const visit = (visits += 1);
  if (push) {
    history.replaceState({ y: scrollY }, "");
    history.pushState({}, "", path);
  }
  tell("");
  try {
    const fresh = await fetchPage(here());
    if (visit !== visits) return;
    if (fresh.documentElement.dataset.generation !== root.dataset.generation) {
      location.reload();
      return;
    }
    // Nothing of the page before stays: its fields, filters and secrets are not those of this one.
    main.replaceChildren();
    shown = NOTHING_SHOWN;
    show(fresh);
    readFilter();
  } catch (error) {
    // The next refresh shows the page that was asked for.
    tellFailure(error);
    return;
  }
  const target = location.hash ? byId(decodeURIComponent(location.hash.slice(1))) : null;
  if (target) target.scrollIntoView();
  else scrollTo(0, y ?? 0);
  byId("title").focus({ preventScroll: true });
  if (token !== null) await refreshAnd(() => showSecrets(true));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || link.origin !== location.origin) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  visitPage(link.pathname + link.search + link.hash);
});

addEventListener("popstate", (event) => {
  if (event.state !== null) visitPage(here(), { y: event.state.y, push: false });
});

// The token, and what it opens

const place = () => main.querySelector("[data-token]");

function forget(problem = "") {
  token = null;
  shown = NOTHING_SHOWN;
  place()?.replaceChildren();
  byId("forget").hidden = true;
  showLock(problem);
}

function showLock(problem = "") {
  const holder = place();
  for (const part of main.querySelectorAll(".secret")) part.hidden = token === null;
  if (holder === null || token !== null || byId("token") !== null) {
    if (problem) setText(byId("token-problem"), problem);
    return;
  }
  holder.replaceChildren(
    make(
      "form",
      { id: "token-form", class: "lock" },
      make("label", { for: "token" }, "Token for HTTP"),
      make("p", { id: "token-help", class: "marks" }, "The content of ", make("code", {}, "run/http-token"), " in the data directory. This page keeps it in memory until you reload or close it."),
      make("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help token-problem" }),
      " ",
      make("button", {}, "Show"),
      make("p", { id: "token-problem", role: "alert", class: "bad" }, problem),
    ),
  );
}

async function unlock() {
  token = byId("token").value.trim();
  byId("token").value = "";
  await refreshAnd(() => showSecrets(true));
}

// Returns what is wrong, if anything is.
async function showSecrets(isNow) {
  const holder = place();
  if (holder === null) return "";
  const { source, panel, id, seconds } = holder.dataset;
  const pause = source === "panel" ? 1000 * Number(seconds) : 0;
  // Half a round is left, since rounds are not exact.
  if (!isNow && Date.now() - shown.at < pause - REFRESH_MILLISECONDS / 2) return shown.problem;
  const visit = visits;
  const given = token;
  const number = (requests += 1);
  const query = id === undefined ? "" : `?id=${encodeURIComponent(id)}`;
  const paths = source === "panel" ? [`/v1/panels/${panel}${query}`] : ["/v1/calls", "/v1/modules"];
  const answers = await Promise.all(paths.map((path) => ask(path)));
  if (token === given && answers.some(({ status }) => status === 401)) {
    forget("This is not the token of this sidecar.");
    byId("token").setAttribute("aria-invalid", "true");
    byId("token").focus();
    return "";
  }
  const contents = await Promise.all(answers.map(contentOf));
  // Told to forget the token, or left the page, meanwhile.
  if (token !== given || visit !== visits) return "";
  if (isOutdated("secrets", number)) return shown.problem;
  byId("forget").hidden = false;
  const problem = contents.map((each) => each.problem).find(Boolean);
  if (problem) {
    const isEmpty = shown.time === "";
    if (isEmpty) holder.replaceChildren(make("p", { class: "bad" }, problem));
    const told = isEmpty ? "" : `${problem}. What you see is from ${shown.time} UTC.`;
    shown = { ...shown, at: Date.now(), problem: told };
    return told;
  }
  shown = { ...shown, at: Date.now(), problem: "" };
  const fresh = make("div", {}, ...drawn(source, holder.dataset, contents));
  morphChildren(holder, fresh);
  shown = { ...shown, time: byId("updated").textContent };
  filter();
  return "";
}

async function contentOf(answer) {
  if (answer.ok) return answered(answer.json());
  const { detail } = await answer.json().catch(() => ({}));
  return { problem: detail ?? `The sidecar answers with status ${answer.status}` };
}

function drawn(source, { name, call }, [content, modules]) {
  if (source === "panel") return content.blocks.flatMap(blockOf);
  const { running, failed } = content;
  if (source === "failures") {
    return [failures(failed.filter((each) => each.name === name), "No call of it is among the latest failures.")];
  }
  if (call !== undefined) {
    return callOf([...running, ...failed].find(({ callId }) => callId === call));
  }
  const problems = modules.modules.flatMap((each) => each.problems.map((text) => `${each.module}: ${text}`));
  return [
    make("h2", {}, "Running calls"),
    runningCalls(running),
    make("h2", {}, "Calls that failed last"),
    failures(failed, "No call has failed."),
    make("h2", {}, "Modules with something wrong"),
    problems.length > 0
      ? make("ul", { id: "problems" }, ...problems.map((text) => make("li", {}, text)))
      : make("p", {}, "There is none."),
  ];
}

const time = (text) => make("time", { datetime: text }, text.slice(0, 19).replace("T", " "));

function callLink({ callId }) {
  return make("a", { href: `/calls/${encodeURIComponent(callId)}` }, make("code", {}, callId));
}

const procedureLink = ({ name }) =>
  make("a", { href: `/procedures/${encodeURIComponent(name)}` }, make("code", {}, name));

function runningCalls(calls) {
  if (calls.length === 0) return make("p", {}, "No call is open.");
  const heads = ["Procedure", "Call", "User", "Database", "#Seconds", "#Rows", "Progress", "State", "End it"];
  const rows = calls.map((each) => [
    `run-${each.callId}`,
    procedureLink(each),
    callLink(each),
    each.user,
    each.database,
    each.seconds.toFixed(1),
    String(each.rows),
    progress(each),
    each.state,
    cancelButton(each),
  ]);
  return tableOf("running", "Running calls", heads, rows);
}

function cancelButton({ callId, name, state }) {
  if (state !== "running" && state !== "waiting") return "";
  return make(
    "button",
    { type: "button", "data-cancel": callId, "data-name": name, "aria-label": `Cancel ${name}, call ${callId}` },
    "Cancel",
  );
}

function progress({ done, total }) {
  if (done === null) return "-";
  return total === null ? String(done) : `${done} of ${total}`;
}

function failures(calls, empty) {
  if (calls.length === 0) return make("p", {}, empty);
  const heads = ["Time", "Procedure", "Code", "Call", "User", "#Seconds"];
  const rows = calls.map((each) => [
    `failed-${each.callId}`,
    time(each.at),
    procedureLink(each),
    make("code", {}, each.code),
    callLink(each),
    each.user,
    each.seconds.toFixed(3),
  ]);
  return tableOf("failed", "Calls that failed", heads, rows);
}

function callOf(call) {
  if (call === undefined) {
    return [make("p", {}, "This call is neither open nor among the latest that failed.")];
  }
  const facts = [
    ["Procedure", procedureLink(call)],
    ["Call", make("code", {}, call.callId)],
    ["User", call.user],
    ["Database", call.database],
    ["Seconds", call.seconds.toFixed(3)],
    ...("code" in call
      ? [["Failed", time(call.at)], ["Code", make("code", {}, call.code)]]
      : [["Rows", String(call.rows)], ["Progress", progress(call)], ["State", call.state]]),
  ];
  const list = make(
    "dl",
    { class: "facts" },
    ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
  );
  return "code" in call ? [list] : [list, make("p", {}, cancelButton(call))];
}

async function cancel({ cancel: callId, name }) {
  const answer = await ask(`/v1/calls/${encodeURIComponent(callId)}/cancel`, { method: "POST" });
  if (answer.status === 202) tell(`The call to ${name} is being cancelled.`);
  else tell((await answered(answer.json())).detail);
  return showSecrets(true);
}

// A heading that begins with # is of a column of numbers. The first item of a row is its id.
function tableOf(id, label, heads, rows) {
  const isNumber = heads.map((each) => each.startsWith("#"));
  const head = heads.map((each, index) =>
    make("th", { scope: "col", class: isNumber[index] && "number" }, each.replace(/^#/, "")),
  );
  const body = rows.map(([key, ...cells]) =>
    make(
      "tr",
      { id: key },
      ...cells.map((each, index) => make("td", { class: isNumber[index] && "number" }, each)),
    ),
  );
  return make(
    "div",
    { class: "scroll", id: `scroll-${id}`, tabindex: "0", role: "region", "aria-label": label },
    make("table", { id }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)),
  );
}

// Panels

const BLOCKS = {
  text: ({ text, tone }) => [make("p", { class: tone === "bad" ? "bad" : "lead" }, text)],
  meter: meterOf,
  table: panelTable,
  question: questionOf,
  picture: pictureOf,
};

const blockOf = (block, index) => BLOCKS[block.kind](block, index);

function meterOf({ title, value, limit, note }, index) {
  const share = limit > 0 ? value / limit : 0;
  const label = `meter-${index}`;
  return [
    make(
      "div",
      { class: "meter" },
      make("span", { id: label }, title),
      make("strong", {}, `${value} of ${limit}`),
      make("meter", { min: 0, max: limit, low: limit * 0.1, value, "aria-labelledby": label }, `${Math.round(100 * share)} %`),
      make("span", { class: "marks" }, note),
    ),
  ];
}

function panelTable({ title, columns, rows, ids, empty, left_out: leftOut }, index) {
  const heading = make("h2", {}, title);
  if (rows.length === 0) return [heading, make("p", {}, empty)];
  const isNumber = (column) => rows.some((row) => typeof row[column] === "number");
  const numeric = columns.map((_, column) => isNumber(column));
  const heads = columns.map((each, column) => (numeric[column] ? `#${each}` : each));
  const made = rows.map((row, number) => {
    const cells = row.map(cellOf);
    const id = ids?.[number];
    if (id !== undefined) cells[0] = make("a", { href: `?id=${encodeURIComponent(id)}` }, cells[0]);
    return [id === undefined ? `row-${index}-${number}` : `row-${index}-${id}`, ...cells];
  });
  const rest = leftOut > 0 ? [make("p", { class: "marks" }, `${leftOut} more rows are not shown.`)] : [];
  return [heading, tableOf(`table-${index}`, title, heads, made), ...rest];
}

function cellOf(value) {
  if (value === null) return "-";
  if (typeof value === "object") return time(value.at);
  return String(value);
}

function questionOf({ id, about, text, options, note }) {
  const key = `answer-${id}`;
  const field = make(options === null ? "input" : "select", { id: key, required: true, autocomplete: options === null && "off" });
  if (options !== null) field.append(...["", ...options].map((each) => make("option", { value: each }, each)));
  const link = make("a", { href: `?id=${encodeURIComponent(about)}` }, about);
  return [
    make(
      "form",
      { class: "question", id: `question-${id}`, "data-question": id, "data-about": about },
      make("p", { class: "statement" }, text),
      make("p", { class: "marks" }, link, note && ` · ${note}`),
      make("label", { for: key }, "Answer", make("span", { class: "aloud" }, ` ${text}`)),
      " ",
      field,
      " ",
      make("button", {}, "Send"),
    ),
  ];
}

function pictureOf({ title, svg, description }, index) {
  const src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return [
    make("h2", {}, title),
    make(
      "div",
      { class: "scroll picture", id: `picture-${index}`, tabindex: "0", role: "region", "aria-label": title },
      make("img", { alt: description, src }),
    ),
  ];
}

async function send(form) {
  const { question, about } = form.dataset;
  const { panel } = place().dataset;
  const body = JSON.stringify({ id: about, question, text: byId(`answer-${question}`).value });
  const headers = { "Content-Type": "application/json" };
  const reply = await ask(`/v1/panels/${panel}/answer`, { method: "POST", headers, body });
  const content = await answered(reply.json());
  tell(reply.ok ? content.message : content.detail);
  return showSecrets(true);
}

// Filtering, copying and keys

function filter() {
  const field = byId("filter");
  if (field === null) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [...main.querySelectorAll("tbody tr")];
  for (const row of rows) {
    const text = (row.dataset.text ?? row.textContent).toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
  for (const group of main.querySelectorAll(".group")) {
    group.hidden = group.querySelector("tbody tr:not([hidden])") === null;
  }
  const text = words.length > 0 ? `${rows.filter((row) => !row.hidden).length} shown` : "";
  setText(byId("shown"), text);
}

function readFilter() {
  const field = byId("filter");
  if (field !== null) field.value = new URLSearchParams(location.search).get("q") ?? "";
  filter();
}

function writeFilter() {
  const address = new URL(location.href);
  if (byId("filter").value) address.searchParams.set("q", byId("filter").value);
  else address.searchParams.delete("q");
  // A page is the same one while it is filtered, so "back" does not undo letters.
  history.replaceState(history.state, "", address);
  filter();
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

function stepRow(by) {
  const links = [...main.querySelectorAll("tbody tr:not([hidden]) a:first-of-type")].filter(
    (link) => link.offsetParent !== null && link.closest("tr").querySelector("a") === link,
  );
  const index = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  links[index < 0 ? (by > 0 ? 0 : links.length - 1) : index + by]?.focus();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type=checkbox]), select, textarea") !== null;
  if (event.key === "Escape" && event.target.id === "filter") {
    event.target.value = "";
    writeFilter();
    event.target.blur();
  }
  if (isTyping || !byId("keys").checked || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    if (byId("filter") !== null) byId("filter").focus();
    else visitPage("/procedures").then(() => byId("filter").focus());
  }
  if (event.key === "j" || event.key === "k") stepRow(event.key === "j" ? 1 : -1);
});

document.addEventListener("input", (event) => {
  if (event.target.id === "filter") writeFilter();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button === null) return;
  if (button.matches(".copy")) copy(button);
  if (button.dataset.cancel) refreshAnd(() => cancel(button.dataset));
  if (button.id === "forget") {
    forget();
    byId("token")?.focus();
  }
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.id === "token-form") unlock();
  if (form.dataset.question) refreshAnd(() => send(form));
  if (form.dataset.find) visitPage(`${form.dataset.find}?id=${encodeURIComponent(byId("find").value)}`);
});

history.replaceState(history.state ?? {}, "");
revive();
readFilter();
setTimeout(keepUpToDate, REFRESH_MILLISECONDS);
