package check

// RunIn is Run inside a transaction that the test rolls back.
var RunIn = runIn
