package check

// In is Run inside a transaction that the test rolls back.
var In = in
