// Package chart draws numbers by day as SVG: Lines over each other, or a Stack of
// bands. It is pure.
//
// The markup has classes and presentation attributes, no styles, so that it stands in
// pages whose Content-Security-Policy refuses those. All texts in it are escaped. It
// names itself for those who do not see it; the numbers belong into a table beside it.
package chart
