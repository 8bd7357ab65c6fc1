// Package pagetest tests the pages of the user interface in Chromium, a browser, which runs without a
// window. The tests click, fill in fields, press keys and read the page, as a person does.
//
//	tab := newTab(t, s.origin)
//	signIn(tab, "admin", password)
//	tab.open("/alds/ui/")
//	tab.fill("[name=q]", "pay")
//	tab.submit("form[role=search]")
//	tab.waitFor("main h1")
//
// Each tab has its own cookies and its own cache, and is closed at the end of its test. The test fails if
// the page did one of the following, unless tab.expect allows it:
//
//   - It opened a dialog, for example from stored script.
//   - It wrote an error to the console, or threw an exception.
//   - It broke its Content-Security-Policy.
//   - It sent a request to another host.
//
// The functions accessible, keyboard and overflows find problems for people who see badly, use no mouse, or
// have a small screen. accessible runs axe-core on the page in light and dark colors.
//
//	go test ./internal/test/pagetest -pagetest.pictures DIR   # stores a picture of every page
//	go test ./internal/test/pagetest -run TestNumbersOfPastDays -pagetest.backlog FILE -timeout 30m -v  # a real backlog
//
//	browser_test.go   the browser, which is started only once
//	tab_test.go       actions of a person in a tab
//	watch_test.go     events of a page: requests, dialogs, errors
//	keyboard_test.go  the elements that the Tab key reaches
//	layout_test.go    elements that are wider than the screen; pictures
//	axe_test.go       findings of axe-core
//	service_test.go   the service, its data, and signing in
//	numbers_test.go   the numbers below a chart
//	past_test.go      a service with changes on different days
//	backlog_test.go   the items of a backlog, generated or from a file
//	pages_test.go     the pages, and the test that inspects each of them
//	tasks_*_test.go   tasks of a team, with the clicks and keys that they take
//	item_test.go      values, and comments, on the page of an asset
//
// These files test the helpers of the tests, with small pages on which a check must fail or pass:
//
//	harness_test.go   tests of the tab
//	inspect_test.go   tests of the checks that every page must pass
//	fixture_test.go   the server of the small pages, and a recorder of test failures
//
// The tests need chromium-headless-shell and npm.
package pagetest
