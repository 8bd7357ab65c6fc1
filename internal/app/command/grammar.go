package command

import (
	"github.com/alecthomas/kong"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/base/release"
)

// roleFlags has the flags and commands of every role.
type roleFlags struct {
	Version kong.VersionFlag `help:"Print the version and exit."`
	Health  healthCommand    `cmd:"" help:"Check whether the running process is ready. It is the one with the same ALDS_ADMIN_ADDR."`
}

// apiCommands has the flags and commands of a role that serves the interface.
type apiCommands struct {
	roleFlags
	Migrate   migrateCommand  `cmd:"" help:"Create or update the schema, and set up a new database."`
	Export    exportCommand   `cmd:"" help:"Write all data as JSON lines to standard output. The service may run meanwhile."`
	Restore   restoreCommand  `cmd:"" help:"Read an export from standard input into an empty database of any kind."`
	Import    importCommand   `cmd:"" help:"Import records into a running service."`
	Check     checkCommand    `cmd:"" help:"Read the whole database and list inconsistencies. It changes nothing."`
	Repair    repairCommand   `cmd:"" help:"List what check finds and how it can be repaired. It changes nothing without --yes."`
	RotateKey rotateCommand   `cmd:"" help:"Encrypt all stored secrets with the first key of ALDS_SECRET_KEY."`
	Settings  settingsCommand `cmd:"" help:"Show the settings that administrators change while the service runs, or change one: settings StoryTrackingLevel=Off."`
	MCP       mcpCommand      `cmd:"" name:"mcp" help:"Answer an agent over standard input and output, as a client of a running service."`
	Token     tokenCommands   `cmd:"" help:"Create, list and revoke access tokens."`
	Password  passwordCommand `cmd:"" help:"Set a member's password, read from the terminal or from one line of standard input. The member's sessions end, and so do tokens created with --ends-with-password."`
}

// tokenCommands has the commands for access tokens.
type tokenCommands struct {
	Create createToken `cmd:"" help:"Create an access token for a member and print it once."`
	List   listTokens  `cmd:"" help:"List access tokens, including expired ones, but not their secrets. Times are UTC."`
	Revoke revokeToken `cmd:"" help:"Revoke an access token. It stops working within a second."`
}

// parse returns the command in the arguments, ready to run. If the arguments ask for help or
// the version, it prints that and returns nil.
// Errors: *kong.ParseError.
func parse(args []string, o outside, role app.Role) (*kong.Context, error) {
	var grammar any = &roleFlags{}
	if role.HTTP {
		grammar = &apiCommands{}
	}
	answered := false
	parser, err := kong.New(grammar, kong.Name(role.Name), kong.Description(role.About+" Settings come from the environment; docs/settings.md lists them."),
		kong.Writers(o.stdout, o.Stderr), kong.Vars{"version": role.Name + " " + release.Built().String()}, kong.Exit(func(int) { answered = true }))
	if err != nil {
		return nil, err
	}
	if args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	chosen, err := parser.Parse(args)
	if answered {
		return nil, nil
	}
	return chosen, err
}
