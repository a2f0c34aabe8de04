"use strict";
const $ = id => document.getElementById(id);
const token = document.body.dataset.token;
const most = 240; // points of a curve
let told = 0; // when the state last said why something failed, which a status is not to replace at once
const curves = {polls: [], changes: [], budget: [], fresh: {}};

const number = (x, digits = 3) => x === 0 ? "0" : Math.abs(x) >= 1000 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(digits)));
const count = (x, what) => { const n = number(x); return `${n} ${what}${n === "1" ? "" : "s"}`; };
const percent = x => (100 * x).toFixed(1) + " %";
const when = t => new Date(t).toISOString().slice(0, 16).replace("T", " ");

function el(tag, text, attributes = {}) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  return e;
}

function keep(list, value) {
  list.push(value);
  if (list.length > most) list.shift();
}

// draw draws curves from the least to the greatest value, or from 0.
function draw(svg, lines, low, high) {
  const paths = lines.filter(l => l.values.length > 1).map(l => {
    const step = 400 / Math.max(l.values.length - 1, 1);
    const y = v => 145 - 140 * (v - low) / Math.max(high - low, 1e-12);
    const p = document.createElementNS("http://www.w3.org/2000/svg", "path");
    p.setAttribute("class", "l" + l.colour);
    p.setAttribute("d", l.values.map((v, i) => (i ? "L" : "M") + (i * step).toFixed(1) + " " + y(v).toFixed(1)).join(""));
    return p;
  });
  svg.replaceChildren(...paths);
}

// rows writes a table. Rows and buttons that are there stay, lest they vanish under a finger.
function rows(body, all) {
  while (body.rows.length > all.length) body.lastElementChild.remove();
  all.forEach((cells, i) => {
    const tr = body.rows[i] || body.appendChild(el("tr"));
    cells.forEach((c, k) => {
      const td = tr.cells[k] || tr.appendChild(el("td"));
      if (typeof c === "function") c(td);
      else if (td.textContent !== c) td.textContent = c;
    });
  });
}

const freshness = s => s.rivals && s.rivals.length ? s.rivals.map(r => [r.name, r.freshness]) : [["freshness", s.freshness]];

// remember adds a point to the curves. Rates are an hour.
function remember(s) {
  keep(curves.polls, s.polls_rate);
  keep(curves.changes, s.changes_rate);
  keep(curves.budget, s.budget);
  for (const [name, value] of freshness(s)) keep(curves.fresh[name] = curves.fresh[name] || [], value);
}

function hourly(s) {
  for (const name of ["polls_rate", "changes_rate", "budget"]) s[name] *= 3600;
  return s;
}

function charts(s) {
  remember(s);
  const high = Math.max(...curves.polls, ...curves.budget, 1e-9);
  draw($("rates"), [{values: curves.budget, colour: 2}, {values: curves.polls, colour: 0}, {values: curves.changes, colour: 1}], 0, high);
  $("rates").setAttribute("aria-label", `Polls and changes an hour, at most ${number(high)}: now ${number(s.polls_rate)} and ${number(s.changes_rate)}`);

  $("rates-scale").textContent = `0 to ${number(high)} an hour`;

  const named = freshness(s);
  const all = Object.values(curves.fresh).flat().filter(v => v > 0);
  const colours = [0, 1, 3];
  if (all.length) {
    const low = Math.min(...all);
    draw($("fresh"), named.map(([name], i) => ({values: curves.fresh[name], colour: colours[i]})), low, Math.max(...all));
    $("fresh-scale").textContent = `${percent(low)} to ${percent(Math.max(...all))}`;
    $("fresh").setAttribute("aria-label", "Freshness, now: " + named.map(([name, v]) => `${name} ${percent(v)}`).join(", "));
    $("fresh-legend").replaceChildren(...named.map(([name, v], i) => el("span", `${name} ${percent(v)}`, {class: "k" + colours[i]})));
  }
}

// pauser keeps the button of a host up to date.
const pauser = h => td => {
  let b = td.firstElementChild;
  if (!b) {
    b = td.appendChild(el("button", undefined, {type: "button"}));
    b.onclick = () => post("/pause", {host: b.dataset.host, on: String(b.dataset.paused !== "true")});
  }
  b.dataset.host = h.name;
  b.dataset.paused = h.paused;
  b.textContent = h.paused ? "Go on" : "Pause";
  b.setAttribute("aria-label", (h.paused ? "Go on with " : "Pause ") + h.name);
};

function hosts(s) {
  rows($("hosts"), s.hosts.map(h => [h.name, number(h.pages), number(h.polls), number(h.changes), number(h.failures), number(h.vetoes), number(h.delay), pauser(h)]));
  $("h-hosts").textContent = `Hosts with the most trouble (${s.hosts.length} of ${s.all_hosts})`;
}

