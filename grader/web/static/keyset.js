// What pages do beside being read: mathematics is set, and what was written is kept in the browser.

"use strict";

function setMath(root) {
  for (const each of root.querySelectorAll(".math:not([data-set])")) {
    const tex = each.textContent;
    each.dataset.set = "";
    try {
      katex.render(tex, each, {
        displayMode: each.classList.contains("display"),
        throwOnError: true,
        trust: false,
        output: "htmlAndMathml",
      });
    } catch {
      each.textContent = tex; // What cannot be set is shown as it was written.
    }
  }
}

// Drafts: what stands in a form survives a closed window, a lost session and a power cut.

function draftKey(form) {
  return "draft " + location.pathname + " " + form.id;
}

function keepDraft(form) {
  const kept = {};
  for (const area of form.querySelectorAll("textarea")) {
    if (area.value) kept[area.name] = area.value;
  }
  try {
    localStorage.setItem(draftKey(form), JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing is no reason to disturb.
  }
}

function restoreDraft(form) {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(draftKey(form)) || "{}");
  } catch {
    return;
  }
  for (const area of form.querySelectorAll("textarea")) {
    if (!area.value && typeof kept[area.name] === "string") {
      area.value = kept[area.name];
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}

document.addEventListener("DOMContentLoaded", () => {
  setMath(document);
  const form = document.getElementById("answer");
  if (form) {
    form.addEventListener("input", () => keepDraft(form));
    restoreDraft(form);
  }
});
document.addEventListener("htmx:afterSwap", (event) => setMath(event.target));
