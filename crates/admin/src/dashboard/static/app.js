// Keeps the page up to date. What is shown, and how, the page itself says in its attributes; all text is put in as
// text, never as HTML. Without this script the page is complete, and stands still.
"use strict";

const POINTS = 300;
const PATIENCE_MS = 5000;
const WIDTH = 300;
const HEIGHT = 60;
const UNKNOWN = "\u2013";

// Numbers as figures.rs writes them.

const count = (value) => Math.max(value, 0).toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
const rate = (value) => (value > 0 && value < 99.95 ? value.toFixed(1) : count(value));
const three = (value) => value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0);

function bytes(value) {
  value = Math.max(value, 0);
  if (value < 1023.5) return value.toFixed(0) + " B";
  for (const unit of ["KB", "MB", "GB", "TB"]) {
    value /= 1024;
    if (value < 999.5) return three(value) + " " + unit;
  }
  return three(value / 1024) + " PB";
}

function time(us) {
  if (us < 999.5) return us.toFixed(0) + " \u00b5s";
  if (us < 999500) return three(us / 1e3) + " ms";
  return us < 99.95e6 ? three(us / 1e6) + " s" : age(us / 1e6);
}

function age(secs) {
  secs = Math.floor(Math.max(secs, 0));
  const [minutes, hours, days] = [60, 3600, 86400].map((unit) => Math.floor(secs / unit));
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${secs % 60} s` : `${secs} s`;
}

const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
const share = (value) => (value * 100).toFixed(1) + " %";

const WRITERS = {
  count, rate, bytes, time, age, clock, share,
  bar: share,
  status: String,
  byterate: (value) => bytes(value) + "/s",
};

function shown(kind, value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value !== "number") return String(value);
  return (WRITERS[kind] || count)(value);
}

// Values.

const at = (live, pointer) =>
  pointer.split("/").slice(1).reduce((value, name) => (value === null || value === undefined ? value : value[name]), live);

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function putValues(live) {
  for (const element of document.querySelectorAll("[data-at]")) {
    setText(element, shown(element.dataset.as, at(live, element.dataset.at)));
  }
}

// Tables.

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function fill(cell, field, kind, value) {
  const text = shown(kind, value);
  if (kind === "id") {
    const link = document.createElement("a");
    link.href = "transaction?id=" + encodeURIComponent(text);
    link.textContent = text;
    cell.replaceChildren(link);
  } else if (kind === "bar") {
    const bar = svg("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(svg("rect", { width: Math.min(Math.max(value || 0, 0), 1) * 100, height: 8 }));
    cell.replaceChildren(bar, text);
  } else if (kind === "status" || field === "state") {
    const mark = document.createElement("span");
    if (kind === "status") {
      mark.className = "s" + Math.floor((value || 0) / 100);
    } else {
      mark.className = "state";
      mark.dataset.state = text;
    }
    mark.textContent = text;
    cell.replaceChildren(mark);
  } else {
    setText(cell, text);
  }
}

function row(columns) {
  const row = document.createElement("tr");
  for (const column of columns) {
    const cell = row.insertCell();
    cell.className = column.className;
    cell.dataset.field = column.dataset.field;
  }
  return row;
}

function putTable(table, rows) {
  const columns = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  for (const empty of body.querySelectorAll(".empty")) empty.remove();
  while (body.rows.length > rows.length) body.deleteRow(-1);
  while (body.rows.length < rows.length) body.append(row(columns));
  rows.forEach((values, place) => {
    const cells = body.rows[place].cells;
    columns.forEach((column, number) => {
      const { field, as } = column.dataset;
      const value = values[field];
      const cell = cells[number];
      const key = String(value);
      if (cell.dataset.key === key) return;
      cell.dataset.key = key;
      fill(cell, field, as, value);
    });
  });
  if (rows.length === 0) {
    const empty = body.insertRow();
    empty.className = "empty";
    const cell = empty.insertCell();
    cell.colSpan = columns.length;
    cell.textContent = table.dataset.empty;
  }
}

function putTables(live) {
  for (const table of document.querySelectorAll("table[data-list]")) {
    putTable(table, live[table.dataset.list] || []);
  }
}

// Charts.

let series = { at: [] };
let hovered = null;

function append(more) {
  for (const name of Object.keys(more)) {
    series[name] = (series[name] || []).concat(more[name]).slice(-POINTS);
  }
}

function stack(lists) {
  let below = [];
  return lists.slice().reverse().map((list) => (below = list.map((value, place) => (value || 0) + (below[place] || 0)))).reverse();
}

function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8].find((step) => step * power >= value) || 10) * power;
}

// How high a value is drawn, from 0 to 1. Times have a logarithmic scale: they go from microseconds to minutes.
function scaleOf(lines, kind) {
  const values = lines.flat().filter((value) => value !== null && value !== undefined);
  const highest = Math.max(0, ...values);
  if (kind !== "time") {
    const top = ceiling(highest);
    return { top, floor: null, height: (value) => Math.min(Math.max(value / top, 0), 1) };
  }
  const lowest = Math.min(highest, ...values.filter((value) => value > 0));
  const floor = 10 ** Math.floor(Math.log10(Math.max(lowest, 1)));
  const top = Math.max(10 ** Math.ceil(Math.log10(Math.max(highest, 1))), floor * 10);
  const height = (value) => (value > floor ? Math.min(Math.log(value / floor) / Math.log(top / floor), 1) : 0);
  return { top, floor, height };
}

function paths(values, scale) {
  let line = "", area = "", start = null;
  const x = (place) => WIDTH - (values.length - 1 - place);
  const close = (end) => {
    if (start !== null) area += `L${end} ${HEIGHT}Z`;
    start = null;
  };
  values.forEach((value, place) => {
    if (value === null || value === undefined) return close(x(Math.max(place - 1, 0)));
    const point = `${x(place)} ${(HEIGHT - 1 - scale.height(value) * (HEIGHT - 2)).toFixed(1)}`;
    if (start === null) {
      start = x(place);
      area += `M${start} ${HEIGHT}L${point}`;
      line += "M" + point;
    } else {
      area += "L" + point;
      line += "L" + point;
    }
  });
  close(WIDTH);
  return [line, area];
}

function putChart(chart) {
  const lists = chart.dataset.series.split(" ").map((name) => series[name] || []);
  const lines = chart.classList.contains("stacked") ? stack(lists) : lists;
  const scale = scaleOf(lines, chart.dataset.as);
  lines.forEach((values, number) => {
    const [line, area] = paths(values, scale);
    chart.children[2 * number].setAttribute("d", area);
    chart.children[2 * number + 1].setAttribute("d", line);
  });
  for (const end of ["top", "floor"]) {
    const label = chart.parentElement.querySelector(":scope > ." + end);
    if (label) setText(label, scale[end] === null ? "" : shown(chart.dataset.as, scale[end]));
  }
}

// The legends show the last second, or the one that is pointed at.
function putLegends() {
  const place = hovered === null ? series.at.length - 1 : hovered;
  for (const element of document.querySelectorAll("[data-last]")) {
    const values = series[element.dataset.last] || [];
    setText(element, shown(element.dataset.as, values[place]));
  }
  for (const element of document.querySelectorAll("figure time")) {
    setText(element, hovered === null ? "" : clock(series.at[hovered] * 1000) + " UTC");
  }
  for (const plot of document.querySelectorAll(".plot")) {
    let line = plot.querySelector(".cursor");
    if (!line) {
      line = svg("line", { class: "cursor", y1: 0, y2: HEIGHT });
      plot.querySelector("svg").append(line);
    }
    const x = hovered === null ? -9 : WIDTH - (series.at.length - 1 - hovered);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  }
}

function follow(plot) {
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const ago = Math.round((1 - (event.clientX - box.left) / box.width) * WIDTH);
    const place = series.at.length - 1 - ago;
    hovered = place >= 0 && ago >= 0 ? place : null;
    putLegends();
  });
  plot.addEventListener("pointerleave", () => {
    hovered = null;
    putLegends();
  });
}

// The poll: once a second, and not while nobody sees the page.

const pulse = document.getElementById("pulse");

function query() {
  const query = new URLSearchParams(location.search);
  query.set("rows", location.pathname.endsWith("/transactions") ? 50 : 12);
  if (series.at.length > 0) query.set("since", series.at[series.at.length - 1]);
  return query;
}

function put(live) {
  append(live.series);
  putValues(live);
  putTables(live);
  document.querySelectorAll("svg.lines").forEach(putChart);
  putLegends();
}

async function poll() {
  if (!document.hidden) {
    try {
      const answer = await fetch("live?" + query(), { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(String(answer.status));
      put(await answer.json());
      pulse.className = "live";
      pulse.title = "up to date";
    } catch (error) {
      pulse.className = "lost";
      pulse.title = "no answer: " + error.message;
    }
  }
  setTimeout(poll, 1000);
}

document.querySelectorAll(".plot").forEach(follow);
poll();
