// Package audit writes the audit of a request. The audit is one row of the table audit. The row
// is also the outbox of the request: fan-out reads it to create events for webhooks.
//
// The row is written last in the transaction of the request. Its insert checks that the model of
// the request is still current, and that no second request has the same id. If the answer to a
// commit is lost, the row shows whether the commit happened (Log.Outcome).
package audit
