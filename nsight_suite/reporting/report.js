// Pages as tabs, tables that sort, rows that filter, spreads on hover. The report is whole without any of it.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // -- pages -----------------------------------------------------------------------------------------
  const pages = all(".page");
  const tabs = pages.map((page) => document.getElementById(`tab-${page.id}`));
  const list = document.querySelector(".tabs");
  list.setAttribute("role", "tablist");
  for (const item of list.children) item.setAttribute("role", "presentation");
  tabs.forEach((tab, place) => {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", pages[place].id);
    pages[place].setAttribute("role", "tabpanel");
    // Found by the browser's own search, also while another page is shown.
    pages[place].addEventListener("beforematch", () => show(pages[place]));
  });

  function show(page) {
    pages.forEach((one, place) => {
      const here = one === page;
      if (here) one.removeAttribute("hidden");
      else one.setAttribute("hidden", "until-found");
      tabs[place].setAttribute("aria-selected", String(here));
      tabs[place].tabIndex = here ? 0 : -1;
    });
  }

  list.addEventListener("keydown", (event) => {
    const here = tabs.indexOf(event.target);
    const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (here < 0 || next === undefined) return;
    event.preventDefault();
    tabs[(next + tabs.length) % tabs.length].focus();
  });

  function named() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null;
    }
  }

  // Going back must lead to where one was, so every step leaves its place behind.
  history.scrollRestoration = "manual";
  const remember = () => history.replaceState({ y: scrollY }, "");

  function follow() {
    const target = named();
    const page = target?.closest(".page") ?? document.getElementById("results");
    show(page);
    if (target && target !== page) {
      for (let holder = target; holder && holder !== page; holder = holder.parentElement) {
        if (holder.localName === "details") holder.open = true;
        if (holder.hidden) filters.forEach((clear) => clear(page));
      }
    }
    if (history.state?.y !== undefined) scrollTo(0, history.state.y);
    else if (target === page) scrollTo(0, Math.min(scrollY, list.parentElement.offsetTop));
    else if (target && page.contains(target)) {
      target.scrollIntoView();
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
    }
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href^="#"]')) remember();
  });
  addEventListener("pagehide", remember);
  addEventListener("hashchange", follow);

  // -- tables ----------------------------------------------------------------------------------------
  const collator = new Intl.Collator("en", { numeric: true });
  const cell = (row, place) => row.cells[place]?.textContent ?? "";

  function sortable(table) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    if (original.length < 2) return;
    all("thead th", table).forEach((head, place, heads) => {
      const numeric = head.classList.contains("n");
      const button = make("button", { type: "button", title: "Sort" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" };
        const order = next[head.getAttribute("aria-sort") ?? "none"];
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        if (order !== "none") head.setAttribute("aria-sort", order);
        const sign = order === "descending" ? -1 : 1;
        const compared = (one, other) => {
          const [a, b] = [cell(one, place), cell(other, place)];
          if (!numeric) return sign * collator.compare(a, b);
          const [x, y] = [parseFloat(a), parseFloat(b)];
          // What is missing is neither small nor large: it stands last either way.
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
          return sign * (x - y);
        };
        body.append(...(order === "none" ? original : [...original].sort(compared)));
      });
    });
  }
  all("table.rows").forEach(sortable);

  // -- rows ------------------------------------------------------------------------------------------
  const filters = [];

  function filtered(page, what, before) {
    const rows = all("table.rows tbody tr, .every > details", page);
    if (rows.length < 8) return;
    const name = `filter-${page.id}`;
    const field = make("input", { type: "search", id: name, placeholder: "fused graph 4096", autocomplete: "off" });
    const count = make("output", { htmlFor: name });
    const label = make("label", { htmlFor: name, textContent: what });
    const bar = make("div", { className: "filter" }, label, field, count);
    bar.setAttribute("role", "search");
    before.before(bar);
    let texts = null;
    const apply = () => {
      texts ??= rows.map((row) => (row.querySelector(":scope > summary") ?? row).textContent.toLowerCase());
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
      root.classList.toggle("filtering", words.length > 0);
    };
    field.addEventListener("input", apply);
    filters.push((of) => {
      if (of !== page || !field.value) return;
      field.value = "";
      apply();
    });
  }
  filtered(document.getElementById("results"), "Show only rows with", document.getElementById("verdicts"));
  filtered(document.getElementById("evidence"), "Show only rows with", document.getElementById("checks"));

  // -- spreads ---------------------------------------------------------------------------------------
  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);

  function hint(link) {
    const text = link.title;
    link.removeAttribute("title");
    link.classList.add("hinted");
    const appear = () => {
      tip.textContent = text;
      tip.hidden = false;
      link.setAttribute("aria-describedby", "tip");
      const at = link.getBoundingClientRect();
      const left = Math.min(Math.max(at.right - tip.offsetWidth, 8), root.clientWidth - tip.offsetWidth - 8);
      const above = at.top - tip.offsetHeight - 6;
      tip.style.left = `${Math.max(left, 8)}px`;
      tip.style.top = `${above < 60 ? at.bottom + 6 : above}px`;
    };
    const vanish = () => {
      tip.hidden = true;
      link.removeAttribute("aria-describedby");
    };
    link.addEventListener("mouseenter", appear);
    link.addEventListener("focus", appear);
    link.addEventListener("mouseleave", vanish);
    link.addEventListener("blur", vanish);
  }
  // Every number leads to where its row's first cell leads: one stop of the Tab key a row is enough.
  all("td:not(:first-child) > a:not([title], .plain)").forEach((link) => { link.tabIndex = -1; });
  all("td > a[title]").forEach(hint);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });

  root.classList.add("scripted");
  follow();
})();
