// Drafts: the service stores the answer form, and the browser keeps a copy until the service has
// confirmed. A draft survives a closed window, an expired session and a power cut.

"use strict";

const KEEP_AFTER_MILLISECONDS = 1500;
const NOT_KEPT = new Set(["csrf", "action"]);

function draftName(form) {
  return "draft " + form.dataset.draft;
}

function written(form) {
  const fields = {};
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && !NOT_KEPT.has(name)) fields[name] = value;
  }
  return fields;
}

function keepLocally(form) {
  try {
    localStorage.setItem(draftName(form), JSON.stringify(written(form)));
  } catch {
    // Without storage there is only the copy of the service.
  }
}

function takeLocal(form) {
  try {
    return JSON.parse(localStorage.getItem(draftName(form)));
  } catch {
    return null;
  }
}

function forgetLocal(form) {
  try {
    localStorage.removeItem(draftName(form));
  } catch {
    // Without storage there is nothing to remove.
  }
}

async function keep(form) {
  const said = document.getElementById("draft");
  const sent = written(form);
  const body = new URLSearchParams({ ...sent, csrf: form.elements.csrf.value });
  try {
    const response = await fetch(form.dataset.draft, {
      method: "POST",
      body,
      headers: { "HX-Request": "true" },
      redirect: "error",
    });
    if (!response.ok) throw new Error(response.status);
    said.textContent = (await response.text()).replace(/<[^>]*>/g, "").trim();
    // Text written in the meantime is not stored yet.
    if (JSON.stringify(written(form)) === JSON.stringify(sent)) forgetLocal(form);
  } catch {
    said.textContent = "draft kept in this browser; the service cannot be reached";
  }
}

function putBack(form, fields) {
  for (const field of form.elements) {
    if (!field.name || NOT_KEPT.has(field.name) || field.type === "file") continue;
    if (field.type === "checkbox") field.checked = field.name in fields;
    else if (field.type === "radio") field.checked = fields[field.name] === field.value;
    else if (field.name in fields) field.value = fields[field.name];
  }
}

function watch(form) {
  let timer;
  form.addEventListener("input", () => {
    keepLocally(form);
    clearTimeout(timer);
    timer = setTimeout(() => keep(form), KEEP_AFTER_MILLISECONDS);
  });
  // A submitted answer is an attempt now; a refused one stays a draft.
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target === form) clearTimeout(timer);
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== form) return;
    if (document.querySelector("#answered .refused") || !event.detail.successful) keep(form);
    else {
      forgetLocal(form);
      document.getElementById("draft").textContent = "";
    }
  });
  window.addEventListener("pagehide", () => clearTimeout(timer));
}

document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("answer");
  if (!form) return;
  const local = "restored" in form.dataset ? null : takeLocal(form);
  if (local) {
    putBack(form, local);
    keep(form);
  }
  watch(form);
  // Preview the fields that are already filled in.
  for (const box of form.querySelectorAll("textarea")) {
    if (box.value.trim()) htmx.trigger(box, "read");
  }
});
