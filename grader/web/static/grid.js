// A grid of cells for small arrays. It writes into the text box, which is what the form sends.

"use strict";

const MOST_SIDE = 8;

function shapeOf(box) {
  const axes = box.dataset.shape.split(" ").map(Number);
  return axes.length === 1 ? [1, axes[0]] : axes;
}

function isSmall(box) {
  const [rows, columns] = shapeOf(box);
  return rows * columns > 1 && rows <= MOST_SIDE && columns <= MOST_SIDE;
}

function cellsOf(grid) {
  return [...grid.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("input")]);
}

function writeBack(grid, box) {
  const rows = cellsOf(grid).map((row) => "[" + row.map((cell) => cell.value.trim() || "0").join(", ") + "]");
  box.value = box.dataset.shape.includes(" ") ? "[" + rows.join(",\n ") + "]" : rows[0];
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

// The preview below the box shows how the service reads the text.
function numbersRead(box) {
  const rows = document.querySelectorAll(`#read-${CSS.escape(box.id.replace("field-", ""))} table.read tr`);
  return [...rows].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));
}

function makeGrid(box) {
  const [rows, columns] = shapeOf(box);
  const known = numbersRead(box);
  const name = box.id.replace("field-", "");
  const grid = document.createElement("div");
  grid.className = "grid wide";
  const table = grid.appendChild(document.createElement("table"));
  for (let i = 0; i < rows; i++) {
    const row = table.insertRow();
    for (let j = 0; j < columns; j++) {
      const cell = row.insertCell().appendChild(document.createElement("input"));
      cell.setAttribute("aria-label", rows === 1 ? `${name}, entry ${j + 1}` : `${name}, row ${i + 1}, entry ${j + 1}`);
      cell.inputMode = "decimal";
      cell.value = known[i]?.[j] ?? "";
    }
  }
  grid.addEventListener("input", (event) => {
    event.stopPropagation();
    writeBack(grid, box);
  });
  grid.addEventListener("keydown", (event) => move(event, grid));
  grid.addEventListener("paste", (event) => fill(event, grid, box));
  return grid;
}

function placeOf(grid, cell) {
  const cells = cellsOf(grid);
  const row = cells.findIndex((each) => each.includes(cell));
  return [cells, row, cells[row].indexOf(cell)];
}

function move(event, grid) {
  const cell = event.target;
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], Enter: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return;
  const atStart = cell.selectionStart === 0 && cell.selectionEnd === 0;
  const atEnd = cell.selectionStart === cell.value.length;
  if ((event.key === "ArrowLeft" && !atStart) || (event.key === "ArrowRight" && !atEnd)) return;
  const [cells, row, column] = placeOf(grid, cell);
  const next = cells[row + step[0]]?.[column + step[1]];
  event.preventDefault();
  if (next) {
    next.focus();
    next.select();
  }
}

// Pasted numbers fill the cells from this one on, row by row.
function fill(event, grid, box) {
  const text = event.clipboardData.getData("text");
  const lines = text.trim().split(/[\n;]+/).map((line) => line.replace(/[[\]()]/g, " ").trim().split(/[\s,]+/).filter(Boolean));
  if (lines.length === 1 && lines[0].length === 1) return;
  event.preventDefault();
  const [cells, row, column] = placeOf(grid, event.target);
  lines.filter((line) => line.length).forEach((line, i) =>
    line.forEach((number, j) => {
      const cell = cells[row + i]?.[column + j];
      if (cell) cell.value = number;
    })
  );
  writeBack(grid, box);
}

function addSwitch(box) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = "Type into a grid";
  button.setAttribute("aria-expanded", "false");
  let grid = null;
  button.addEventListener("click", () => {
    if (grid) {
      grid.remove();
      grid = null;
    } else {
      grid = makeGrid(box);
      button.before(grid);
      grid.querySelector("input").focus();
    }
    button.setAttribute("aria-expanded", String(Boolean(grid)));
    button.textContent = grid ? "Close the grid" : "Type into a grid";
  });
  document.getElementById(`read-${box.id.replace("field-", "")}`).before(button);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll("textarea[data-shape]")) if (isSmall(box)) addSwitch(box);
});
