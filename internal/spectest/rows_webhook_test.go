package spectest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// webhookRows are the rows of the interface about webhooks, as queryRows are those about
// queries.
var webhookRows = []rowGroup{
	{"subscription", "the fields of a subscription (interface 2.6)", `id, webhookId, url, authorizationHeader, description, enabled, eventTypes, lastResponseAt, retryCount,
		createdAt, updatedAt, createdBy, defaults`},
	{"subscription refused", "what they must not be (interface 2.6 and 7.1)", `unknown key, url, eventTypes, authorizationHeader, enabled, maxBatch, secret`},
	{"receipt", "the fields of a receipt (interface 2.7, decisions 24, 58)", `subscriptionId, hasAuthorizationHeader, url, response, headers, status, timeStamp, retryCount, wasReceived,
		id, deliveryId, newest first`},
	{"webhook endpoint", "the endpoints of subscriptions (interface 4.4, decision 23)", `create, update, update of every key, update of what was read, null clears, list, page, bad page, delete, status,
		unknown subscription, methods, body, credentials, rights`},
	{"definition", "event definitions (interface 6.1)", `type AssetCreated, type AssetChanged, from, from an abstract type, attributes, attributes omitted, filter, filter omitted, with,
		userContext, userContext omitted, select, select omitted, several`},
	{"definition refused", "what they must not be (interface 6.1 and 7.1)", `type, from, attributes, filter, variable, userContext, select, unknown key, required keys, place`},
	{"event", "the fields of an event (interface 6.2)", `webhookId, sequenceId, eventType, timestamp, instigator, targetAsset, changes, snapshot`},
	{"change", "its changes (interface 6.2, decision 22)", `name, old, new, act Set, act Added, act Removed, old absent, entry per value, rendered as a query row, all changes of the write, of a creation`},
	{"snapshot", "its snapshot (interface 6.2, decision 56)", `as a query row, as of the change, Oid alone, row per selection, projection, to-many`},
	{"delivery", "the request (interface 5 and 6.2)", `POST, body of events, several events in one, Content-Type, User-Agent, authorizationHeader, no authorizationHeader,
		webhook-id, webhook-timestamp, webhook-signature, two signatures`},
	{"delivery", "what its answer means (interface 6.2, decision 20)", `any 2xx, tried again, same webhook-id, redirect not followed, 410 disables, five exhausted disable`},
	{"webhook limit", "limits (interface 8)", `page of the list, twenty receipts`},
	{"webhook moment", "what is told (decisions 11, 21)", `after the answer and not before, enabled again, rights at the change, nothing without a change`},
	{"webhook", "beyond the interface (decision 24)", `secret given, secret generated, secret shown once, hasSecret, previousSecretValidFor, paused, disabled drops, maxBatch, disabledReason,
		test, redelivery of a delivery, redelivery of a receipt, redelivery of a time, redelivery refused, deliveries, deliveries by state, why it waits`},
}

// rowsInGo are rows about webhooks that text cannot show, for they need time, a
// setting or the database: the test of the package that shows each.
var rowsInGo = []struct{ row, pkg, test string }{
	{"the authorization header is encrypted at rest", "webhook", "TestSubscriptionsComeAndGo"},
	{"the bound on enabled subscriptions", "webhook", "TestSubscriptionsComeAndGo"},
	{"the service keeps no more than twenty receipts", "webhook", "TestPruneKeepsTwentyReceipts"},
	{"up to a hundred events and 256 KiB in one delivery", "webhook", "TestADeliveryIsBounded"},
	{"the waits between attempts", "delivery", "TestJudge"},
	{"the schedule unless told otherwise", "config", "TestStandaloneNeedsNothing"},
	{"Retry-After", "delivery", "TestRetryAfter"},
	{"a receiver has its time to answer", "webhook", "TestAReceiverHasItsTimeToAnswer"},
	{"a receipt keeps a bounded part of the answer", "webhook", "TestAnEndlessAnswerIsKeptToABound"},
	{"four exhausted in a row disable nothing", "webhook", "TestFourExhaustedAndOneDeliveredKeepASubscription"},
	{"private targets are refused", "webhook", "TestTargetsThatAreNotPublicAreRefused"},
	{"which targets are private", "delivery", "TestIsPublic"},
	{"a replaced secret signs until its time", "webhook", "TestAReplacedSecretSignsForAWhile"},
	{"a waiting delivery says why: retry", "webhook", "TestWhatWaitsSaysWhy"},
	{"a receiver that fails rests and is probed", "delivery", "TestAReceiverThatFailsRestsAndIsProbed"},
	{"in memory and by statement the same assets match", "webhook", "TestMemoryAndSQLAgree"},
}

// TestRowsInGo holds that the tests named for rows without a case exist.
func TestRowsInGo(t *testing.T) {
	found := map[string]map[string]bool{}
	for _, r := range rowsInGo {
		if found[r.pkg] == nil {
			found[r.pkg] = testsOf(t, r.pkg)
		}
		if !found[r.pkg][r.test] {
			t.Errorf("%s: internal/%s has no %s", r.row, r.pkg, r.test)
		}
	}
	t.Logf("%d rows are shown by tests of packages", len(rowsInGo))
}

// testsOf are the names of the test functions of a package.
func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../" + pkg + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
