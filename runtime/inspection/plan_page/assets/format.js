"use strict";
// Texts, and elements made of them: every text of a program becomes a text node, never markup.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function formatBytes(bytes) {
  const units = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  for (const [size, unit] of units) if (bytes >= size) return `${significant(bytes / size)} ${unit}`;
  return `${bytes} B`;
}

function formatSeconds(seconds) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "us"]];
  for (const [size, unit] of units) if (seconds >= size) return `${significant(seconds / size)} ${unit}`;
  return `${Math.round(seconds * 1e9)} ns`;
}

function significant(number) {
  return number >= 100 ? String(Math.round(number)) : String(Number(number.toPrecision(3)));
}

function formatCount(number) {
  return number.toLocaleString("en");
}

function counted(number, noun) {
  return `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// "stablehlo.dot_general" as "dot_general".
function shortName(operation) {
  return operation.slice(operation.indexOf(".") + 1);
}

// A text of at most `length` characters, shortened in the middle.
function shortened(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
}

// The tokens of a line of MLIR as elements.
function highlighted(line) {
  const fragment = document.createDocumentFragment();
  const tokens = /("[\w.$]+"(?=\()|\b(?:func|module|return)\b[\w.]*)|(%[\w#:]+)|((?:tensor|tuple|complex)<[^ ]*>|!\w[\w.]*(?:<[^>]*>)?)/g;
  let end = 0;
  for (const match of line.matchAll(tokens)) {
    fragment.append(line.slice(end, match.index));
    const kind = match[1] ? "operation" : match[2] ? "value" : "type";
    fragment.append(element("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  fragment.append(line.slice(end));
  return fragment;
}
