// Package asset is the write engine: it carries out resolved commands (create,
// update, operate) by the rules of the model and writes current rows, versions,
// links and an audit, all in one transaction per request.
//
//	err := engine.Write(ctx, actor, asset.Request{ID: id}, func(s *asset.Session) error {
//		outcomes, err := s.Run(ctx, commands)
//		...
//	})
//
// A Session is the transaction of one request. It runs its commands in batches:
// as many as need no answer of the database in between. A batch is a unit of work:
//
//	prefetch    resolves all references at once, locks and loads
//	executor    carries out each command in memory: commits it, or rolls it back
//	  loaded    what has been read
//	  changes   what the batch changes
//	  rules     what may be: reads both, changes nothing
//	  resolver, setter, ranker, members, copier, operations: change assets
//	writer      writes the changes with multi-row statements
//
// A failing command fails alone. A Handle names an asset that a command of the
// same request makes.
//
// The package never reads for clients, never decides who may read, and knows
// neither the bulk language nor HTTP.
//
// Spec: interface 3, 4.3, 7.2.
package asset
