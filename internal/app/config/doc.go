// Package config reads all settings of a process from its environment, and reports
// every problem in one error.
//
// SettingGroups is the only table of names, defaults and meanings. A test writes
// docs/settings.md from it. Only package app uses Config; other packages receive plain values.
// A Secret is always printed as [redacted].
package config
