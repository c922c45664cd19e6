// Copy buttons: <button type="button" hidden data-copy="#secret">Copy</button> copies the text of
// what its selector finds. Without scripts nothing can be copied, so the button stays hidden.

"use strict";

const SAID_MILLISECONDS = 2000;

function showCopyButtons(root) {
  for (const each of root.querySelectorAll("button[data-copy]")) each.hidden = false;
}

function textOf(element) {
  return "value" in element ? element.value : element.textContent.trim();
}

function select(element) {
  if ("value" in element) {
    element.select();
    return;
  }
  const range = document.createRange();
  range.selectNodeContents(element);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

async function copy(element) {
  try {
    await navigator.clipboard.writeText(textOf(element));
    return true;
  } catch {
    // Without HTTPS there is no clipboard to write to; selecting and copying by hand always works.
    select(element);
    return document.execCommand("copy");
  }
}

// One live region for all buttons; it must exist before its text changes.
function speaker() {
  let found = document.getElementById("copied");
  if (!found) {
    found = document.createElement("span");
    found.id = "copied";
    found.className = "hidden";
    found.setAttribute("role", "status");
    document.querySelector("main").append(found);
  }
  return found;
}

function say(button, words) {
  button.dataset.label ??= button.textContent;
  button.textContent = words;
  speaker().textContent = words;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => {
    button.textContent = button.dataset.label;
    speaker().textContent = "";
  }, SAID_MILLISECONDS);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  const element = button && document.querySelector(button.dataset.copy);
  if (element) say(button, (await copy(element)) ? "Copied" : "Selected: press Ctrl+C");
});
document.addEventListener("DOMContentLoaded", () => {
  speaker();
  showCopyButtons(document);
});
document.addEventListener("htmx:afterSwap", (event) => showCopyButtons(event.target));
