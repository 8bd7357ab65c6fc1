// Package chart draws daily numbers as SVG: Lines in one diagram, or a Stack of bands. It does no
// I/O.
//
// The markup has classes and presentation attributes but no styles, so that pages with a
// strict Content-Security-Policy can show it. All texts in it are escaped. It has a title and
// a description for people who cannot see it. The page should also have the numbers in a
// table.
package chart
