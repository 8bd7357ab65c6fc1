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
