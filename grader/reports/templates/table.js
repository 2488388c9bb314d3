"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const table = document.getElementById("table"), body = table.tBodies[0], rows = [...body.rows];
  const search = document.getElementById("search"), shown = document.getElementById("shown");
  const everyone = document.getElementById("everyone"), heads = [...table.tHead.rows[0].cells];
  const choices = [...document.querySelectorAll("button[data-tag]")];
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = new Map(rows.map((row) => [row, plain([row.cells[0].textContent, row.dataset.id, row.querySelector(".notable").textContent].join(" "))]));
  const tags = new Map(rows.map((row) => [row, new Set(row.dataset.tags.split(" "))]));
  let chosen = null;

  const filter = () => {
    const wanted = plain(search.value).split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const missed = chosen === null || tags.get(row).has(chosen.dataset.tag);
      row.hidden = !(missed && wanted.every((word) => words.get(row).includes(word)));
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length}` + (chosen ? ` ${chosen.dataset.what}` : "");
    everyone.hidden = chosen === null && !search.value;
  };
  const choose = (wanted) => {
    chosen = wanted;
    for (const one of choices) one.setAttribute("aria-pressed", String(one === wanted));
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
  for (const one of choices) one.addEventListener("click", () => {
    choose(chosen === one ? null : one);
    if (chosen !== null) document.getElementById("h-all").scrollIntoView();
  });
  everyone.addEventListener("click", () => { search.value = ""; choose(null); search.focus(); });
  search.addEventListener("input", filter);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