function show(s) {
  hourly(s);
  if (Date.now() > told + 10000) $("state").textContent = (s.demo ? "Demonstration, " : "") + when(s.time) + " UTC";
  $("polls_rate").textContent = number(s.polls_rate);
  $("budget").textContent = `of ${number(s.budget)}: ${percent(s.spent)} spent`;
  $("changes_rate").textContent = number(s.changes_rate);
  $("changes").textContent = `${number(s.changes)} in ${count(s.learnt, "answer")}`;
  $("freshness").textContent = s.freshness ? percent(s.freshness) : "–";
  $("truth").textContent = s.truth ? "as the web knows" : "expected";
  $("price").textContent = number(s.price);
  $("unit").textContent = s.unit;
  $("pages").textContent = number(s.pages);
  $("waiting").textContent = `${number(s.waiting)} without a copy, ${number(s.barred)} forbidden` + (s.gone ? `, ${number(s.gone)} gone` : "");
  $("trouble").textContent = `${number(s.failures)}, ${number(s.vetoes)}`;
  $("in_flight").textContent = `${count(s.in_flight, "poll")} under way`;
  charts(s);
  hosts(s);
  rows($("whatif"), (s.what_if || []).map(w => [w.budget, number(w.polls), number(w.detections), percent(w.freshness)]));
  rows($("workers"), s.workers.map((w, i) => [String(i + 1), number(w.hosts), `${number(w.busy, 2)} of ${w.workers}`, number(w.queue)]));
  $("points").textContent = (s.points || []).length > 1 ? "Access points: " + s.points.map(p => `${p.name} ${count(p.hosts, "host")}`).join(", ") : `${count(s.moves, "host")} moved between groups`;
  if (s.rivals && s.rivals.length) {
    $("rivals-section").hidden = false;
    rows($("rivals"), s.rivals.map(r => [r.name, number(r.polls), number(r.found), percent(r.freshness), number(r.delay)]));
  }
}

// ask returns what the crawler answers, and the words of what went wrong. It may not answer at all.
async function ask(path, options) {
  try {
    const answer = await fetch(path, options);
    const text = await answer.text();
    return answer.ok ? {ok: true, text} : {text: text.trim() || "The crawler answered " + answer.status + "."};
  } catch {
    return {text: "The crawler does not answer."};
  }
}

async function post(path, fields) {
  const answer = await ask(path, {method: "POST", body: new URLSearchParams({...fields, token}), headers: {Accept: "application/json"}});
  if (!answer.ok) {
    $("state").textContent = answer.text;
    told = Date.now();
  }
  return answer.ok;
}

async function detail(url) {
  const answer = await ask("/detail?url=" + encodeURIComponent(url));
  if (!answer.ok) {
    $("detail").textContent = answer.text;
    return;
  }
  const d = JSON.parse(answer.text);
  const facts = [d.state];
  if (d.rate) facts.push(`changes ${count(d.rate.median, "time")} a day (${number(d.rate.low)} to ${number(d.rate.high)} with 80 %)`);
  if (!d.due.startsWith("0001")) facts.push("due " + when(d.due) + " UTC");
  facts.push("a poll now is worth " + number(d.worth));
  const poll = el("button", "Poll it now", {type: "button", id: "poll-now"});
  poll.onclick = async () => {
    if (await post("/poll", {url})) setTimeout(() => detail(url), 1500);
  };
  const history = el("ul", undefined, {class: "history", "aria-label": "Latest polls"});
  for (const v of d.history || []) history.append(el("li", when(v.time) + " " + v.result, {class: v.result.split(" ")[0]}));
  $("detail").replaceChildren(el("h3", d.url), el("p", facts.join("; ") + "."), history, poll);
}

$("search").onsubmit = async e => {
  e.preventDefault();
  const answer = await ask("/search?q=" + encodeURIComponent($("q").value));
  const {urls, more} = answer.ok ? JSON.parse(answer.text) : {urls: []};
  $("results").replaceChildren(...urls.map(url => {
    const li = el("li"), b = el("button", url, {type: "button"});
    b.onclick = () => detail(url);
    li.append(b);
    return li;
  }));
  $("detail").textContent = !answer.ok ? "The search failed: " + answer.text :
    !urls.length ? "No page has that in its URL." :
    more ? "More pages than these " + urls.length + " have that in their URL. Write more of it." : "";
  if (urls.length === 1) detail(urls[0]);
};

const events = new EventSource("/events");
events.addEventListener("past", e => {
  Object.assign(curves, {polls: [], changes: [], budget: [], fresh: {}});
  JSON.parse(e.data).forEach(s => remember(hourly(s)));
});
events.onopen = () => { told = 0; };
events.onmessage = e => show(JSON.parse(e.data));
events.onerror = () => { $("state").textContent = "The crawler does not answer; trying again."; };
