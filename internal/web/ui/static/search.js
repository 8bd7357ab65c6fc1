"use strict";
// Search and keys, on every page. The results below the field of the header and in the palette come from the search
// page.
(() => {
  const form = document.getElementById("search");
  if (!form) return;
  const base = form.action.replace(/\/ui\/search$/, "");
  const field = form.querySelector("input");
  const signOut = document.querySelector('form[action$="/ui/sign-out"]');

  // Recent projects are kept in this browser until the member signs out.
  const store = "alds-projects";
  const quietly = (f) => { try { return f(); } catch { /* a browser may forbid it */ } };
  const recent = () => quietly(() => JSON.parse(localStorage.getItem(store))) || [];
  const here = location.pathname.match(/\/ui\/project\/(Scope:\d+)/);
  const title = document.querySelector("main h1");
  if (here && title) {
    const all = [{oid: here[1], name: title.firstChild.textContent.trim()}, ...recent().filter((p) => p.oid !== here[1])];
    quietly(() => localStorage.setItem(store, JSON.stringify(all.slice(0, 8))));
  }
  signOut?.addEventListener("submit", () => quietly(() => localStorage.removeItem(store)));

  const make = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const name in attributes) e.setAttribute(name, attributes[name]);
    e.append(...children);
    return e;
  };

  // commands returns the entries of the palette that fit a text, as links.
  function commands(text) {
    const add = (name, type) => ["New " + name, `/ui/new/${type}` + (here ? `?scope=${here[1]}` : "")];
    const project = (oid, view = "") => `/ui/project/${oid}${view}`;
    const all = [["My work", "/ui/"], ["Projects", "/ui/projects"], ...recent().map((p) => [p.name, project(p.oid)]),
      add("backlog item", "Story"), add("defect", "Defect"), add("epic", "Epic"), add("project", "Scope"),
      ...(here ? [add("sprint", "Timebox"), ["Board", project(here[1], "/board")], ["Sprints", project(here[1], "/sprints")]] : []),
      ["My open items", "/ui/open"], ["Console", "/ui/console"], ["Profile", "/ui/profile"], ...(signOut ? [["Sign out", ""]] : [])];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter(([name]) => words.every((w) => name.toLowerCase().includes(w))).map(([name, path]) => {
      if (path) return make("a", {href: base + path}, name);
      const out = make("a", {href: "#"}, name);
      out.addEventListener("click", (e) => { e.preventDefault(); signOut.requestSubmit(); });
      return out;
    });
  }

  // list shows links below a field. The first one is chosen, arrow keys choose others, and Enter opens the chosen
  // one, even if the results are still on their way.
  function list(input, box, isPalette) {
    let chosen = -1, asked = 0, timer, shown = "", enter = false;
    const links = () => [...box.querySelectorAll("a")];
    const choose = (to) => {
      const all = links();
      chosen = all.length ? (to + all.length) % all.length : -1;
      all.forEach((a, i) => a.setAttribute("aria-selected", i === chosen));
      if (chosen < 0) return input.removeAttribute("aria-activedescendant");
      input.setAttribute("aria-activedescendant", all[chosen].id);
      all[chosen].scrollIntoView({block: "nearest"});
    };
    const show = (found, text) => {
      shown = text;
      box.replaceChildren(...(isPalette ? commands(text) : []), ...found);
      box.hidden = !isPalette && !found.length;
      input.setAttribute("aria-expanded", !box.hidden);
      links().forEach((a, i) => { a.setAttribute("role", "option"); a.tabIndex = -1; a.id = `${box.id}-${i}`; });
      choose(0);
      if (enter) open();
    };
    const go = () => { // Enter
      if (shown === input.value.trim()) return open();
      enter = true;
      clearTimeout(timer);
      ask();
    };
    const open = () => {
      enter = false;
      if (chosen >= 0) links()[chosen].click();
      else location.href = `${base}/ui/search?q=${encodeURIComponent(input.value.trim())}`;
    };
    async function ask() {
      const turn = ++asked, text = input.value.trim();
      if (!text) return show([], "");
      try {
        const answer = await fetch(`${base}/ui/search?q=${encodeURIComponent(text)}`, {headers: {"HX-Request": "true"}});
        if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (turn === asked) show([...page.querySelectorAll("#hits a")].map(result), text);
      } catch { if (enter) open(); }
    }
    // result is a link with what the search page says beside it.
    function result(a) {
      const copy = document.importNode(a, true);
      for (let e = a.nextElementSibling; e; e = e.nextElementSibling) copy.append(" ", document.importNode(e, true));
      return copy;
    }
    input.role = "combobox";
    input.setAttribute("aria-controls", box.id);
    input.setAttribute("aria-expanded", false);
    input.addEventListener("input", () => { enter = false; clearTimeout(timer); timer = setTimeout(ask, 120); });
    input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown") choose(chosen + 1);
      else if (e.key === "ArrowUp") choose(chosen - 1);
      else if (e.key === "Enter" && isPalette) go();
      else if (e.key === "Escape" && !isPalette) { show([], ""); input.blur(); }
      else return;
      e.preventDefault();
    });
    input.form?.addEventListener("submit", (e) => { e.preventDefault(); go(); });
    return () => { asked++; show([], ""); };
  }

  const box = make("div", {id: "search-found", role: "listbox", "aria-label": "Results", hidden: ""});
  form.append(box);
  const clear = list(field, box, false);
  form.addEventListener("focusout", (e) => { if (!form.contains(e.relatedTarget)) clear(); });

  const label = "Search or command";
  let palette, fill;
  function openPalette() {
    if (!palette) {
      const input = make("input", {type: "search", "aria-label": label, placeholder: label, autocomplete: "off"});
      const results = make("div", {id: "palette-found", role: "listbox", "aria-label": "Results"});
      palette = make("dialog", {id: "palette", "aria-label": label}, input, results);
      document.body.append(palette);
      fill = list(input, results, true);
      palette.addEventListener("click", (e) => { if (e.target === palette) palette.close(); });
    }
    if (palette.open) return palette.close();
    palette.querySelector("input").value = "";
    fill();
    palette.showModal();
  }

  let help;
  function openHelp() {
    if (!help) {
      const keys = [["/", "Search"], ["0 … 9", "Find a number"], ["Ctrl K", label], ["g h", "My work"], ["g p", "Projects"], ["Esc", "Close"], ["?", "These keys"]];
      const own = document.querySelector("[data-keys]");
      if (own) keys.push(...own.dataset.keys.split("|").map((k) => k.split("=")));
      help = make("dialog", {id: "keys-help", "aria-label": "Keys"}, make("h2", {}, "Keys"),
        make("dl", {class: "facts"}, ...keys.map(([k, does]) => make("div", {}, make("dt", {}, make("kbd", {}, k)), make("dd", {}, does)))),
        make("form", {method: "dialog"}, make("button", {class: "second"}, "Close")));
      document.body.append(help);
    }
    if (!help.open) help.showModal();
  }

  // Keys that a page uses itself come first: a listener at the window is called last.
  let went = false; // the key before was "g"
  addEventListener("keydown", (e) => {
    if (e.defaultPrevented) return;
    const control = e.ctrlKey || e.metaKey;
    if (control && e.key.toLowerCase() === "k") { e.preventDefault(); return openPalette(); }
    if (control || e.altKey || e.target.closest?.("input, select, textarea, [contenteditable], dialog[open]")) return;
    const to = went && {h: "/ui/", p: "/ui/projects"}[e.key];
    went = e.key === "g";
    if (to) location.href = base + to;
    else if (e.key === "/") { e.preventDefault(); field.focus(); field.select(); }
    else if (/^\d$/.test(e.key)) { field.value = ""; field.focus(); } // the digit arrives in the field
    else if (e.key === "?") openHelp();
  });
})();
