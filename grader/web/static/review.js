// Reviewing with the keyboard. The page goes on only after the server has confirmed the save; a review
// that could not be saved stays in the form.

"use strict";

const review = document.getElementById("review");
const saveStatus = document.getElementById("status");
const keys = document.getElementById("keys");
const useKeys = document.getElementById("use-keys");

let isUnsaved = false;
let isWarned = false;
let isSignedOut = false;

function showStatus(text, isBad = false) {
  saveStatus.textContent = text;
  saveStatus.classList.toggle("bad", isBad);
}

// The points of the chosen items.

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

// Saving: htmx sends the form, and follows the redirect of a successful save.

async function save() {
  if (isSignedOut) {
    // After signing in again in another window, forms need a new token.
    try {
      const response = await fetch("/api/v1/session");
      const token = (await response.json()).csrf_token;
      if (token) for (const each of document.querySelectorAll("[name=csrf]")) each.value = token;
    } catch {
      // Saving will report the problem.
    }
  }
  review.requestSubmit();
}

function isOfReview(event) {
  // The event's target is not always the element that sent the request.
  return event.detail.requestConfig?.elt === review;
}

document.addEventListener("DOMContentLoaded", () => {
  // While swapping, htmx would set style attributes, which the content security policy forbids.
  htmx.config.attributesToSettle = ["class"];
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (isOfReview(event)) showStatus("Saving …");
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo } = event.detail;
  const cameFrom = new URL(xhr.responseURL || location.href, location.href).pathname;
  const isElsewhere = xhr.status < 400 && cameFrom !== pathInfo.requestPath;
  if (isElsewhere) {
    // The response is the sign-in page, which must not replace the form.
    event.detail.shouldSwap = false;
    isSignedOut = true;
    if (isOfReview(event)) {
      showStatus("Not saved: you are signed out. Sign in in another window, then save again.", true);
    }
    return;
  }
  if (!isOfReview(event)) return;
  if ([412, 422, 503].includes(xhr.status) && xhr.responseText.includes('class="unsaved"')) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
    showStatus("");
  } else if (xhr.status >= 400) {
    isSignedOut = xhr.status === 403;
    showStatus(`Not saved: the service answered ${xhr.status}. Your review is still in the form; try again.`, true);
  }
});
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (isOfReview(event) && event.detail.xhr.getResponseHeader("HX-Redirect")) {
    isUnsaved = false;
    showStatus("Saved.");
  }
});
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    if (isOfReview(event)) {
      showStatus("Not saved: the service cannot be reached. Your review is still in the form; try again.", true);
    }
  });
}
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "grading") dress();
});

// Leaving: ask before unsaved changes are lost, and release the claim.

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
    showStatus(rel === "next" ? "This is the last answer." : "This is the first answer.");
  } else if (isUnsaved && !isWarned) {
    isWarned = true;
    showStatus("This is not saved yet. Press Ctrl and Enter to save, or the same key again to leave without saving.", true);
  } else {
    isUnsaved = false;
    link.click();
  }
}

// Earlier comments.

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
    // Without storage, keys are on again on the next page.
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
  // Without storage, keys are on.
}
