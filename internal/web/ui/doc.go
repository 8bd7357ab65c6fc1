// Package ui is the base of all pages for people. It has the visit of a reader, requests to
// the interface, sessions, forms, templates, and everything that several pages share.
//
// A page is a function that answers a Visit, which is one request of one reader. The page
// sends requests to the interface within the process, with the session of the reader, and
// imports no engine. So a page cannot do more than its member can do with requests. The footer
// of each page lists these requests.
//
// The URL of a reading page can be sent to other people. Each write is a form that posts and
// then redirects to a reading page (303). Everything works without scripts; htmx and alds.js
// only make it faster.
//
// Text from users enters HTML through html/template, or through Sanitized if it may contain
// HTML. No page has inline styles or inline scripts, because its Content-Security-Policy
// forbids them.
//
// Spec: interface 4.15.
package ui
