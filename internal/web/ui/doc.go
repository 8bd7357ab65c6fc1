// Package ui is what all pages for people stand on: the visit of a reader, requests to
// the interface, sessions and forms, templates, and what several pages show alike.
//
// A page is a function from a Visit, which is one request of one reader, to an answer. It
// asks the interface by requests within the process, with the session of its reader, and
// knows no engine: what a member may not read or write by a request it may not on a
// page. The requests stand at the end of each page.
//
// Reading pages have URLs that may be sent to somebody; what writes is a form that
// posts, and leads to a reading page (303). All of it works without script: htmx and
// alds.js only make it quicker.
//
// Texts of people reach HTML through html/template, or through Sanitized where they may
// hold HTML of their own. No page has a style or a script in itself, which its
// Content-Security-Policy refuses.
//
// Spec: interface 4.15.
package ui
