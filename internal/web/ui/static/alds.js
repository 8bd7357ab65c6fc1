"use strict";
// What htmx does not do. Every page works without this file.

// A second click while a form is on its way sends nothing.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A file that is too large is told of before it is sent.
document.addEventListener("change", (event) => {
  const field = event.target;
  if (!field.dataset.most) return;
  const large = [...field.files].some((file) => file.size > Number(field.dataset.most));
  field.setCustomValidity(large ? "This file is too large to be sent from this page." : "");
  field.reportValidity();
});

// refusalOf is what an answer to the script refuses; empty: it has been done.
async function refusalOf(answer) {
  if (answer.status === 204) return "";
  if (answer.headers.get("HX-Redirect") || answer.status === 401) return "The session has ended. Sign in and do it again.";
  return await answer.text() || "The service does not answer.";
}
