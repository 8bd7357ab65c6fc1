// Package importer brings records of a file into a running service: CSV, JSON
// lines, and what Jira exports.
//
//	file --source--> record --mapping--> item --batch--> POST api/asset
//
// A record is what stands in the file, an item is the asset that it becomes. The
// importer is a client: it speaks HTTP, so that rights, rules, limits and webhooks
// apply to what it sends, and it can run anywhere.
//
// Each item has a key, which the service keeps in an attribute (Reference). At the
// start the keys that the service has are read, so that an item is written once
// however often the file is imported. A request is noted in a file before it is
// sent; who is killed meanwhile sends it again at the next start, under the same
// Idempotency-Key.
//
// Memory holds one batch and 16 bytes of each key with the asset that has it; the
// file is read once, from beginning to end.
package importer
