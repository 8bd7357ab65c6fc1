"use strict";
// The editor of the console: line numbers, keys, the position of an error, completion and
// history. The page works without this file.
(() => {
  const form = document.getElementById("console");
  const editor = form.elements.request;
  const numbers = document.getElementById("numbers");
  const said = document.getElementById("said");
  const row = () => parseFloat(getComputedStyle(editor).lineHeight);

  // Line numbers.

  let counted = 0;
  function count() {
    const n = editor.value.split("\n").length;
    if (n !== counted) {
      counted = n;
      numbers.textContent = Array.from({ length: n }, (_, i) => i + 1).join("\n") + "\n\n";
    }
    numbers.scrollTop = editor.scrollTop;
  }
  numbers.hidden = false;
  editor.addEventListener("input", count);
  editor.addEventListener("scroll", () => { numbers.scrollTop = editor.scrollTop; });

  // replace puts text in the place of a range. The user can undo it.
  function replace(from, to, text) {
    editor.focus();
    editor.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      editor.setRangeText(text, from, to, "end");
      editor.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  // goTo moves the cursor to an offset in bytes and selects the word there.
  function goTo(place) {
    const bytes = new TextEncoder().encode(editor.value);
    const at = new TextDecoder().decode(bytes.subarray(0, place)).length;
    const word = /^[\w.:@#]*/.exec(editor.value.slice(at))[0];
    editor.focus();
    editor.setSelectionRange(at, at + word.length);
    const line = editor.value.slice(0, at).split("\n").length - 1;
    if (line * row() < editor.scrollTop || (line + 2) * row() > editor.scrollTop + editor.clientHeight) {
      editor.scrollTop = Math.max(0, line * row() - editor.clientHeight / 2);
    }
  }
  document.addEventListener("click", (e) => {
    const link = e.target.closest("#answer a[data-at]");
    if (link) {
      e.preventDefault();
      goTo(Number(link.dataset.at));
    }
  });

  // Keys.

  document.getElementById("shortcuts").hidden = false;
  editor.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      close();
      form.querySelector(`[value="${e.shiftKey ? "preview" : "run"}"]`).click();
    }
  });

  // Answers.

  function answered() {
    const answer = document.getElementById("answer");
    if (!answer.dataset.ran) return;
    document.getElementById("examples").open = false;
    said.textContent = [...answer.querySelectorAll("h2, p.row strong, [role=alert], h3")].map((e) => e.textContent).join(". ");
    if (Number(answer.dataset.at) >= 0) goTo(Number(answer.dataset.at));
  }
  document.body.addEventListener("htmx:beforeRequest", () => remember()); // also if the request fails
  document.body.addEventListener("htmx:afterSwap", (e) => {
    if (e.target.id === "answer" || e.detail.target.id === "answer") answered();
  });
  for (const event of ["htmx:responseError", "htmx:sendError"]) {
    document.body.addEventListener(event, (e) => {
      const status = e.detail.xhr.status;
      const p = document.createElement("p");
      p.className = "refused";
      p.setAttribute("role", "alert");
      p.textContent = status === 0 ? "The service cannot be reached."
        : status === 413 ? "The request is larger than the page sends: 2 MiB."
        : status === 401 || status === 403 ? "The session has ended. Sign in in another tab, then reload this page; the history keeps the request."
        : `The page was answered with ${status}.`;
      document.getElementById("answer").replaceChildren(p);
    });
  }

  // History.

  const key = `alds console ${form.action} ${form.dataset.member}`;
  const most = 50, longest = 64 << 10;
  const history = document.getElementById("history");
  function load() {
    try {
      const list = JSON.parse(localStorage.getItem(key));
      return Array.isArray(list) ? list : [];
    } catch {
      return [];
    }
  }
  function store(list) {
    try {
      localStorage.setItem(key, JSON.stringify(list));
    } catch {
      if (list.length > 1) store(list.slice(0, list.length >> 1)); // the storage is full, so drop the older half
    }
    show(list);
  }
  function remember() {
    const request = editor.value;
    if (!request.trim() || request.length > longest || /password/i.test(request)) return;
    const rest = load().filter((h) => h.request !== request);
    store([{ request, path: form.elements.path.value, at: new Date().toISOString() }, ...rest].slice(0, most));
  }
  function show(list) {
    history.hidden = list.length === 0;
    history.querySelector("ol").replaceChildren(...list.map((h) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = String(h.request).replace(/\s+/g, " ").slice(0, 120);
      button.addEventListener("click", () => {
        replace(0, editor.value.length, h.request);
        form.elements.path.value = h.path;
        close();
      });
      const at = document.createElement("small");
      at.textContent = ` ${String(h.at).slice(0, 16).replace("T", " ")} UTC`;
      const item = document.createElement("li");
      item.append(button, at);
      return item;
    }));
  }
  history.querySelector(":scope > button").addEventListener("click", () => store([]));

  // Completion is a list below the cursor. No entry is selected at first, so that Enter and
  // Tab work as usual.

  const list = document.getElementById("completions");
  let chosen = -1, start = 0;
  function close() {
    list.hidden = true;
    chosen = -1;
    editor.removeAttribute("aria-activedescendant");
  }
  function choose(i) {
    chosen = (i + list.children.length) % list.children.length;
    [...list.children].forEach((o, k) => o.setAttribute("aria-selected", String(k === chosen)));
    list.children[chosen].scrollIntoView({ block: "nearest" });
    editor.setAttribute("aria-activedescendant", list.children[chosen].id);
  }
  function accept(option) {
    replace(start, editor.selectionStart, option.textContent);
    close();
  }
  const paper = document.createElement("canvas").getContext("2d");
  function open(found, typed) {
    start = editor.selectionStart - typed.length;
    list.replaceChildren(...found.map((name, i) => {
      const option = document.createElement("li");
      option.id = `completion-${i}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.textContent = name;
      return option;
    }));
    const style = getComputedStyle(editor);
    paper.font = style.font;
    const lines = editor.value.slice(0, start).split("\n");
    const x = parseFloat(style.paddingLeft) + lines.at(-1).length * paper.measureText("m").width - editor.scrollLeft;
    const y = parseFloat(style.paddingTop) + lines.length * row() - editor.scrollTop;
    list.hidden = false;
    list.style.left = `${editor.offsetLeft + Math.max(0, Math.min(x, editor.clientWidth - list.offsetWidth))}px`;
    list.style.top = `${editor.offsetTop + Math.min(y, editor.clientHeight) + 2}px`;
    said.textContent = `${found.length} names, the first is ${found[0]}. Arrow keys choose.`;
  }
  let asked = 0;
  async function complete(anyway) {
    const ask = ++asked;
    const at = editor.selectionStart;
    if (at !== editor.selectionEnd || at > 200000) return close();
    const { typed, names } = await suggestions(editor.value, at);
    if (ask !== asked) return;
    const low = typed.toLowerCase();
    const found = [...names.filter((n) => n.toLowerCase().startsWith(low)), ...names.filter((n) => n.toLowerCase().indexOf(low) > 0)].slice(0, 100);
    if (found.length === 0 || (!typed && !anyway) || found.includes(typed)) return close();
    open(found, typed);
    chosen = -1;
    editor.removeAttribute("aria-activedescendant");
    if (anyway) choose(0);
  }
  editor.addEventListener("input", (e) => { if (e.inputType === "insertText" || !list.hidden) complete(false); });
  editor.addEventListener("blur", close);
  editor.addEventListener("click", close);
  editor.addEventListener("scroll", close);
  list.addEventListener("mousedown", (e) => {
    e.preventDefault(); // keep the focus in the editor
    const option = e.target.closest("[role=option]");
    if (option) accept(option);
  });
  editor.addEventListener("keydown", (e) => {
    if (e.key === " " && e.ctrlKey) {
      e.preventDefault();
      complete(true);
    } else if (list.hidden || e.ctrlKey || e.metaKey || e.altKey) {
      return;
    } else if (e.key === "Escape") {
      e.preventDefault();
      close();
    } else if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      choose(e.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? -1 : chosen - 1);
    } else if (e.key === "Enter" && chosen >= 0) {
      e.preventDefault();
      accept(list.children[chosen]);
    } else if (["Enter", "ArrowLeft", "ArrowRight", "Home", "End"].includes(e.key)) {
      close();
    }
  });

  // suggestions returns the names that fit at an offset and the part of a name that is
  // already typed.
  const cache = new Map();
  function ask(type) {
    if (!cache.has(type)) {
      cache.set(type, fetch(form.dataset.names + (type && `?type=${encodeURIComponent(type)}`)).then((r) => (r.ok ? r.json() : {}), () => ({})));
    }
    return cache.get(type);
  }
  async function suggestions(text, at) {
    const types = (await ask("")).types || [];
    const attributesOf = async (type) => (types.includes(type) ? (await ask(type)).attributes || {} : {});
    // follow returns the type at the end of a path.
    const follow = async (type, parts) => {
      for (const part of parts) {
        const [name, downcast] = part.replace("#", "").split(":");
        type = downcast || (types.includes(name) && types.includes(type) && !(name in await attributesOf(type)) ? name : (await attributesOf(type))[name]);
      }
      return type;
    };
    const rest = text.slice(0, at).split("\n").at(-1).replace(/\[[^[\]{}]*\]/g, "");
    const parts = /[\w.:#]*$/.exec(rest)[0].split(".");
    const last = parts.pop();
    const typed = /\w*$/.exec(last)[0];
    const place = placeOf(text, at);
    const type = await follow(place.root, place.via);
    if (place.wants === "nothing") return { typed, names: [] };
    if (place.wants === "types" || (last.includes(":") && place.wants !== "operations")) return { typed, names: parts.length ? [] : types };
    if (place.wants === "operations") return { typed, names: types.includes(type) ? (await ask(type)).operations || [] : [] };
    if (place.wants === "keys") return { typed, names: place.keys };
    return { typed, names: Object.keys(await attributesOf(await follow(type, parts))).sort() };
  }

  // placeOf returns what is expected at an offset. wants is the kind of names. The type that
  // has these names is at the end of the path via, which starts at the type root.
  const lists = ["select", "filter", "sort", "findin"];
  const keys = ["from", "select", "where", "filter", "sort", "page", "find", "findin", "with", "asof", "group", "total", "update", "execute", "AssetType", "config"];
  function placeOf(text, at) {
    return /^\s*[[{]/.test(text) ? placeInJSON(text, at) : placeInYAML(text, at);
  }
  function placeInYAML(text, at) {
    const begin = text.lastIndexOf("\n---", at - 1) + 1;
    const line = text.slice(0, at).split("\n").at(-1);
    const before = [...text.slice(begin, at).matchAll(/\b(?:from|AssetType)["']?:[ \t]*["']?([A-Za-z]\w*)/g)].at(-1);
    const found = before || /\b(?:from|AssetType)["']?:[ \t]*["']?([A-Za-z]\w*)/.exec(text.slice(at));
    const key = /(\w+)["']?:[ \t]*["']?[\w.]*$/.exec(line);
    let wants = "attributes";
    if (key && (key[1] === "from" || key[1] === "AssetType")) wants = "types";
    else if (key && (key[1] === "execute" || key[1] === "op")) wants = "operations";
    else if (key && !lists.includes(key[1])) wants = "nothing";
    else if (/^\w*$/.test(line)) return { wants: "keys", keys, root: "", via: [] };
    return { wants, root: found ? found[1] : "", via: [] };
  }
  function placeInJSON(text, at) {
    const stack = [];
    const token = /"(?:[^"\\]|\\.)*"?|[{}[\],:]/gs;
    let open = false; // true if the cursor is inside a string
    for (let m; (m = token.exec(text)) && m.index < at;) {
      const top = stack.at(-1);
      if (m[0] === "{") stack.push({ key: "", value: false, within: top ? top.key : "" });
      else if (m[0] === "}") stack.pop();
      else if (m[0] === "[" && top) top.depth = (top.depth || 0) + 1;
      else if (m[0] === "]" && top) top.depth--;
      else if (m[0] === ":" && top) top.value = true;
      else if (m[0] === "," && top) { if (!top.depth) { top.value = false; top.key = ""; } }
      else if (m[0].startsWith('"')) {
        if (token.lastIndex >= at && (token.lastIndex > at || !m[0].endsWith('"') || m[0] === '"')) { open = true; break; }
        const word = m[0].slice(1, -1);
        if (top && top.value) { if (top.key === "from" || top.key === "AssetType") top.type = word; } else if (top) top.key = word;
      }
    }
    const top = stack.at(-1);
    if (!top || !open) return { wants: "nothing", root: "", via: [] };
    if (!top.type) { // the type may follow the cursor, in the same object
      const later = /^[^{}]*?"(?:from|AssetType)"\s*:\s*"([^"]*)"/.exec(text.slice(at));
      if (later && top.key !== "from" && !["where", "update", "with"].includes(top.within)) top.type = later[1];
    }
    const typed = stack.filter((o) => o.type && (o !== top || (top.key !== "from" && top.key !== "AssetType")));
    const nested = (o) => ["select", "group"].includes(o.within);
    let first = typed.length - 1;
    while (first > 0 && nested(typed[first])) first--;
    const via = typed.slice(first + 1).flatMap((o) => o.type.replace(/\[.*?\]/g, "").split("."));
    const place = { root: typed.length ? typed[Math.max(first, 0)].type.split(/[:[]/)[0] : "", via };
    if (top.value) {
      if (top.key === "AssetType") place.wants = "types";
      else if (top.key === "from") place.wants = nested(top) && place.root ? "attributes" : "types";
      else if (top.key === "execute" || top.key === "op") place.wants = "operations";
      else place.wants = lists.includes(top.key) ? "attributes" : "nothing";
    } else if (["where", "update"].includes(top.within)) place.wants = "attributes";
    else if (isCreate(text, at)) place.wants = "attributes";
    else place.wants = "keys";
    return { ...place, keys };
  }
  // isCreate reports whether the object around an offset has an AssetType.
  function isCreate(text, at) {
    return /"AssetType"[^{}]*$/.test(text.slice(0, at)) || /^[^{}]*"AssetType"/.test(text.slice(at));
  }

  count();
  show(load());
  answered();
})();
