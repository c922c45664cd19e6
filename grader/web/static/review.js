// Reviewing by the keyboard. Nothing is left before the server has said that it is saved, and what
// could not be saved stays where it was typed.

"use strict";

const review = document.getElementById("review");
const saveStatus = document.getElementById("status");
const keys = document.getElementById("keys");
const useKeys = document.getElementById("use-keys");

let isUnsaved = false;
let isWarned = false;
let isSignedOut = false;

function tell(text, isBad = false) {
  saveStatus.textContent = text;
  saveStatus.classList.toggle("bad", isBad);
}

// What is chosen comes to so many points.

function sumUp(part) {
  const other = part.querySelector("[data-points-field]").value.trim().replace(",", ".");
  const chosen = [...part.querySelectorAll("[data-points]:checked")];
  const isNone = part.querySelector("[data-none]:checked");
  let worth = "–";
  if (other) worth = Number.isFinite(Number(other)) ? String(Number(other)) : "?";
  else if (chosen.length || isNone) {
    const hundredths = chosen.reduce((sum, each) => sum + Math.round(100 * each.dataset.points), 0);
    worth = String(hundredths / 100);
  }
  part.querySelector("output b").textContent = worth;
}

review.addEventListener("input", (event) => {
  isUnsaved = true;
  isWarned = false;
  const part = event.target.closest(".part");
  if (!part) return;
  const isNone = event.target.hasAttribute("data-none");
  if (event.target.checked && isNone) {
    for (const each of part.querySelectorAll("[data-points]")) each.checked = false;
  } else if (event.target.checked && event.target.dataset.points) {
    part.querySelector("[data-none]").checked = false;
  }
  sumUp(part);
});

// Saving: htmx sends the form; the page goes on by the address that comes back, or not at all.

async function save() {
  if (isSignedOut) {
    // Whoever has signed in again in another window has another token for forms.
    try {
      const response = await fetch("/api/v1/session");
      const token = (await response.json()).csrf_token;
      if (token) for (const each of document.querySelectorAll("[name=csrf]")) each.value = token;
    } catch {
      // Then saving says what is wrong.
    }
  }
  review.requestSubmit();
}

function isOfReview(event) {
  // An event names the element that it happens to, which is not always the one that asked.
  return event.detail.requestConfig?.elt === review;
}

document.addEventListener("DOMContentLoaded", () => {
  // Between the old part and the new one htmx would set style attributes, which are forbidden here.
  htmx.config.attributesToSettle = ["class"];
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (isOfReview(event)) tell("Saving …");
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo } = event.detail;
  const cameFrom = new URL(xhr.responseURL || location.href, location.href).pathname;
  const isElsewhere = xhr.status < 400 && cameFrom !== pathInfo.requestPath;
  if (isElsewhere) {
    // Another page came back, the one for signing in: it must not take the form's place.
    event.detail.shouldSwap = false;
    isSignedOut = true;
    if (isOfReview(event)) {
      tell("Not saved: you are signed out. Sign in in another window, then save again.", true);
    }
    return;
  }
  if (!isOfReview(event)) return;
  if ([412, 422, 503].includes(xhr.status) && xhr.responseText.includes('class="unsaved"')) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    tell("");
  } else if (xhr.status >= 400) {
    isSignedOut = xhr.status === 403;
    tell(`Not saved: the service answered ${xhr.status}. Your review is still in the form; try again.`, true);
  }
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (isOfReview(event) && event.detail.xhr.getResponseHeader("HX-Redirect")) {
    isUnsaved = false;
    tell("Saved.");
  }
});
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    if (isOfReview(event)) {
      tell("Not saved: the service cannot be reached. Your review is still in the form; try again.", true);
    }
  });
}
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "grading") dress();
});

// Leaving: with a question where something is unsaved, and with a word to the others.

window.addEventListener("beforeunload", (event) => {
  if (isUnsaved) event.preventDefault();
});
window.addEventListener("pagehide", () => {
  const csrf = review.elements.csrf.value;
  navigator.sendBeacon(review.action + "/claim", new URLSearchParams({ csrf, action: "leave" }));
});

function step(rel) {
  const link = document.querySelector(`.steps a[rel=${rel}]`);
  if (!link) {
    tell(rel === "next" ? "This is the last answer." : "This is the first answer.");
  } else if (isUnsaved && !isWarned) {
    isWarned = true;
    tell("This is not saved yet: Ctrl and Enter save it; the same key once more leaves it.", true);
  } else {
    isUnsaved = false;
    link.click();
  }
}

// Comments that were written before.

function insert(button) {
  const box = document.getElementById(button.dataset.into);
  box.value = (box.value.trim() ? box.value.trimEnd() + "\n" : "") + button.dataset.comment;
  box.focus();
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-comment]");
  if (button) insert(button);
});

function moveInList(event) {
  const list = event.target.closest(".reuse");
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!list || !by) return;
  event.preventDefault();
  const buttons = [...list.querySelectorAll("button")];
  const place = buttons.indexOf(event.target) + by;
  buttons[(place + buttons.length) % buttons.length].focus();
}

// Keys

function isForText(element) {
  return element.matches("textarea, select, input:not([type]), input[type=text]");
}

function press(key) {
  const item = review.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (item) {
    item.click();
    return true;
  }
  const go = {
    c: () => review.querySelector("textarea").focus(),
    s: () => review.querySelector("[data-comment]")?.focus(),
    n: () => step("next"),
    p: () => step("prev"),
    "?": () => keys.showModal(),
  }[key];
  if (go) go();
  return Boolean(go);
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || keys.open) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!event.repeat) save();
  } else if (event.key === "Escape") {
    document.activeElement.blur();
  } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) {
    moveInList(event);
    if (useKeys.checked && !isForText(document.activeElement) && press(event.key)) {
      event.preventDefault();
    }
  }
});

useKeys.addEventListener("change", () => {
  try {
    localStorage.setItem("review keys", useKeys.checked ? "on" : "off");
  } catch {
    // Then they are on again on the next page.
  }
});
document.getElementById("show-keys").addEventListener("click", () => keys.showModal());

function dress() {
  for (const each of document.querySelectorAll("[data-scripts]")) each.hidden = false;
}

dress();
try {
  useKeys.checked = localStorage.getItem("review keys") !== "off";
} catch {
  // Then they are on.
}
