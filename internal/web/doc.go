// Package web is the folder of the pages for people: HTML, forms and charts.
//
// A page uses the service like any other client: it sends requests to the interface, within
// the process. It never imports an engine. Start with ui, which all pages share. The folder
// pages/projects is a good example.
package web
