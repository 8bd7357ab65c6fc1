// Package web is the folder of the pages for people: HTML, forms and charts.
//
// A page is a client of the interface: it sends requests within the process and never
// imports an engine. Start with ui, which all pages share, and with pages/projects for an
// example.
package web
