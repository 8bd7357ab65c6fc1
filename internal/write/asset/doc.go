// Package asset is the write engine. It executes resolved commands (create, update, operate, undo) by
// the rules of the model. It writes current rows, versions, links and an audit row, in one
// transaction per request.
//
//	err := engine.Write(ctx, actor, asset.Request{ID: id}, func(s *asset.Session) error {
//		outcomes, err := s.Run(ctx, commands)
//		...
//	})
//
// A Session is the transaction of one request. It runs the commands in batches. A batch ends
// before a command that must read from the database what an earlier command of the batch changes.
// These parts of the package process a batch:
//
//	prefetch    resolves all references at once, locks and loads assets
//	executor    executes each command in memory, then commits it or rolls it back
//	  loaded    the data that the batch has read
//	  changes   the changes of the batch
//	  rules     the checks; they read loaded and changes, and change nothing
//	  gate      checks the rights of the caller
//	  resolver  finds the assets that values name
//	  setter, ranker, members, copier, operations, definitions: change assets
//	  undoer      gives an asset the values that it had before some of its versions
//	writer      writes the changes with multi-row statements
//
// Parts that need no state of a batch are packages below this one:
//
//	audit       writes the audit row; finds out whether a commit happened, if the answer was lost
//	names       finds the assets that a name means
//	rank        the place of an asset in the order of its rank space
//	scopes      the tree of projects, and which projects are hidden
//	sequence    allocates ids, moments, Numbers and ranks for all writers
//	stored      the values of a version as rows store them
//
// Package seed fills a new database. It uses Engine.Begin and Session.Replace, which write assets
// without commands. Package purge removes the data of deleted definitions.
//
// If a command fails, the other commands are still executed, except those that depend on the
// failed command (Command.For, Command.Within). A Handle refers to an asset that a command of the
// same request creates.
//
// The package answers no queries of clients and does not define who may read. It depends neither
// on the bulk language nor on HTTP.
//
// Spec: interface 3, 4.3, 7.2.
package asset
