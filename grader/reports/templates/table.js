"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const table = document.getElementById("table"), body = table.tBodies[0], rows = [...body.rows];
  const search = document.getElementById("search"), shown = document.getElementById("shown");
  const everyone = document.getElementById("everyone"), heads = [...table.tHead.rows[0].cells];
  const cells = [...document.querySelectorAll("[data-exercise]")];
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = new Map(rows.map((row) => [row, plain(row.cells[0].textContent + " " + row.querySelector(".notable").textContent)]));
  let exercise = null;

  const filter = () => {
    const wanted = plain(search.value).split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const missed = exercise === null || row.dataset.missed.split(" ").includes(exercise);
      row.hidden = !(missed && wanted.every((word) => words.get(row).includes(word)));
      count += !row.hidden;
    }
    const cell = cells.find((one) => one.dataset.exercise === exercise);
    shown.textContent = `${count} of ${rows.length}` + (cell ? ` did not pass ${cell.firstElementChild.textContent}` : "");
    everyone.hidden = exercise === null && !search.value;
  };
  const choose = (wanted) => {
    exercise = wanted;
    for (const cell of cells) cell.setAttribute("aria-pressed", String(cell.dataset.exercise === wanted));
    filter();
  };
  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const sort = (column) => {
    const head = heads[column], numbers = head.classList.contains("number");
    const now = head.getAttribute("aria-sort");
    const down = now === "ascending" || (!now && numbers);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = (a, b) => numbers ? key(a, column) - key(b, column) : order.compare(key(a, column), key(b, column));
    rows.sort((a, b) => (down ? -1 : 1) * compare(a, b));
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(column));
    head.append(button);
  });
  for (const cell of cells) cell.addEventListener("click", () => {
    choose(exercise === cell.dataset.exercise ? null : cell.dataset.exercise);
    if (exercise !== null) document.getElementById("h-all").scrollIntoView();
  });
  everyone.addEventListener("click", () => { search.value = ""; choose(null); search.focus(); });
  search.addEventListener("input", filter);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
