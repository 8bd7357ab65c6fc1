"use strict";
// Search and keys, on every page. "/" goes to the search field, Ctrl+K opens the palette, "?" shows the keys, "g h"
// leads to my work and "g p" to the projects. Results of the field and of the palette come from the search page.
(() => {
  const form = document.getElementById("search");
  if (!form) return;
  const base = form.action.replace(/\/ui\/search$/, "");
  const field = form.querySelector("input");

  // Recent projects are kept in this browser.
  const store = "alds-projects";
  const recent = () => { try { return JSON.parse(localStorage.getItem(store)) || []; } catch { return []; } };
  const here = location.pathname.match(/\/ui\/project\/(Scope:\d+)/);
  const title = document.querySelector("main h1");
  if (here && title) {
    const all = [{oid: here[1], name: title.firstChild.textContent.trim()}, ...recent().filter((p) => p.oid !== here[1])];
    try { localStorage.setItem(store, JSON.stringify(all.slice(0, 8))); } catch { /* a browser may forbid it */ }
  }

  const make = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const name in attributes) e.setAttribute(name, attributes[name]);
    e.append(...children);
    return e;
  };

  // commands returns the entries of the palette that fit a text, as links.
  function commands(text) {
    const scope = here ? `?scope=${here[1]}` : "";
    const all = [["My work", "/ui/"], ["Projects", "/ui/projects"], ...recent().map((p) => [p.name, `/ui/project/${p.oid}`]),
      ["New backlog item", "/ui/new/Story" + scope], ["New defect", "/ui/new/Defect" + scope], ["New epic", "/ui/new/Epic" + scope], ["New project", "/ui/new/Scope" + scope],
      ...(here ? [["New sprint", "/ui/new/Timebox" + scope], ["Board", `/ui/project/${here[1]}/board`], ["Sprints", `/ui/project/${here[1]}/sprints`]] : []),
      ["Console", "/ui/console"], ["Profile", "/ui/profile"]];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter(([name]) => words.every((w) => name.toLowerCase().includes(w))).map(([name, path]) => make("a", {href: base + path}, name));
  }

  // list shows links below a field. Arrow keys choose one of them, and Enter opens it.
  function list(input, box, always) {
    let chosen = -1, asked = 0, timer;
    const links = () => [...box.querySelectorAll("a")];
    const choose = (to) => {
      const all = links();
      chosen = all.length ? (to + all.length) % all.length : -1;
      all.forEach((a, i) => a.setAttribute("aria-selected", i === chosen));
      if (chosen >= 0) all[chosen].scrollIntoView({block: "nearest"});
    };
    const show = (found) => {
      box.replaceChildren(...(always ? commands(input.value) : []), ...found);
      box.hidden = box.childElementCount === 0;
      links().forEach((a) => a.setAttribute("role", "option"));
      choose(always || found.length ? 0 : -1);
      if (!always) choose(-1), chosen = -1;
    };
    async function ask() {
      const turn = ++asked, text = input.value.trim();
      if (!text) return show([]);
      try {
        const answer = await fetch(`${base}/ui/search?q=${encodeURIComponent(text)}`, {headers: {"HX-Request": "true"}});
        if (!answer.ok || answer.redirected || turn !== asked) return;
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        show([...page.querySelectorAll("#hits a")].slice(0, 12).map((a) => document.importNode(a, true)));
      } catch { /* the field still leads to the search page */ }
    }
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); if (always) show([]); });
    input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") choose(e.key === "ArrowDown" ? chosen + 1 : Math.max(chosen, 0) - 1);
      else if (e.key === "Enter" && chosen >= 0) links()[chosen].click();
      else if (e.key === "Escape" && !always) { show([]); input.blur(); return; }
      else return;
      e.preventDefault();
    });
    return show;
  }

  const box = make("div", {id: "search-found", role: "listbox", "aria-label": "Results", hidden: ""});
  form.append(box);
  const showField = list(field, box, false);
  document.addEventListener("click", (e) => { if (!form.contains(e.target)) showField([]); });

  let palette, showPalette;
  function openPalette() {
    if (!palette) {
      const input = make("input", {type: "search", "aria-label": "Search or command", placeholder: "Search or command", autocomplete: "off"});
      const results = make("div", {role: "listbox", "aria-label": "Results"});
      palette = make("dialog", {id: "palette", "aria-label": "Search or command"}, input, results);
      document.body.append(palette);
      showPalette = list(input, results, true);
      palette.addEventListener("click", (e) => { if (e.target === palette) palette.close(); });
    }
    palette.querySelector("input").value = "";
    showPalette([]);
    palette.showModal();
  }

  let help;
  function openHelp() {
    if (!help) {
      const keys = [["/", "Search"], ["Ctrl K", "Search or command"], ["g h", "My work"], ["g p", "Projects"], ["Esc", "Close"], ["?", "These keys"]];
      const own = document.querySelector("[data-keys]");
      if (own) keys.push(...own.dataset.keys.split("|").map((k) => k.split("=")));
      help = make("dialog", {id: "keys-help", "aria-label": "Keys"}, make("h2", {}, "Keys"),
        make("dl", {class: "facts"}, ...keys.map(([k, does]) => make("div", {}, make("dt", {}, make("kbd", {}, k)), make("dd", {}, does)))),
        make("form", {method: "dialog"}, make("button", {class: "second"}, "Close")));
      document.body.append(help);
    }
    help.showModal();
  }

  let went = 0; // when "g" was pressed
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") { e.preventDefault(); openPalette(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input, select, textarea, [contenteditable], dialog")) return;
    if (e.key === "/") { e.preventDefault(); field.focus(); field.select(); }
    else if (e.key === "?") openHelp();
    else if (e.key === "g") went = e.timeStamp;
    else if ((e.key === "h" || e.key === "p") && e.timeStamp - went < 1500) location.href = base + (e.key === "h" ? "/ui/" : "/ui/projects");
  });
})();
