// Small comforts on top of pages that read without any of this: menus that close, copying, looks
// without a reload, tips on hover and focus, and calm words when the server does not answer.
"use strict";
(() => {
  const root = document.documentElement;
  const YEAR = 365 * 86400;

  // Looks: the same cookies as /look sets, without leaving the page.
  const next = { theme: ["auto", "light", "dark"], density: ["normal", "compact"] };
  function look(link) {
    const name = link.dataset.look;
    const choices = next[name];
    const value = choices[(choices.indexOf(root.dataset[name]) + 1) % choices.length];
    root.dataset[name] = value;
    document.cookie = `${name}=${value}; path=/; max-age=${YEAR}; samesite=lax`;
    link.textContent =
      name === "theme" ? `Colours: ${value}` : value === "compact" ? "Roomy rows" : "Compact rows";
    document.dispatchEvent(new Event("seedance:look"));
  }

  function closeMenus(but) {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== but) menu.open = false;
    }
  }

  async function copy(button) {
    const field = button.parentElement.querySelector("input");
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : root;
    closeMenus(target.closest("details.menu"));
    const changed = target.closest("[data-look]");
    if (changed) {
      event.preventDefault();
      look(changed);
    }
    const button = target.closest("[data-copy]");
    if (button) copy(button);
    if (target.closest("[data-help]")) document.getElementById("help").showModal();
  });

  // Tips: what a title says, with the window and freshness of its table, on hover and on focus.
  const NOTED = "a.flag, a.dash";
  let tip = null;
  let holder = null;
  function showTip(element) {
    hideTip();
    holder = element;
    const legend = holder.matches(NOTED) && document.getElementById(holder.hash.slice(1));
    const more = legend && holder.querySelector(".hush");
    holder.dataset.tip = more ? more.textContent.trim() : legend ? legend.textContent.trim() : holder.title;
    holder.removeAttribute("title");
    const context = !legend && holder.closest("td") && holder.closest("[data-context]");
    tip = document.createElement("div");
    tip.className = "tip";
    tip.textContent = holder.dataset.tip + (context ? `\n${context.dataset.context}` : "");
    document.body.append(tip);
    const box = holder.getBoundingClientRect();
    const left = Math.min(box.left, innerWidth - tip.offsetWidth - 12);
    const above = box.bottom + tip.offsetHeight + 12 > innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above ? box.top - tip.offsetHeight - 6 : box.bottom + 6}px`;
  }
  function hideTip() {
    tip?.remove();
    if (holder) {
      if (!holder.matches(NOTED)) holder.title = holder.dataset.tip;
      delete holder.dataset.tip;
    }
    tip = holder = null;
  }
  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const element = event.target instanceof Element && event.target.closest("main [title], main a.flag, main a.dash");
      if (element && element !== holder) showTip(element);
      else if (!element && !event.target.closest?.("[data-tip]")) hideTip();
    });
  }
  addEventListener("scroll", hideTip, { passive: true, capture: true });

  // Zones: offer the reader's own beside UTC.
  function offerZones() {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    let list = document.getElementById("zones");
    if (!list) {
      list = document.createElement("datalist");
      list.id = "zones";
      for (const zone of new Set(["UTC", own])) list.append(new Option(zone, zone));
      document.body.append(list);
    }
    for (const field of document.querySelectorAll("[data-zone]")) field.setAttribute("list", "zones");
  }

  // Loading, errors and what a screen reader hears after a swap.
  const isPoll = (event) => event.detail?.ctx?.sourceElement?.id === "status";
  function warn(text) {
    let banner = document.getElementById("offline");
    if (!text) return banner?.remove();
    if (!banner) {
      banner = document.createElement("p");
      banner.id = "offline";
      banner.className = "banner error";
      banner.setAttribute("role", "alert");
      document.querySelector("main").prepend(banner);
    }
    banner.textContent = text;
  }
  document.addEventListener("htmx:before:request", (event) => {
    if (!isPoll(event)) root.classList.add("loading");
  });
  document.addEventListener("htmx:finally:request", () => root.classList.remove("loading"));
  document.addEventListener("htmx:error", () => {
    warn("The server does not answer. What you see was loaded before; this page tries again.");
  });
  let path = location.pathname;
  document.addEventListener("htmx:after:swap", (event) => {
    warn("");
    hideTip();
    offerZones();
    if (isPoll(event)) return;
    closeMenus(null);
    if (location.pathname !== path) {
      path = location.pathname;
      document.getElementById("main")?.focus({ preventScroll: true });
    }
    queueMicrotask(() => { document.getElementById("said").textContent = document.title; });
  });

  offerZones();
})();
