// Light or dark: the system's setting until the visitor chooses. This runs before the page is drawn,
// so that it does not flash in the other theme.

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
      // Without storage, the choice applies to this page only.
    }
    applyTheme(theme);
    name();
  });
});
