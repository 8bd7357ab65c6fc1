// Package importer imports the records of a file into a running service. It reads CSV, JSON lines,
// and the exports of Jira.
//
//	file --source--> record --mapping--> item --batch--> POST api/asset
//
// A record is an entry of the file. An item is the asset that a record becomes. The importer is a
// client of the service and uses HTTP. Rights, rules, limits and webhooks therefore apply to what
// it writes, and it can run on any machine.
//
// Each item has a key, which the service stores in an attribute (Reference). Before it writes
// assets of a type, the importer reads the keys of the existing assets. It therefore creates each
// item once, however often the file is imported. It stores each request in a file before it sends
// the request. If the importer is killed, the next run sends that request again with the same
// Idempotency-Key.
//
// The file is read once, from beginning to end. Memory holds one batch, and for each key a hash of
// 16 bytes with the asset that has the key.
package importer
