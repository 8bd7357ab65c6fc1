// Package write is the folder of everything that changes assets: the write engine, bulk
// requests, writes by path, tags, attachments, roles, and requests that run once.
//
// Nothing here sends an event. A write only stores what its event needs, in the same
// transaction. Start with asset, the engine, and with bulk for the largest of its callers.
package write
