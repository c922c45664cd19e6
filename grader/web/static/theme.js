// Light or dark: as the system has it, until somebody chooses. This runs before the page is drawn,
// so that it never flashes in the other one.

"use strict";

const THEMES = ["system", "light", "dark"];

function chosenTheme() {
  try {
    return localStorage.getItem("theme") || "system";
  } catch {
    return "system";
  }
}

function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

applyTheme(chosenTheme());

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const name = () => (button.textContent = `Theme: ${chosenTheme()}`);
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    const theme = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length];
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // It holds for this page, then.
    }
    applyTheme(theme);
    name();
  });
});
