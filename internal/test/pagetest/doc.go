// Package pagetest drives the pages for people in a headless Chromium, as they
// would: it clicks, fills in, presses keys, and looks at what is there.
//
//	tab := newTab(t, s.origin)
//	signIn(tab, "admin", password)
//	tab.open("/alds/ui/")
//	tab.fill("[name=q]", "pay")
//	tab.submit("form[role=search]")
//	tab.waitFor("main h1")
//
// A tab has cookies and a cache of its own and ends with its test. A test fails at
// its end when the page opened a dialog (stored script ran), wrote an error to the
// console, threw, broke its Content-Security-Policy, or sent a request to another
// host, unless tab.expect named it. What a person who sees badly, has no mouse, or
// has a small screen would meet is found by accessible (axe-core, in light and in
// dark), keyboard and overflows.
//
//	go test ./internal/test/pagetest -pagetest.pictures DIR   # keeps a picture of every page
//	go test ./internal/test/pagetest -run TestNumbersOfPastDays -pagetest.backlog FILE -timeout 30m -v   # on a real backlog
//
//	browser_test.go   the browser, started once
//	tab_test.go       what a person does in a tab
//	watch_test.go     what a page does: requests, dialogs, errors
//	keyboard_test.go  which elements the Tab key reaches
//	layout_test.go    what is wider than the screen; pictures
//	axe_test.go       what axe-core finds
//	service_test.go   the service, its data, and signing in
//	numbers_test.go   the numbers below a chart
//	past_test.go      a service whose changes lie on different days
//	backlog_test.go   the items of a backlog, made up or from a file
//	pages_test.go     the pages, and the test that inspects each
//
// Small pages, at which each of these is seen to fail and to pass:
//
//	harness_test.go   for the tab
//	inspect_test.go   for what is looked at in every page
//	fixture_test.go   who serves them, and a test that another one looks at
//
// It needs chromium-headless-shell and npm.
package pagetest
