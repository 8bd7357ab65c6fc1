"use strict";
// The parts of the pages that htmx does not cover. Every page works without this file.

// A form that is already being sent is not sent again by a second click.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A file that is too large is reported before the form is sent.
document.addEventListener("change", (event) => {
  const field = event.target;
  if (!field.dataset.most) return;
  const large = [...field.files].some((file) => file.size > Number(field.dataset.most));
  field.setCustomValidity(large ? "This file is too large to be sent from this page." : "");
  field.reportValidity();
});

// A menu closes when something else is clicked or has the focus, and by Escape.
const openMenus = () => document.querySelectorAll("details.menu[open]");
for (const happens of ["click", "focusin"]) document.addEventListener(happens, (event) => {
  for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// A value is changed where it stands: a click on it opens its form, Escape closes the form, and the focus
// goes with it.
document.addEventListener("click", (event) => {
  const value = event.target.closest(".facts dd, h1[id], .long > .text");
  if (value && !event.target.closest("a, button, form, input, select, textarea") && !String(getSelection())) value.parentNode.querySelector(`#${CSS.escape(value.id || value.parentNode.id)} .change`)?.click();
});
document.addEventListener("keydown", (event) => {
  const form = event.target.closest && event.target.closest(".inline");
  if (form && event.key === "Escape") form.querySelector(".cancel").click();
  if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.querySelector("form").requestSubmit();
});
let changed = ""; // id of the value that was being changed
document.addEventListener("htmx:beforeSwap", (event) => {
  changed = event.detail.target.closest(".inline") ? event.detail.target.id : "";
});
document.addEventListener("htmx:afterSettle", (event) => {
  const field = document.querySelector(".inline :is(input:not([type=hidden]), select, textarea)");
  const now = changed && document.getElementById(changed);
  if (field && !field.closest(".inline").contains(document.activeElement)) {
    field.focus();
    if (field.type === "text" || field.type === "number") field.select();
  } else if (now && !now.matches(".inline")) now.querySelector(".change")?.focus();
  changed = "";
});

// refusalOf returns the message of a refused request, or "" if the request succeeded.
async function refusalOf(answer) {
  if (answer.status === 204) return "";
  if (answer.headers.get("HX-Redirect") || answer.status === 401) return "The session has ended. Sign in and do it again.";
  return await answer.text() || "The service does not answer.";
}

// A toast tells the result of a change by script. With the ids of its writes it offers to undo them.
// The form posts as the one of a notice does.
function toast(text, undo) {
  document.querySelector(".toast")?.remove();
  const box = document.createElement("div"), said = document.createElement("p");
  box.className = "toast";
  said.setAttribute("role", "status");
  box.append(said);
  if (undo) box.append(undoForm(undo));
  document.getElementById("main").append(box);
  said.textContent = text;
  const close = Object.assign(document.createElement("button"), {type: "button", className: "small", textContent: "×"});
  close.setAttribute("aria-label", "Close this message");
  close.addEventListener("click", () => box.remove());
  box.append(close);
  return box;
}

function undoForm(undo) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = new URL("../../undo/last", document.querySelector("script[src*='/ui/static/']").src).pathname;
  form.className = "undo";
  const fields = {csrf: document.querySelector("input[name=csrf]").value, request: undo, back: location.pathname + location.search};
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement("input"), {type: "hidden", name, value}));
  form.append(Object.assign(document.createElement("button"), {type: "submit", className: "small", textContent: "Undo"}));
  return form;
}

// isTyping reports whether keys go into the text of a field.
function isTyping(element) {
  return element.matches?.("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=submit], [type=button])");
}

// Ctrl+Z takes back what was just done, unless a text is edited.
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey || event.key.toLowerCase() !== "z" || isTyping(event.target)) return;
  const forms = document.querySelectorAll("form.undo");
  if (!forms.length) return;
  event.preventDefault();
  forms[forms.length - 1].requestSubmit();
});

// A value that was changed where it stands offers an undo, too.
document.addEventListener("htmx:afterRequest", (event) => {
  const undo = event.detail.xhr.getResponseHeader("Alds-Undo");
  if (undo && event.detail.requestConfig.elt.closest(".inline")) toast("Saved.", undo);
});

// A page is shown at the same place after an undo.
document.addEventListener("submit", (event) => {
  if (event.target.classList.contains("undo")) sessionStorage.setItem("alds-undo", JSON.stringify([location.pathname, scrollY]));
});
{
  const [path, y] = JSON.parse(sessionStorage.getItem("alds-undo") ?? "[]");
  sessionStorage.removeItem("alds-undo");
  if (path === location.pathname && y > 0) {
    scrollTo(0, y);
    document.querySelector(".notice")?.classList.add("toast"); // its place may be above the window
  }
}
