// Package operate is the folder of what administrators use: health and metrics, the state
// of the installation, check and repair, export and restore, and localized texts.
//
// Nothing here changes an asset through the write engine. Start with system for the running
// service and with check for the data.
package operate
