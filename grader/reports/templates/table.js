"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  const table = document.getElementById("table"), body = table.tBodies[0], rows = [...body.rows];
  const search = document.getElementById("search"), shown = document.getElementById("shown");
  const everyone = document.getElementById("everyone"), heads = [...table.tHead.rows[0].cells];
  const order = document.getElementById("order");
  const choices = [...document.querySelectorAll("button[data-tag]")];
  const letters = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = new Map(rows.map((row) => [row, plain([row.cells[0].textContent, row.dataset.id, row.querySelector(".notable").textContent].join(" "))]));
  const tags = new Map(rows.map((row) => [row, new Set(row.dataset.tags.split(" "))]));
  let chosen = null;
  // Said here, not in each of a thousand buttons: they do nothing without this script.
  for (const one of choices) {
    const isCheck = !one.dataset.what && one.classList.contains("who"), row = one.closest("li");
    if (isCheck) one.dataset.what = `did not pass \`${row.querySelector("div").firstChild.textContent.trim()}\` of ${row.parentNode.previousElementSibling.textContent}`;
    else one.dataset.what ??= `did not pass ${one.firstChild.textContent}`;
    one.type = "button";
    one.title ||= "list them";
    one.setAttribute("aria-pressed", "false");
  }

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
  const isNumber = (head) => head.classList.contains("number");
  const sort = (column, down) => {
    const head = heads[column], numbers = isNumber(head);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const compare = (a, b) => numbers ? key(a, column) - key(b, column) : letters.compare(key(a, column), key(b, column));
    rows.sort((a, b) => (down ? -1 : 1) * compare(a, b));
    body.append(...rows);
    order.value = `${column} ${down}`;
  };
  heads.forEach((head, column) => {
    const name = head.textContent.replace("%", "percent"), [up, down] = isNumber(head) ? ["lowest", "highest"] : ["A", "Z"];
    const ways = isNumber(head) ? [[true, `${name}, ${down} first`], [false, `${name}, ${up} first`]] : [[false, name], [true, `${name}, from ${down} to ${up}`]];
    if (!head.classList.contains("took")) for (const [way, text] of ways) order.add(new Option(text, `${column} ${way}`));
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now === "ascending" || (!now && isNumber(head)));
    });
    head.append(button);
  });
  order.addEventListener("change", () => { const [column, down] = order.value.split(" "); sort(Number(column), down === "true"); });
  for (const one of choices) one.addEventListener("click", () => {
    choose(chosen === one ? null : one);
    if (chosen !== null) document.getElementById("h-all").scrollIntoView();
  });
  everyone.addEventListener("click", () => { search.value = ""; choose(null); search.focus(); });
  search.addEventListener("input", filter);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
