// Keeps the screen live: on every tick the same address is asked for its inner part, and what changed is put in place.
// Nothing is made of text here: the server escapes, we only move nodes.

const main = document.getElementById("main");
const since = document.getElementById("since");
const CAN_FOCUS = "a, button, input, summary, g.box";
const PATIENCE_MS = 5000; // for an answer
const FRESH_MS = 3000; // older than this is said
let asking = false;
let paused = false;
let pressed = false; // a click on what is replaced between press and release is lost
let answered = true; // to the last question
let updated = Date.now();

// The page says times with their zone; here is the one of who reads.
function localTimes(root) {
  for (const each of root.querySelectorAll("time[data-ms]")) each.title = new Date(Number(each.dataset.ms)).toString();
}

function reads() {
  const focused = document.activeElement;
  return (focused && focused.closest("form, details[open]")) || !window.getSelection().isCollapsed;
}

function busy() {
  return paused || pressed || document.hidden || reads();
}

// What stands still must not look live: it says since when, and why.
function tellAge() {
  const late = Date.now() - updated;
  const why = paused ? "paused" : !answered ? "no answer" : reads() ? "while something is selected or open" : asking ? "waiting for an answer" : "no connection";
  since.textContent = late > FRESH_MS ? `not updated for ${Math.round(late / 1000)} s: ${why}` : "";
  document.body.classList.toggle("stale", late > FRESH_MS && !paused);
}

// Puts the new nodes in place of the old ones; who walks with the keyboard stays where they are.
function replace(nodes) {
  const at = [...main.querySelectorAll(CAN_FOCUS)].indexOf(document.activeElement);
  main.replaceChildren(...nodes);
  if (at >= 0) main.querySelectorAll(CAN_FOCUS)[at]?.focus({ preventScroll: true });
}

async function refresh() {
  if (asking || busy()) return;
  asking = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Fragment": "1" }, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    const text = await answer.text();
    answered = true;
    if (busy()) return; // since it was asked for
    const opened = [...main.querySelectorAll("details[open]")].map((each) => each.id);
    const fresh = new DOMParser().parseFromString(`<main>${text}</main>`, "text/html").querySelector("main");
    localTimes(fresh);
    for (const id of opened) fresh.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
    const scrolled = [...main.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    if (fresh.innerHTML !== main.innerHTML) replace(fresh.childNodes);
    [...main.querySelectorAll(".scroll")].forEach((each, at) => { each.scrollLeft = scrolled[at] ?? 0; });
    updated = Date.now();
  } catch {
    answered = false;
  } finally {
    asking = false;
    tellAge();
  }
}

function open(box) {
  const pane = document.getElementById(`event-${box.dataset.event}`);
  if (!pane) return;
  pane.open = true;
  pane.scrollIntoView({ block: "nearest" });
  pane.querySelector("summary").focus();
}

function released() { pressed = false; }
document.addEventListener("pointerdown", () => { pressed = true; setTimeout(released, 1000); }); // a release elsewhere is not told
document.addEventListener("pointerup", () => setTimeout(released)); // after the click

main.addEventListener("click", (event) => {
  const box = event.target.closest("g.box");
  if (box) open(box);
});

main.addEventListener("keydown", (event) => {
  const box = event.target.closest?.("g.box");
  if (!box) return;
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(box); }
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const boxes = [...main.querySelectorAll("g.box")];
    const next = boxes[boxes.indexOf(box) + (event.key === "ArrowRight" ? 1 : -1)];
    if (next) next.focus();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "p" && !pause.hidden) pause.click();
  const tabs = [...document.querySelectorAll("a.tab")];
  if (/^[1-9]$/.test(event.key) && tabs[Number(event.key) - 1]) tabs[Number(event.key) - 1].click();
  if (event.key === "/") { const field = document.querySelector("input[name=match]"); if (field) { event.preventDefault(); field.focus(); } }
});

// What is shown stays as it is until it is asked to go on.
const pause = document.getElementById("pause");
pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", String(paused));
  pause.textContent = paused ? "go on" : "pause";
  document.body.classList.toggle("paused", paused);
  refresh();
  tellAge();
});

localTimes(document);
pause.hidden = !main.dataset.live;

// A tab that nobody sees holds no connection: a browser has six for a host, for all its tabs.
let stream = null;
function listen() {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (!stream) {
    stream = new EventSource("/events");
    stream.addEventListener("tick", refresh);
    stream.addEventListener("error", () => { answered = false; });
  }
}
if (main.dataset.live) {
  listen();
  setInterval(tellAge, 500);
  document.addEventListener("visibilitychange", listen);
  window.addEventListener("pagehide", () => { stream?.close(); stream = null; });
  window.addEventListener("pageshow", listen);
}
