// Package chart draws numbers by day as SVG: Lines on one another, or a Stack of bands. It is
// pure.
//
// The markup has classes and presentation attributes but no styles, so that pages with a
// strict Content-Security-Policy can show it. All texts in it are escaped. It has a title and
// a description for people who do not see it; the page should have the numbers in a table.
package chart
