// Package write is the parent of the packages that change assets, and of a few packages around them.
// They contain the write engine, bulk requests, writes by path, tags, attachments, the lists of roles,
// requests that run once, the first data of a database, and the removal of deleted data.
//
// These packages send no events. A write only stores the data for its event, in the same
// transaction as the change. Read package asset first, the write engine. Then read package bulk,
// the largest caller of the write engine.
package write
