// The keyboard: / filter, g then a letter goes to a page, ? help, t take it with you, arrows move
// between rows, Escape closes or goes one level up. Enter is the browser's own: rows are links.
"use strict";
(() => {
  let going = 0;
  const WAIT = 1200;

  const typing = (element) => element.matches("input, textarea, select, [contenteditable]");

  function rowLinks(table) {
    const rows = [...table.querySelectorAll("tbody tr, tfoot tr")];
    return rows.map((row) => row.querySelector("a")).filter(Boolean);
  }

  function move(event, step) {
    const table = event.target.closest?.("[data-rows], .scroll")?.closest(".scroll, table");
    if (!table) return;
    const links = rowLinks(table);
    const row = event.target.closest("tr");
    const at = links.findIndex((link) => link.closest("tr") === row);
    const to = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
    if (links[to]) {
      event.preventDefault();
      links[to].focus();
      links[to].scrollIntoView({ block: "nearest" });
    }
  }

  function escape(event) {
    const open = document.querySelector("details.menu[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    } else if (typing(event.target)) {
      event.target.blur();
    } else if (!document.querySelector("dialog[open]")) {
      document.querySelector('main a[rel="up"]')?.click();
    }
  }

  function go(key) {
    going = 0;
    document.querySelector(`[data-go="${CSS.escape(key)}"]`)?.click();
  }

  const keys = {
    "/": () => document.querySelector("[data-filter]")?.focus(),
    "?": () => document.getElementById("help").showModal(),
    g: () => { going = Date.now(); },
    t: () => {
      const menu = document.querySelector("[data-take]");
      if (menu) {
        menu.open = !menu.open;
        menu.querySelector(menu.open ? ".panel a" : "summary").focus();
      }
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") return escape(event);
    if (!(event.target instanceof Element) || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    if (Date.now() - going < WAIT) return go(event.key);
    if (event.key === "ArrowDown") return move(event, 1);
    if (event.key === "ArrowUp") return move(event, -1);
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
