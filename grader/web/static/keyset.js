// Typesets mathematics on every page.

"use strict";

function setMath(root) {
  for (const each of root.querySelectorAll(".math:not([data-set])")) {
    const tex = each.textContent;
    each.dataset.set = "";
    try {
      katex.render(tex, each, {
        displayMode: each.classList.contains("display"),
        throwOnError: true,
        // What is shown may come from another person: no links, nothing that covers the page,
        // no macros without end.
        trust: false,
        strict: "ignore",
        maxSize: 20,
        maxExpand: 500,
        output: "htmlAndMathml",
      });
    } catch {
      each.textContent = tex; // TeX that KaTeX cannot read is shown as written.
    }
  }
}

document.addEventListener("DOMContentLoaded", () => setMath(document));
document.addEventListener("htmx:afterSwap", (event) => setMath(event.target));
