// Package write is the parent of the packages that change assets. They are the write engine, bulk
// requests, writes by path, tags, attachments, roles, and requests that run once.
//
// These packages send no events. A write only stores the data for its event, in the same
// transaction as the change. Read package asset first, the write engine. Then read package bulk,
// the largest caller of the write engine.
package write
